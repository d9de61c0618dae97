"""A client that calls the application without a port, and profiles of invented tables."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from excalibr.service import Application, application
from tests.tables.invented import Invented


class Reply(NamedTuple):
    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        return str(self.json["error"]["message"])

    @property
    def path(self) -> str | None:
        found: str | None = self.json["error"].get("path")
        return found


class Client:
    """Asks an application, as a server would."""

    def __init__(self, service: Application) -> None:
        self.service = service

    def ask(self, method: str, path: str, body: Any = b"", **environ: Any) -> Reply:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "CONTENT_LENGTH": str(len(raw)),
            "wsgi.input": io.BytesIO(raw),
            **environ,
        }
        started: list[Any] = []
        parts = self.service(given, lambda status, headers, *_: started.append((status, headers)))
        (status, headers), answer = started[0], b"".join(parts)
        return Reply(int(status[:3]), dict(headers), answer)

    def post(self, path: str, body: Any, **environ: Any) -> Reply:
        return self.ask("POST", path, body, **environ)

    def get(self, path: str, **environ: Any) -> Reply:
        return self.ask("GET", path, **environ)


def write_profiles(folder: Path, tables: Invented, options: str, name: str = "films") -> Path:
    """The tables as files, and a profile of them with some options; a busy machine may be slow, unless they say how."""
    for each in ("items", "history"):
        pq.write_table(getattr(tables, each), folder / f"{each}.parquet")
    path = folder / "profiles.toml"
    limit = "" if "time_limit" in options or "method" in options else "time_limit = 600\n"
    path.write_text(
        f'[profiles.{name}]\nitems = "items.parquet"\ncategory = "genres"\nseparator = "|"\n{limit}{options}\n',
        encoding="utf-8",
    )
    return path


def client_of(folder: Path, tables: Invented, options: str = "", **server: Any) -> Client:
    return Client(application(write_profiles(folder, tables, options), **server))


def body_of(candidates: pa.Table, user: Any, **fields: Any) -> dict[str, Any]:
    """The columnar body of one user's candidates."""
    rows = [row for row in candidates.to_pylist() if row["user_id"] == user]
    return {
        "user": user,
        "items": [row["item_id"] for row in rows],
        "scores": [row["score"] for row in rows],
        **fields,
    }
