"""The body of a request, as far as it is allowed to go; how many are on their way, and which ones await an answer."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from typing import Any

from excalibr.service._failures import RequestFailure, unavailable

BEGIN_SECONDS = 1.0
"""How long a busy machine may take from the last byte of a request until the request is begun."""

SEND_SECONDS = 1.0
"""How long it may take from an answer until the server has begun to send it."""

MOST_DIGITS = 20
"""More than these has no length of a body; Python reads no number of thousands of digits."""


class BodyReader:
    """Reads bodies of at most so many bytes, so many at a time; a read waits for the client.

    A thread reads one body at a time, and answers it before it reads another.
    """

    def __init__(self, most_bytes: int, most_readers: int) -> None:
        self._most = most_bytes
        self._most_readers = most_readers
        self._begun: dict[int, float] = {}
        self._complete: dict[int, tuple[float, float]] = {}
        self._answered: dict[int, float] = {}

    def longest(self) -> float:
        """For how many seconds the slowest body has been on its way."""
        begun = list(self._begun.values())
        return time.monotonic() - min(begun) if begun else 0.0

    def awaiting(self) -> list[tuple[float, float]]:
        """Between which moments each client was last heard who has sent a body and awaits its answer."""
        sent = time.monotonic() - SEND_SECONDS
        found = []
        for reader, (begun, complete) in list(self._complete.items()):
            answered = self._answered.get(reader, -math.inf)
            if answered < complete or answered > sent:
                found.append((begun - BEGIN_SECONDS, complete))
        return found

    def answered(self) -> None:
        """Note that the request of this thread has its answer, whether or not it had a body."""
        self._answered[threading.get_ident()] = time.monotonic()

    def read(self, environ: Mapping[str, Any], most_bytes: int | None = None) -> bytes:
        """The whole body; 413 where it is longer than is allowed here, as soon as that is known."""
        most = self._most if most_bytes is None else most_bytes
        length = _length(environ, most)
        if len(self._begun) >= self._most_readers:
            raise unavailable("Too many bodies are on their way")
        reader = threading.get_ident()
        begun = self._begun[reader] = time.monotonic()
        try:
            body: bytes = environ["wsgi.input"].read(most + 1 if length is None else length)
        except OSError as error:
            raise RequestFailure(400, "The body ended before it was complete.") from error
        finally:
            self._complete[reader] = begun, time.monotonic()
            del self._begun[reader]
        if len(body) > most:
            raise RequestFailure(413, f"The body must have at most {most:,} bytes.")
        if length is not None and len(body) < length:
            raise RequestFailure(400, f"The body has {len(body):,} bytes of {length:,}.")
        return body


def _length(environ: Mapping[str, Any], most: int) -> int | None:
    """The length that the client announces; None where it announces none."""
    given = environ.get("CONTENT_LENGTH") or ""
    if not given:
        return None
    if not (given.isascii() and given.isdigit()):
        raise RequestFailure(400, f"The Content-Length {given!r:.40} must be a whole number.")
    if len(given) > MOST_DIGITS or int(given) > most:
        raise RequestFailure(413, f"The body has {given:.{MOST_DIGITS}} bytes, must have at most {most:,}.")
    return int(given)
