"""What goes back to a client."""

from __future__ import annotations


class Reply:
    """A code, a body and its kind."""

    __slots__ = ("body", "code", "headers")

    def __init__(self, code: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.code = code
        self.body = body
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        self.headers = [("Content-Type", kind), ("Content-Length", str(len(body))), *named]
