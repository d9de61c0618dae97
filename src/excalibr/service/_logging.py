"""One line per request on standard error, as JSON or as text; never a score, a history or a token."""

from __future__ import annotations

import datetime
import sys
from typing import Any

import msgspec

FORMATS = ("off", "text", "json")


class Log:
    """Writes what happened; each line in one piece."""

    def __init__(self, form: str = "off", stream: Any = None) -> None:
        self.form = form
        self._stream = stream

    def request(self, **details: Any) -> None:
        """A request was answered."""
        if self.form != "off":
            self._write("request", details)

    def event(self, what: str, **details: Any) -> None:
        """Something else happened: always written, and as text where requests are not logged."""
        self._write(what, details)

    def _write(self, what: str, details: dict[str, Any]) -> None:
        stream = self._stream or sys.stderr
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        fields = {name: value for name, value in details.items() if value is not None}
        if self.form == "json":
            line = msgspec.json.encode({"time": now, "event": what, **fields}).decode()
        else:
            line = " ".join([now, what, *(f"{name}={_shown(value)}" for name, value in fields.items())])
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError):  # nobody reads it: that stops no request
            pass


def _shown(value: Any) -> str:
    """A value as a word; text from outside without control characters."""
    text = str(value)
    return repr(text) if any(not letter.isprintable() or letter == " " for letter in text) else text
