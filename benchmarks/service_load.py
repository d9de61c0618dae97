"""Tables, request bodies and a server for `benchmarks.service`, and its clients: wrk, k6 and arrivals of our own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from excalibr.service import Limits
from excalibr.service._server import CONNECTIONS, threads_of

__all__ = ["BODIES", "CANDIDATES", "CATEGORIES", "ITEMS", "Bench", "cpu_seconds", "k6", "memory_megabytes"]

ITEMS, CATEGORIES, CANDIDATES, BODIES = 20_000, 20, 150, 200
SERVER_CORE, CLIENT_CORE = "0", "1"
BESIDE = 100
"""Requests a second of the client beside a flood."""

BARE = """
from granian.constants import HTTPModes, Interfaces
from granian.server import Server

def application(environ, start_response):
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", "SIZE")])
    return [b"x" * SIZE]

server = Server("bare", port=PORT, interface=Interfaces.WSGI, http=HTTPModes.http1, websockets=False, OPTIONS)
server.serve(target_loader=lambda: application, wrap_loader=False)
"""

K6_SCRIPT = """
import http from "k6/http";
import { SharedArray } from "k6/data";
const bodies = new SharedArray("bodies", () => JSON.parse(open("./bodies.json")));
const params = { headers: { "Content-Type": "application/json" } };
export const options = {
  discardResponseBodies: true,
  systemTags: [],
  summaryTrendStats: ["p(50)", "p(99)", "p(99.9)", "max"],
  scenarios: { even: { executor: "constant-arrival-rate", rate: RATE, timeUnit: "1s", duration: "SECONDSs",
                       preAllocatedVUs: 40, maxVUs: 40 } },
};
export default function () {
  http.post("ADDRESS", bodies[__ITER % bodies.length], params);
}
export function handleSummary(data) { return { "./summary.json": JSON.stringify(data.metrics) }; }
"""


def k6() -> str | None:
    """The program, beside this Python or on the path."""
    beside = Path(sys.executable).with_name("k6")
    return str(beside) if beside.exists() else shutil.which("k6")


class Bench:
    """Tables, bodies, the server and those who ask it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.profiles = folder / "profiles.toml"

    def write_tables(self) -> None:
        """Items with one to three of twenty categories, and a target of their own for the users of the bodies."""
        rng = np.random.default_rng(5)
        labels = [f"category {number:02d}" for number in range(CATEGORIES)]
        chosen = [rng.choice(labels, rng.integers(1, 4), replace=False).tolist() for _ in range(ITEMS)]
        pq.write_table(pa.table({"item_id": np.arange(ITEMS), "category": chosen}), self.folder / "items.parquet")
        shares = rng.dirichlet(np.ones(CATEGORIES), BODIES)
        users = {"user_id": np.repeat(np.arange(BODIES), CATEGORIES), "category": labels * BODIES}
        pq.write_table(pa.table({**users, "weight": shares.ravel()}), self.folder / "targets.parquet")
        tables = 'items = "items.parquet"\ntargets = "targets.parquet"\ntrade_off = 0.5'
        self.profiles.write_text(f"[profiles.k10]\n{tables}\nk = 10\n[profiles.k100]\n{tables}\nk = 100\n")

    def bodies(self, form: str) -> list[bytes]:
        """Different requests, the same for every run."""
        rng, made = np.random.default_rng(9), []
        for user in range(BODIES):
            items = rng.choice(ITEMS, CANDIDATES, replace=False).tolist()
            scores = rng.random(CANDIDATES).round(6).tolist()
            body: dict[str, Any] = {"id": f"r{user}", "user": user, "items": items, "scores": scores}
            if form == "metarank":
                pairs = zip(items, scores, strict=True)
                body = {"id": f"r{user}", "user": str(user), "timestamp": "1599391467000"}
                body["items"] = [{"id": str(item), "score": score} for item, score in pairs]
            made.append(json.dumps(body, separators=(",", ":")).encode())
        return made

    @contextmanager
    def server(self, *options: str, command: Sequence[str] = (), cores: str = SERVER_CORE) -> Iterator[int]:
        """The server on its core; its main process."""
        own = [sys.executable, "-c", "from excalibr._cli import main; main()", "serve", str(self.profiles)]
        own += ["--port", str(self.port), "--log", "off", *(options or ("--threads", "1"))]
        running = subprocess.Popen(
            ["taskset", "-c", cores, *(command or own)], stderr=subprocess.DEVNULL, cwd=self.folder
        )
        try:
            self.wait("/readyz")
            yield running.pid
        finally:
            running.terminate()
            running.wait(60)

    def bare(self, size: int) -> list[str]:
        """The command of a server with our settings that reads bodies and answers so many bytes."""
        threads = threads_of(Limits(threads=1))
        options = f"blocking_threads={threads}, backpressure={CONNECTIONS}"
        code = BARE.replace("SIZE", str(size)).replace("PORT", str(self.port)).replace("OPTIONS", options)
        (self.folder / "bare.py").write_text(code)
        return [sys.executable, str(self.folder / "bare.py")]

    def wait(self, path: str) -> None:
        """Until the server answers with 200."""
        for _ in range(3000):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}"):
                    return
            except OSError:
                time.sleep(0.01)
        raise SystemExit("the server does not answer")

    def write_bodies(self, k: int, bodies: list[bytes]) -> None:
        """The bodies for wrk, and for all others."""
        (self.folder / "bodies.json").write_text(json.dumps([each.decode() for each in bodies]))
        listed = ",\n".join(f"[==[{each.decode()}]==]" for each in bodies)
        (self.folder / "bodies.lua").write_text(
            f"local bodies = {{{listed}}}\nlocal at = 0\nwrk.method = 'POST'\nwrk.path = '/rank/k{k}'\n"
            "wrk.headers['Content-Type'] = 'application/json'\n"
            "request = function() at = at % #bodies + 1 return wrk.format(nil, nil, nil, bodies[at]) end\n"
            "done = function(summary, latency) io.write(string.format('\\nTOLD %d %d %d %f\\n', summary.requests, "
            "summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write "
            "+ summary.errors.timeout, latency:percentile(99) / 1000)) end\n"
        )

    def wrk(self, connections: int, seconds: float) -> dict[str, float]:
        """As many requests as so many connections can send."""
        command = ["taskset", "-c", CLIENT_CORE, "wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}"]
        start = time.monotonic()
        done = subprocess.run(
            [*command, "-s", str(self.folder / "bodies.lua"), f"http://127.0.0.1:{self.port}/"],
            check=True,
            capture_output=True,
            text=True,
        )
        told = re.search(r"TOLD (\d+) (\d+) (\d+) ([\d.]+)", done.stdout)
        assert told is not None, done.stdout
        requests, refused, broken, p99 = map(float, told.groups())
        lasted = time.monotonic() - start
        return {"requests": requests, "refused": refused, "broken": broken, "rate": requests / lasted, "p99": p99}

    def flood(self, path: str, connections: int, seconds: float) -> dict[str, Any]:
        """All that wrk can send, and beside it a client who asks now and then, ahead of wrk on its processor."""
        with ThreadPoolExecutor(1) as pool:
            flood = pool.submit(self.wrk, connections, seconds)
            time.sleep(0.5)
            with suppress(PermissionError):
                os.setpriority(os.PRIO_PROCESS, 0, -10)
            beside = self.arrive(path, BESIDE, seconds - 1)
            with suppress(PermissionError):
                os.setpriority(os.PRIO_PROCESS, 0, 0)
            return {**flood.result(), "beside": beside}

    def arrive(self, path: str, rate: float, seconds: float) -> dict[str, Any]:
        """Requests at a constant rate, whatever becomes of them, by :class:`Arrivals`."""
        bodies = [each.encode() for each in json.loads((self.folder / "bodies.json").read_text())]
        os.sched_setaffinity(0, {int(CLIENT_CORE)})
        try:
            return asyncio.run(Arrivals("127.0.0.1", self.port, path, bodies).run(rate, seconds))
        finally:
            os.sched_setaffinity(0, range(os.cpu_count() or 1))

    def arrive_by_k6(self, path: str, rate: float, seconds: float) -> dict[str, float] | None:
        """The same by k6, where it is there; requests that it could not send in time are errors."""
        program = k6()
        if program is None:
            return None
        script = K6_SCRIPT.replace("ADDRESS", f"http://127.0.0.1:{self.port}{path}")
        script = script.replace("SECONDS", str(int(seconds))).replace("RATE", str(int(rate)))
        (self.folder / "k6.js").write_text(script)
        command = ["taskset", "-c", CLIENT_CORE, program, "run", "--quiet", "--no-usage-report", "k6.js"]
        calmer = {**os.environ, "GOGC": "1000"}  # k6 has one processor, of which collecting garbage would take a part
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, env=calmer)
        told = json.loads((self.folder / "summary.json").read_text())
        took, failed = told["http_req_duration"]["values"], told["http_req_failed"]["values"]["passes"]
        dropped = told.get("dropped_iterations", {"values": {"count": 0}})["values"]["count"]
        quantiles = {"p50": took["p(50)"], "p99": took["p(99)"], "p999": took["p(99.9)"], "max": took["max"]}
        counted = {"requests": told["http_reqs"]["values"]["count"], "errors": failed + dropped, "rate": int(rate)}
        return {**counted, **quantiles}


class Arrivals:
    """Asks at a constant rate over as many connections as it takes; latency counts from when each was due."""

    def __init__(self, host: str, port: int, path: str, bodies: list[bytes]) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: "
        self._requests = [head.encode() + str(len(each)).encode() + b"\r\n\r\n" + each for each in bodies]
        self._address = (host, port)
        self._free: list[Any] = []
        self._times: list[tuple[float, bool]] = []
        self._errors = 0

    async def run(self, rate: float, seconds: float) -> dict[str, Any]:
        """The requests of so many seconds, and their latencies in milliseconds."""
        start, tasks = time.perf_counter() + 0.05, set()
        for number in range(max(1, int(rate * seconds))):
            due = start + number / rate
            wait = due - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            task = asyncio.create_task(self._ask(self._requests[number % len(self._requests)], due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
        for _, writer in self._free:
            writer.close()
        times = np.array([each for each, _ in self._times]) * 1000
        refused = np.array([late for _, late in self._times], dtype=np.bool_)
        counts = {"requests": float(len(times)), "errors": float(self._errors), "rate": rate}
        of_refusals = {"refused": float(refused.sum()), "refusals_p99": _quantiles(times[refused])["p99"]}
        return {**counts, **_quantiles(times), **of_refusals, "answers_p99": _quantiles(times[~refused])["p99"]}

    async def _ask(self, request: bytes, due: float) -> None:
        try:
            pair = self._unused() or await asyncio.open_connection(*self._address)
            reader, writer = pair
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            await reader.readexactly(int(length[1]) if length else 0)
            self._free.append(pair)
            code = head[9:12]
            if code != b"200":
                self._errors += 1
        except (OSError, asyncio.IncompleteReadError):
            code = b""
            self._errors += 1
        self._times.append((time.perf_counter() - due, code == b"503"))

    def _unused(self) -> Any:
        """A connection that is still open; the server closes those that nobody used for a while."""
        while self._free:
            reader, writer = self._free.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return None


def _quantiles(times: Any) -> dict[str, float | None]:
    at = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}
    return {name: float(np.quantile(times, part)) if len(times) else None for name, part in at.items()}


def _processes(main: int) -> list[int]:
    children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
    return [main, *map(int, children)]


def cpu_seconds(main: int) -> float:
    """Processor time of a process and its children so far."""
    fields = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in _processes(main)]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def memory_megabytes(main: int) -> float:
    """Resident memory of a process and its children."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in _processes(main))
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
