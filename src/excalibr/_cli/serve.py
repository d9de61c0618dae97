"""``excalibr serve``: calibrated slates for requests in flight."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from excalibr._parallel import checked_threads
from excalibr.errors import InputError, needs_extra, unknown_name

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    profiles: Annotated[
        Path | None, typer.Argument(help="Profiles (TOML); without it, the invented catalogue as `demo`.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Processes, each with the tables of its own.")] = 1,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, max=1024, help="Requests a process works on at a time; one for each processor that it may use."
        ),
    ] = None,
    backpressure: Annotated[
        int, typer.Option(min=1, max=4096, help="Requests in flight a process; one more is refused with 503.")
    ] = 32,
    max_items: Annotated[int, typer.Option(min=1, help="Candidates of a request.")] = 10_000,
    max_batch: Annotated[int, typer.Option(min=1, help="Requests of a batch.")] = 100,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a body.")] = 8_000_000,
    body_seconds: Annotated[
        float, typer.Option(min=0.1, help="How long a client may be silent before its body is complete.")
    ] = 10.0,
    log: Annotated[str, typer.Option(help="One line per request on standard error: off, text or json.")] = "json",
    token_file: Annotated[
        Path | None, typer.Option(help="File with the bearer token that requests must have, but for /livez.")
    ] = None,
    cors: Annotated[str | None, typer.Option(help="Origin that browsers may ask from.")] = None,
    admin: Annotated[bool, typer.Option("--admin", help="Let POST /reload read the profiles anew.")] = False,
    preempt: Annotated[
        bool,
        typer.Option("--preempt", help="Let threads interrupt others when they wake: beside other busy processes."),
    ] = False,
    page: Annotated[
        bool,
        typer.Option(
            "--page", help="Show the page of `excalibr explore` at /, of the first profile that names its candidates."
        ),
    ] = False,
) -> None:
    """Serve calibrated slates over HTTP.

    POST /rank/PROFILE takes Metarank's body or items and scores side by side. SIGHUP reads the profiles anew, and keeps
    the old ones where the new ones are bad; SIGTERM finishes what is in flight.
    """
    with needs_extra("serve"):
        from excalibr.service._limits import Limits
        from excalibr.service._logging import FORMATS
        from excalibr.service._server import Server
        from excalibr.service._server import serve as run
    if log not in FORMATS:
        raise unknown_name("log", log, FORMATS)
    if profiles is not None:
        _require_file("profiles", profiles)
    if page and (host not in LOOPBACK or token_file is not None):
        found = f"is asked for with {'a token' if host in LOOPBACK else f'--host {host}'}"
        raise InputError("page", found, "be for this machine alone, and without a token")
    limits = Limits(max_items, max_batch, max_body, backpressure, checked_threads(threads), body_seconds)
    asked: dict[str, Any] = {"host": host, "port": port, "workers": workers, "log": log, "cors": cors, "admin": admin}
    if page:
        from excalibr.service._page.profile import source_of

        source_of(profiles)  # what cannot be shown is refused before the port opens
        asked["page"] = partial(source_of, profiles)
    run(Server(profiles=profiles, limits=limits, token=_token(token_file), preempt=preempt, **asked))


def _token(path: Path | None) -> str | None:
    if path is None:
        return None
    _require_file("token_file", path)
    token = path.read_text(encoding="utf-8", errors="replace").strip()
    if not token or not token.isascii() or any(letter.isspace() for letter in token):
        raise InputError("token_file", f"{path} is no token", "have one word of ASCII")
    return token


def _require_file(option: str, path: Path) -> None:
    if not path.is_file():
        raise InputError(option, f"{path} is no file", "be a file that can be read")
