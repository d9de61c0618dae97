"""The service under granian: worker processes and threads, signals, and reloads that reach every worker."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from excalibr._messages import CommandWords, Message, Option, message_of
from excalibr.errors import ExcalibrError, InputError
from excalibr.service._limits import Limits
from excalibr.service._logging import Log
from excalibr.service._slow_clients import close_silent

if TYPE_CHECKING:
    from excalibr.service._application import Application
    from excalibr.service._page import Page, PageSource

POLL_SECONDS = 0.1
"""How often a worker checks whether a reload is asked for, in seconds."""

FAILURE_FILE = "failed"
"""The file in which a worker writes why it could not load."""

READY_PREFIX = "ready-"
"""The prefix of the files by which workers tell one another that they have loaded."""

SPARE_THREADS = 4
"""Threads beyond those that work, wait or read: they refuse the overload, and more would only hinder one another."""

CONNECTIONS = 4096
"""Connections that a worker holds open, most of them silent; more wait to be accepted."""

HEADERS_MILLISECONDS = 10_000
"""How long a client may take for the head of a request."""

STOP_SECONDS = 30
"""How long requests in flight may take after SIGTERM."""


@dataclass(frozen=True)
class Server:
    """What the command ``excalibr serve`` is asked.

    ``page`` is what the page explores, or what reads it anew with each load, where there is one; ``words`` are those
    in which the command says its options; ``ready`` is called with the address once everything is loaded, and says so
    in place of the log. ``limits.threads`` is how many requests a worker works on at the same time,
    ``limits.backpressure`` how many work or wait. With ``preempt`` threads take the processor from one another as
    they do in other programs.
    """

    profiles: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    log: str = "json"
    token: str | None = None
    cors: str | None = None
    admin: bool = False
    preempt: bool = False
    page: PageSource | Callable[[], PageSource] | None = None
    words: CommandWords | None = None
    ready: Callable[[str], None] | None = None


class ReloadCounter:
    """A counter in a file that all workers map into memory; each of them reloads when it has grown."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(struct.pack("<q", 0))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)

    @property
    def value(self) -> int:
        """How many reloads were asked for."""
        return int(struct.unpack_from("<q", self._shared)[0])

    def increment(self) -> None:
        """Ask every worker to reload."""
        struct.pack_into("<q", self._shared, 0, self.value + 1)


def serve(server: Server) -> None:
    """Serve until a signal ends it: SIGTERM and SIGINT finish what is in flight, SIGHUP reads the profiles anew."""
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels
    from granian.server import Server as Granian

    address = address_of(server.host)
    _require_free(address, server.port)
    folder = Path(tempfile.mkdtemp(prefix="excalibr-serve-"))
    try:
        if server.workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        reloads = ReloadCounter(folder / "reload")
        threads = threads_of(server.limits)
        granian = Granian(
            "excalibr.service",
            address=address,
            port=server.port,
            interface=Interfaces.WSGI,
            workers=server.workers,
            blocking_threads=threads,
            backpressure=CONNECTIONS,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=HEADERS_MILLISECONDS),
            log_level=LogLevels.error,
            websockets=False,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_SECONDS,
        )
        setattr(granian, "signal_handler_reload", lambda *_: reloads.increment())  # noqa: B010  (granian would start new workers)
        if server.ready is None:
            granian.on_startup(lambda: _say_listening(server))
        else:
            threading.Thread(target=_tell_ready, args=(server, folder), daemon=True, name="excalibr-ready").start()
        granian.serve(target_loader=_Loader(server, folder), wrap_loader=False)
        failed = folder / FAILURE_FILE
        if failed.exists():
            raise InputError(failed.read_text(encoding="utf-8"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def threads_of(limits: Limits) -> int:
    """How many threads a worker has: for requests that are worked on or wait for it, for bodies, and for refusals."""
    return limits.backpressure + limits.readers + SPARE_THREADS


def address_of(host: str) -> str:
    """The address of a host that may be named, such as localhost; of several an IPv4 one."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        must = "be an address of this machine, or a name of one"
        raise InputError("host", f"is {host!r}, which is not found", must) from error
    return str(min(found, key=lambda each: each[0] != socket.AF_INET)[4][0])


def is_free(address: str, port: int) -> bool:
    """Whether one can listen there."""
    return _obstacle(address, port) is None


def _require_free(address: str, port: int) -> None:
    obstacle = _obstacle(address, port)
    if obstacle is None:
        return
    if obstacle.errno == errno.EADDRINUSE:
        hint = Message("pass ", Option("port", ...), " with another.")
        raise InputError("port", f"{port} of {address} is taken", "be free", hint)
    found = f"{address} cannot be listened on at port {port} ({obstacle.strerror})"
    raise InputError("host", found, "be an address of this machine, with a port that is open to you")


def _obstacle(address: str, port: int) -> OSError | None:
    """What is in the way of listening there."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((address, port))
    except OSError as error:
        return error
    return None


@dataclass(frozen=True)
class _Loader:
    """Makes the application in a worker."""

    server: Server
    folder: Path

    def __call__(self) -> Starting:
        """An application that answers immediately, while the real one and its profiles are loaded in a thread."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the main process asks all workers
        if not self.server.preempt:
            use_batch_scheduling()
        starting = Starting()
        threading.Thread(
            target=_keep_loaded, args=(starting, self.server, self.folder), daemon=True, name="excalibr-profiles"
        ).start()
        return starting


def use_batch_scheduling() -> None:
    """Let no thread interrupt another when it wakes (Linux); threads that are begun later do as this one does.

    A request goes from the thread that reads to one that solves and back. With the usual policy each of them takes the
    processor from the other as soon as it has something to do, several times a request. Where the process was started
    with a policy of its own, it keeps that one.
    """
    if sys.platform == "linux" and os.sched_getscheduler(0) == os.SCHED_OTHER:
        with suppress(OSError):  # a sandbox may forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class Starting:
    """The application once it is there, and 503 until then: its libraries take longer to load than a port to open."""

    application: Application | None = None

    def __call__(self, environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, as WSGI asks it."""
        if self.application is not None:
            return self.application(environ, start_response)
        alive = environ.get("PATH_INFO") == "/livez"
        message = b'{"error":{"code":503,"message":"The server is starting: try again."}}'
        body = b'{"alive":true}' if alive else message
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response("200 OK" if alive else "503 Service Unavailable", [*headers, ("Retry-After", "1")])
        return [body]


def _keep_loaded(starting: Starting, server: Server, folder: Path) -> None:
    """Load the profiles; where they cannot be at the start, end the server; reload when asked."""
    from excalibr.service._application import Application, reason_of

    reloads = ReloadCounter(folder / "reload")
    seen = reloads.value
    application = starting.application = Application(
        server.profiles,
        limits=server.limits,
        token=server.token,
        log=Log(server.log),
        cors=server.cors,
        reload=reloads.increment if server.admin else None,
        all_ready=lambda: _all_ready(server, folder),
        page=_page(server),
    )
    try:
        application.load()
    except Exception as error:  # a fault of ours too: otherwise the server would seem to load for ever
        message = message_of(error, server.words) if isinstance(error, ExcalibrError) else reason_of(error)
        (folder / FAILURE_FILE).write_text(message, encoding="utf-8")
        os.kill(os.getppid(), signal.SIGTERM)
        return
    if server.ready is None:
        application.log.event("loaded", profiles=",".join(application.profiles or ()))
    (folder / f"{READY_PREFIX}{os.getpid()}").touch()
    while True:
        time.sleep(POLL_SECONDS)
        application.metrics.update()
        _close_slow(application, server)
        if reloads.value != seen:
            seen = reloads.value
            application.reload()


def _close_slow(application: Application, server: Server) -> None:
    """Close connections whose clients are silent while a body is awaited; a body that trickles in is let through."""
    bodies = application.bodies
    if bodies.longest() > server.limits.body_seconds:
        closed = close_silent(server.port, server.limits.body_seconds, bodies.awaiting())
        if closed:
            application.log.event("slow clients", connections=closed)


def _page(server: Server) -> Page | None:
    if server.page is None:
        return None
    from excalibr.service._page import Page

    return Page(server.page)


def _tell_ready(server: Server, folder: Path) -> None:
    """Once every worker has loaded."""
    while folder.exists() and not _all_ready(server, folder):
        time.sleep(POLL_SECONDS)
    if folder.exists() and server.ready is not None:
        server.ready(f"{_url(server)}/")


def _all_ready(server: Server, folder: Path) -> bool:
    return len(list(folder.glob(f"{READY_PREFIX}*"))) >= server.workers


def _say_listening(server: Server) -> None:
    Log(server.log).event("listening", url=_url(server), workers=server.workers)


def _url(server: Server) -> str:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{server.port}"
