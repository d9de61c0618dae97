"""Failures: what a client is told when a request cannot be answered, with the code, the reason and where it stands."""

from __future__ import annotations

import re
from typing import Any

import msgspec


class RequestFailure(Exception):
    """A request that cannot be answered.

    Attributes
    ----------
    code
        The HTTP status.
    message
        What is wrong, in the library's own words.
    path
        Where in the body, as a JSON path.
    headers
        What goes with the answer, in the names that :class:`excalibr.service._reply.Reply` takes.
    """

    def __init__(self, code: int, message: str, path: str | None = None, **headers: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = str(message)  # plain text, where it was a message that remembers its options
        self.path = path
        self.headers = headers

    def body(self) -> dict[str, Any]:
        """What the client gets.

        >>> RequestFailure(422, "k: is 0, must be at least 1.", "$.k").body()
        {'error': {'code': 422, 'message': 'k: is 0, must be at least 1.', 'path': '$.k'}}
        """
        where = {} if self.path is None else {"path": self.path}
        return {"error": {"code": self.code, "message": self.message, **where}}


def require_method(method: str, *allowed: str) -> None:
    """Refuse a method that a path does not have."""
    if method not in allowed:
        message = f"The method is {method:.20}, must be {' or '.join(allowed)}."
        raise RequestFailure(405, message, Allow=", ".join(allowed))


def unavailable(why: str) -> RequestFailure:
    """What a client can ask again a second later."""
    return RequestFailure(503, f"{why}: try again.", Retry_After="1")


UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""What msgspec raises for a body that it cannot decode, as :func:`malformed` tells it."""

_AT = re.compile(r" - at `(.*)`$", re.DOTALL)


def malformed(error: Exception) -> RequestFailure:
    """What msgspec says of a body: 422 where it is JSON of the wrong shape, 400 where it is no JSON.

    >>> malformed(msgspec.ValidationError("Expected `int`, got `str` - at `$.k`")).path
    '$.k'
    """
    if isinstance(error, msgspec.ValidationError):
        text = str(error)
        found = _AT.search(text)
        return RequestFailure(422, f"{text[: found.start()] if found else text}.", found[1] if found else "$")
    if isinstance(error, RecursionError):
        return RequestFailure(400, "The body is nested too deeply.")
    return RequestFailure(400, f"The body is not JSON: {error}.")
