"""A file server on 127.0.0.1 that can resume, cut connections short, and remembers what was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Served:
    """What the server has (path → bytes), how it behaves, and the (path, Range) pairs that it was asked."""

    files: dict[str, bytes]
    url: str = ""
    resumes: bool = True
    cut_after: int | None = None
    asked: list[tuple[str, str | None]] = field(default_factory=list)


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Served]:
    served = Served(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            served.asked.append((self.path, asked))
            content = served.files.get(self.path)
            if content is None:
                return self.send_error(404)
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and served.resumes else 0
            if start and start >= len(content):
                return self.send_error(416)
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            body = content[start:]
            self.wfile.write(body if served.cut_after is None else body[: served.cut_after])
            return None

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
