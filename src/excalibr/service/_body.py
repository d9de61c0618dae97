"""The body of a request, as far as it is allowed to go; how many are on their way, and since when."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from excalibr.service._failures import RequestFailure


class BodyReader:
    """Reads bodies of at most so many bytes, so many at a time; a read waits for the client."""

    def __init__(self, most_bytes: int, most_readers: int) -> None:
        self._most = most_bytes
        self._most_readers = most_readers
        self._begun: dict[int, float] = {}

    def longest(self) -> float:
        """For how many seconds the slowest body has been on its way."""
        begun = list(self._begun.values())
        return time.monotonic() - min(begun) if begun else 0.0

    def read(self, environ: Mapping[str, Any]) -> bytes:
        """The whole body; 413 where it is longer than is allowed, as soon as that is known."""
        length = self._length(environ)
        if len(self._begun) >= self._most_readers:
            raise RequestFailure(503, "Too many bodies are on their way: try again.", retry_after=1)
        reader = threading.get_ident()
        self._begun[reader] = time.monotonic()
        try:
            body: bytes = environ["wsgi.input"].read(self._most + 1 if length is None else length)
        except OSError as error:
            raise RequestFailure(400, "The body ended before it was complete.") from error
        finally:
            del self._begun[reader]
        if len(body) > self._most:
            raise RequestFailure(413, f"The body must have at most {self._most:,} bytes.")
        if length is not None and len(body) < length:
            raise RequestFailure(400, f"The body has {len(body):,} bytes of {length:,}.")
        return body

    def _length(self, environ: Mapping[str, Any]) -> int | None:
        given = environ.get("CONTENT_LENGTH") or ""
        if not given:
            return None
        if not (given.isascii() and given.isdigit()):
            raise RequestFailure(400, f"The Content-Length {given!r:.40} must be a whole number.")
        if int(given) > self._most:
            raise RequestFailure(413, f"The body has {int(given):,} bytes, must have at most {self._most:,}.")
        return int(given)
