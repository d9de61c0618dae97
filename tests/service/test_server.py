"""The real server on a port of this machine: start, load, stop, kill and reload while requests come."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from excalibr import Reranker
from excalibr.service import _server, application
from tests.service.client import body_of, write_profiles
from tests.tables.invented import GENRE_COLUMNS, invented_tables

if sys.platform == "win32":
    pytest.skip("signals of Unix", allow_module_level=True)

TABLES = invented_tables(users=4)
OPTIONS = 'history = "history.parquet"\nk = 5\ntrade_off = 0.4\nseed = 3'
BODY = body_of(TABLES.candidates, 100)
PATIENCE = 60.0


def wait_for(happened: Callable[[], bool], what: str) -> None:
    """Until it is so; a server that never gets there fails the test."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Running:
    """A server that was started, and a client for it."""

    def __init__(self, profiles: Path, *options: str) -> None:
        self.port = free_port()
        self.log = profiles.with_name("server.log")
        with self.log.open("wb") as log:
            command = [sys.executable, "-c", "from excalibr._cli import main; main()", "serve", str(profiles)]
            self.process = subprocess.Popen([*command, "--port", str(self.port), *options], stderr=log)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
            reply = connection.getresponse()
            raw = reply.read()
            return reply.status, json.loads(raw) if reply.headers.get_content_type() == "application/json" else raw
        finally:
            connection.close()

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.told()
        try:
            return self.ask("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def told(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [int(each) for each in children.split()]


@contextmanager
def running(profiles: Path, *options: str) -> Iterator[Running]:
    server = Running(profiles, *options)
    try:
        wait_for(server.is_ready, "the server to be ready")
        yield server
    finally:
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(PATIENCE)


class Load:
    """Clients that ask again and again, each over one connection; what they got, and how often they were cut off."""

    def __init__(self, server: Running, clients: int = 3) -> None:
        self.answers: list[Any] = []
        self.refused: list[int] = []
        self.cut: list[str] = []
        self._server = server
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def __enter__(self) -> Load:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for each in self._threads:
            each.join(PATIENCE)

    def _ask(self) -> None:
        body, connection = json.dumps(BODY).encode(), None
        with ExitStack() as closing:
            self._ask_on(body, connection, closing)

    def _ask_on(self, body: bytes, connection: http.client.HTTPConnection | None, closing: ExitStack) -> None:
        while not self._over.is_set():
            sent = False
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=PATIENCE)
                    closing.callback(connection.close)
                    connection.connect()
                connection.request("POST", "/rank/films", body)
                sent = True
                reply = connection.getresponse()
                raw = reply.read()
                if reply.status == 200:
                    self.answers.append(json.loads(raw)["items"])
                else:
                    self.refused.append(reply.status)
            except (OSError, http.client.HTTPException) as error:
                if sent:
                    self.cut.append(repr(error))
                if connection is not None:
                    connection.close()
                connection = None
                time.sleep(0.01)


def slate(**options: Any) -> list[int]:
    asked = {"k": 5, "trade_off": 0.4, "seed": 3, **options}
    rows = Reranker(**asked).rerank(TABLES.candidates, TABLES.items, history=TABLES.history, **GENRE_COLUMNS)
    return [row["item_id"] for row in rows.to_pylist() if row["user_id"] == 100]


def items_of(answer: Any) -> list[int]:
    return [each["item"] for each in answer]


def test_the_server_answers_what_a_reranker_gives_and_ends_with_what_is_in_flight(tmp_path: Path) -> None:
    with running(write_profiles(tmp_path, TABLES, OPTIONS), "--threads", "2") as server:
        assert items_of(server.ask("POST", "/rank/films", BODY)[1]["items"]) == slate()
        with Load(server) as load:
            wait_for(lambda: len(load.answers) > 50, "answers")
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(PATIENCE) == 0
        # A request that was sent after the last answer on a connection that the server was closing is not in flight.
        assert all(items_of(answer) == slate() for answer in load.answers)
        lost = [each for each in load.cut if "RemoteDisconnected" not in each and "Reset" not in each]
        assert lost == []
        assert load.refused == []


def requests_counted(server: Any) -> float:
    page = server.ask("GET", "/metrics")[1].decode()
    (counted,) = [line for line in page.splitlines() if line.startswith("excalibr_rank_requests_total")]
    return float(counted.split()[-1])


@pytest.mark.skipif(sys.platform != "linux", reason="policies of Linux")
@pytest.mark.parametrize(("options", "policy"), [((), "SCHED_BATCH"), (("--preempt",), "SCHED_OTHER")])
def test_threads_of_a_worker_interrupt_one_another_only_where_it_is_asked_for(
    tmp_path: Path, options: tuple[str, ...], policy: str
) -> None:
    with running(write_profiles(tmp_path, TABLES, OPTIONS), "--threads", "1", *options) as server:
        assert server.ask("POST", "/rank/films", BODY)[0] == 200
        (worker,) = server.workers()
        threads = [int(each.name) for each in Path(f"/proc/{worker}/task").iterdir()]
        assert len(threads) > 3
        found = set()
        for each in threads:
            with suppress(ProcessLookupError):  # one that had nothing to do may have ended since
                found.add(os.sched_getscheduler(each))
        assert found == {getattr(os, policy)}


def test_a_reload_under_load_answers_with_the_old_or_the_new_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    path = write_profiles(tmp_path, TABLES, OPTIONS)
    old, new = slate(), slate(k=3, trade_off=0.9)
    with running(path, "--workers", "2", "--admin", "--log", "text") as server, Load(server) as load:
        wait_for(lambda: len(load.answers) > 20, "answers")
        path.write_text("[profiles.films]\nk = 3\n", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: server.told().count("reload failed") == 2, "the bad reload, in both workers")
        assert "items: is missing, must name a file" in server.told()
        count = len(load.answers)
        wait_for(lambda: len(load.answers) > count + 20, "answers after the bad reload")
        assert all(items_of(answer) == old for answer in load.answers)
        write_profiles(tmp_path, TABLES, OPTIONS.replace("k = 5", "k = 3").replace("0.4", "0.9"))
        assert server.ask("POST", "/reload")[0] == 200
        wait_for(lambda: server.told().count(" loaded ") == 4, "the reload of both workers")
        count = len(load.answers)

        def all_new() -> bool:
            """The latest twenty are; before them may be one from before that a client was slow to take in."""
            latest = load.answers[count:]
            return len(latest) > 20 and all(items_of(answer) == new for answer in latest[-20:])

        wait_for(all_new, "answers after the reload")
        assert {tuple(items_of(answer)) for answer in load.answers} == {tuple(old), tuple(new)}
        # Each worker counts what it noted now and then.
        wait_for(lambda: requests_counted(server) >= count, "the counters of both workers")
    assert (load.refused, load.cut) == ([], [])


def test_a_worker_that_is_killed_is_replaced_and_only_what_it_held_is_lost(tmp_path: Path) -> None:
    with running(write_profiles(tmp_path, TABLES, OPTIONS), "--workers", "2") as server, Load(server, 4) as load:
        wait_for(lambda: len(load.answers) > 20, "answers")
        victim = server.workers()[0]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: len(server.workers()) == 2 and victim not in server.workers(), "a new worker")
        count = len(load.answers)
        wait_for(lambda: len(load.answers) > count + 20, "answers after the kill")
    assert len(load.cut) <= 4
    assert set(load.refused) <= {503}
    assert all(items_of(answer) == slate() for answer in load.answers)


def test_profiles_with_a_mistake_end_the_start_with_the_reason(tmp_path: Path) -> None:
    server = Running(write_profiles(tmp_path, TABLES, "k = 0"))
    assert server.process.wait(PATIENCE) == 2
    assert "profiles.toml: [profiles.films]: k: is 0, must be a whole number of at least 1" in server.told()


HALF = b"POST /rank/films HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize("sent", [HALF, HALF + b"Content-Length: 500\r\n\r\n{"], ids=["half a head", "half a body"])
def test_clients_that_are_slow_are_cut_off_and_others_are_served(tmp_path: Path, sent: bytes) -> None:
    path = write_profiles(tmp_path, TABLES, OPTIONS)
    with running(path, "--backpressure", "4", "--body-seconds", "1") as server, ExitStack() as closing:
        slow = [closing.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(40)]
        for each in slow:
            each.sendall(sent)  # and never the rest
        assert server.ask("POST", "/rank/films", BODY)[0] == 200
        for each in slow:
            each.settimeout(PATIENCE)
            with suppress(ConnectionResetError):
                while each.recv(4096):  # an answer, or nothing, and then the end
                    pass
        assert server.ask("POST", "/rank/films", BODY)[0] == 200


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody is cut off")
def test_who_waits_for_an_answer_is_not_cut_off_with_who_is_slow(tmp_path: Path) -> None:
    tables = invented_tables(users=1, n=1000, items=1000)
    long = {"requests": [body_of(tables.candidates, 100, draws="single", k=150)] * 100}  # more than a second's work
    path = write_profiles(tmp_path, tables, OPTIONS)
    with running(path, "--threads", "1", "--body-seconds", "0.5") as server, ExitStack() as closing:
        waiting = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        closing.callback(waiting.close)
        waiting.request("POST", "/rank/films/batch", json.dumps(long).encode())
        slow = closing.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
        slow.sendall(HALF + b"Content-Length: 500\r\n\r\n{")  # and never the rest
        reply = waiting.getresponse()
        assert (reply.status, len(json.loads(reply.read())["answers"])) == (200, 100)
        with suppress(ConnectionResetError):
            assert slow.recv(4096) == b""


def test_a_body_that_is_announced_too_large_is_refused_before_it_comes(tmp_path: Path) -> None:
    with running(write_profiles(tmp_path, TABLES, OPTIONS), "--max-body", "1000000") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
            client.sendall(b"POST /rank/films HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n{")
            assert client.recv(4096).startswith(b"HTTP/1.1 413")
        assert server.ask("POST", "/rank/films", BODY)[0] == 200


def test_a_token_file_is_asked_for(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n", encoding="ascii")
    server = Running(write_profiles(tmp_path, TABLES, OPTIONS), "--token-file", str(token))
    try:
        bearer = {"Authorization": "Bearer s3cret"}

        def ready() -> bool:
            try:
                return server.ask("GET", "/readyz", **bearer)[0] == 200
            except OSError:
                return False

        wait_for(ready, "the server")
        assert server.ask("GET", "/livez")[0] == 200
        assert server.ask("POST", "/rank/films", BODY)[0] == 401
        assert server.ask("POST", "/rank/films", BODY, **bearer)[0] == 200
    finally:
        server.process.terminate()
        server.process.wait(PATIENCE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nothing.toml"], "profiles: nothing.toml is no file, must be a file that can be read"),
        (["--log", "xml"], "--log: is 'xml', must be one of 'off', 'text', 'json'"),
        (["--token-file", "nothing"], "--token-file: nothing is no file"),
        (["--token-file", sys.executable], "is no token, must have one word of ASCII"),
        (["--host", "x" * 70], f"--host: is '{'x' * 70}', which is not found"),  # too long to be asked of anybody
        (["--host", "192.0.2.1"], "--host: 192.0.2.1 cannot be listened on at port 8000"),
    ],
)
def test_options_that_cannot_be_are_told_in_the_commands_words(options: list[str], message: str) -> None:
    command = [sys.executable, "-c", "from excalibr._cli import main; main()", "serve", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_host_may_be_named(tmp_path: Path) -> None:
    with running(write_profiles(tmp_path, TABLES, OPTIONS), "--host", "localhost") as server:
        assert server.ask("POST", "/rank/films", BODY)[0] == 200
        assert f"http://localhost:{server.port}" in server.told()


def test_an_address_with_colons_is_told_in_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    _server._say_listening(_server.Server(host="::1", port=8000, log="text"))
    assert "url=http://[::1]:8000" in capsys.readouterr().err


@pytest.mark.parametrize("closed", [0, 2])
def test_the_log_tells_of_slow_clients_only_where_some_are_cut_off(
    closed: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = application()
    monkeypatch.setattr(service.bodies, "longest", lambda: 11.0)
    monkeypatch.setattr(_server, "close_silent", lambda *_: closed)
    _server._close_slow(service, _server.Server())
    assert capsys.readouterr().err.count("slow clients") == (1 if closed else 0)
