"""`make bench-service`: the real server on loopback, on a core of its own, against wrk and a constant rate of arrivals.

For each body and number of slots: the ceiling and the server's processor time a request (wrk), beside the same
application in process and beside the kernel alone; latency at half of the ceiling (arrivals at a constant rate, timed
from when each was due); what becomes of three times the ceiling and more; memory over a soak. Writes docs/service.md.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PAGE = Path(__file__).parent.parent / "docs" / "service.md"
ITEMS, CATEGORIES, CANDIDATES, BODIES = 20_000, 20, 150, 200
SERVER_CORE, CLIENT_CORE = "0", "1"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--soak", type=float, default=60.0, help="seconds at half of the ceiling; 600 for ten minutes")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page goes")
    asked = parser.parse_args(arguments)
    if shutil.which("wrk") is None or shutil.which("taskset") is None:
        raise SystemExit("make bench-service needs wrk and taskset (Debian: apt-get install wrk util-linux).")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), asked.port, asked.seconds)
        bench.write_tables()
        rows = [bench.measure(k, form) for k in (10, 100) for form in ("columnar", "metarank")]
        soak = bench.soak(rows[0], asked.soak)
    asked.page.write_text(page(rows, soak, asked.seconds), encoding="utf-8")
    print(asked.page.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Row:
    """What one kind of request was measured to do; times in milliseconds."""

    k: int
    form: str
    kernel: float
    in_process: float
    server: float
    ceiling: float
    latency: dict[str, float]
    flood: dict[str, float]


@dataclass(frozen=True)
class Soak:
    """A server over a longer time."""

    seconds: float
    requests: int
    errors: int
    memory_before: float
    memory_after: float
    p99: float


class Bench:
    """Tables, bodies, the server and those who ask it."""

    def __init__(self, folder: Path, port: int, seconds: float) -> None:
        self.folder, self.port, self.seconds = folder, port, seconds
        self.rng = np.random.default_rng(5)

    def write_tables(self) -> None:
        """Items with one to three of twenty categories, and a target of their own for the users of the bodies."""
        labels = [f"category {number:02d}" for number in range(CATEGORIES)]
        chosen = [self.rng.choice(labels, self.rng.integers(1, 4), replace=False).tolist() for _ in range(ITEMS)]
        pq.write_table(pa.table({"item_id": np.arange(ITEMS), "category": chosen}), self.folder / "items.parquet")
        shares = self.rng.dirichlet(np.ones(CATEGORIES), BODIES)
        users = {"user_id": np.repeat(np.arange(BODIES), CATEGORIES), "category": labels * BODIES}
        pq.write_table(pa.table({**users, "weight": shares.ravel()}), self.folder / "targets.parquet")
        self.profiles = self.folder / "profiles.toml"
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

    def measure(self, k: int, form: str) -> Row:
        """One kind of request, everywhere."""
        bodies = self.bodies(form)
        kernel, in_process = self._in_process(k, bodies)
        script = self._script(k, bodies)
        with self.server() as process:
            self._wrk(script, 4, 2.0)
            before, start = cpu_seconds(process), time.monotonic()
            told = self._wrk(script, 4, self.seconds)
            spent, lasted = cpu_seconds(process) - before, time.monotonic() - start
            ceiling, server = told["requests"] / lasted, 1000 * spent / told["requests"]
            latency = asyncio.run(self._arrive(f"/rank/k{k}", bodies, ceiling / 2, self.seconds))
            flood = self._wrk(script, 256, self.seconds)
            time.sleep(1.0)
            after = asyncio.run(self._arrive(f"/rank/k{k}", bodies, ceiling / 2, 3.0))
        flood |= {"after_p99": after["p99"], "after_errors": after["errors"]}
        print(f"k={k} {form}: kernel {kernel:.3f} in process {in_process:.3f} server {server:.3f} ms, {ceiling:.0f}/s")
        return Row(k, form, kernel, in_process, server, ceiling, latency, flood)

    def soak(self, row: Row, seconds: float) -> Soak:
        """Half of the ceiling for a longer time."""
        bodies = self.bodies(row.form)
        with self.server() as process:
            asyncio.run(self._arrive(f"/rank/k{row.k}", bodies, row.ceiling / 2, 5.0))
            before = memory_megabytes(process)
            told = asyncio.run(self._arrive(f"/rank/k{row.k}", bodies, row.ceiling / 2, seconds))
            after = memory_megabytes(process)
        return Soak(seconds, int(told["requests"]), int(told["errors"]), before, after, told["p99"])

    @contextmanager
    def server(self) -> Iterator[int]:
        """The server on its core; its main process."""
        command = [sys.executable, "-c", "from excalibr._cli import main; main()", "serve", str(self.profiles)]
        options = ["--port", str(self.port), "--threads", "1", "--log", "off"]
        running = subprocess.Popen(["taskset", "-c", SERVER_CORE, *command, *options])
        try:
            for _ in range(600):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz"):
                        break
                except OSError:
                    time.sleep(0.1)
            yield running.pid
        finally:
            running.terminate()
            running.wait(60)

    def _in_process(self, k: int, bodies: list[bytes]) -> tuple[float, float]:
        """Processor time of the kernel alone, and of the application without a server, for the same requests."""
        code = f"from benchmarks.service import in_process; in_process({str(self.profiles)!r}, {k})"
        (self.folder / "bodies.json").write_text(json.dumps([each.decode() for each in bodies]))
        command = ["taskset", "-c", SERVER_CORE, sys.executable, "-c", code]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        kernel, whole = map(float, done.stdout.split())
        return kernel, whole

    def _script(self, k: int, bodies: list[bytes]) -> Path:
        path = self.folder / f"k{k}.lua"
        listed = ",\n".join(f"[==[{each.decode()}]==]" for each in bodies)
        path.write_text(
            f"local bodies = {{{listed}}}\nlocal at = 0\nwrk.method = 'POST'\nwrk.path = '/rank/k{k}'\n"
            "wrk.headers['Content-Type'] = 'application/json'\n"
            "request = function() at = at % #bodies + 1 return wrk.format(nil, nil, nil, bodies[at]) end\n"
            "done = function(summary) io.write(string.format('\\nTOLD %d %d %d\\n', summary.requests, "
            "summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write "
            "+ summary.errors.timeout)) end\n"
        )
        return path

    def _wrk(self, script: Path, connections: int, seconds: float) -> dict[str, float]:
        command = ["taskset", "-c", CLIENT_CORE, "wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}", "--latency"]
        address = f"http://127.0.0.1:{self.port}/"
        done = subprocess.run([*command, "-s", str(script), address], check=True, capture_output=True, text=True)
        told = re.search(r"TOLD (\d+) (\d+) (\d+)", done.stdout)
        assert told is not None, done.stdout
        requests, refused, broken = map(float, told.groups())
        return {"requests": requests, "refused": refused, "broken": broken, "sent": requests / seconds}

    async def _arrive(self, path: str, bodies: list[bytes], rate: float, seconds: float) -> dict[str, float]:
        """Requests at a constant rate, whatever becomes of them; latency counts from when each was due."""
        os.sched_setaffinity(0, {int(CLIENT_CORE)})
        client = Arrivals("127.0.0.1", self.port, path, bodies)
        try:
            return await client.run(rate, seconds)
        finally:
            os.sched_setaffinity(0, range(os.cpu_count() or 1))


class Arrivals:
    """Asks at a constant rate over connections that are kept, as many as it takes."""

    def __init__(self, host: str, port: int, path: str, bodies: list[bytes]) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: "
        self._requests = [head.encode() + str(len(each)).encode() + b"\r\n\r\n" + each for each in bodies]
        self._address = (host, port)
        self._free: list[Any] = []
        self._times: list[float] = []
        self._errors = 0

    async def run(self, rate: float, seconds: float) -> dict[str, float]:
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
        times = np.array(self._times) * 1000
        quantiles = {name: float(np.quantile(times, at)) for name, at in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))}
        return {"requests": float(len(times)), "errors": float(self._errors), "rate": rate, **quantiles}

    async def _ask(self, request: bytes, due: float) -> None:
        try:
            pair = self._free.pop() if self._free else await asyncio.open_connection(*self._address)
            reader, writer = pair
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            await reader.readexactly(int(length[1]) if length else 0)
            self._free.append(pair)
            if not head.startswith(b"HTTP/1.1 200"):
                self._errors += 1
        except (OSError, asyncio.IncompleteReadError):
            self._errors += 1
        self._times.append(time.perf_counter() - due)


def in_process(profiles: str, k: int) -> None:
    """Print the milliseconds of processor time of the kernel alone, and of the application called without a server."""
    from excalibr._native import kernel
    from excalibr._problem import read_problem
    from excalibr._solver.seam import question_of
    from excalibr.service import application
    from excalibr.service._candidates import read_given
    from excalibr.service._ranking import asked_of
    from excalibr.service._requests import decode_rank
    from excalibr.service._targets import read_target_of

    service = application(profiles)
    assert service.profiles is not None
    profile = service.profiles[f"k{k}"]
    bodies = [each.encode() for each in json.loads((Path(profiles).parent / "bodies.json").read_text())]
    questions = []
    for body in bodies:
        request = decode_rank(body)
        given = read_given(request, profile)
        assert profile.user_ids is not None
        assert request.user is not None
        wanted = read_target_of(request, profile, profile.user_ids.read(request.user, ""))
        options = asked_of(profile, request).with_slots(len(given.scores))
        questions.append(
            question_of(read_problem(given.scores, profile.items.rows.of(given.places), wanted.low, options))
        )

    def call(body: bytes) -> None:
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": f"/rank/k{k}", "CONTENT_LENGTH": str(len(body))}
        service({**environ, "wsgi.input": io.BytesIO(body)}, lambda *_: None)

    alone = _mean_milliseconds(lambda each: kernel.solve_user(each, 0), questions)
    print(alone, _mean_milliseconds(call, bodies))


def _mean_milliseconds(work: Any, inputs: Sequence[Any], repeats: int = 10) -> float:
    for each in inputs:
        work(each)
    start = time.process_time()
    for _ in range(repeats):
        for each in inputs:
            work(each)
    return 1000 * (time.process_time() - start) / (repeats * len(inputs))


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


def page(rows: list[Row], soak: Soak, seconds: float) -> str:
    """The page of the measurements."""
    return "\n\n".join(
        [
            "# The service, measured",
            _filled(f"""
            Made by `make bench-service`: the real server on loopback, pinned to one core with one thread, those who ask
            pinned to another; {CANDIDATES} candidates of {ITEMS:,} items, {CATEGORIES} categories, λ = 0.5, {BODIES}
            different requests in turn, log off, {seconds:g} s a measurement. The machine's load was
            {os.getloadavg()[2]:.1f} on {os.cpu_count()} processors: far above 1 others were at work, and times are
            longer than they need be.
        """),
            _filled("""
            Processor time a request, in milliseconds. *Around the kernel* is what the server adds to the solve: HTTP,
            decoding, looking up, drawing, answering. *In process* is the application without a server.
        """),
            _costs(rows),
            _filled("""
            Latency at half of the ceiling, in milliseconds, for arrivals at a constant rate, each timed from when it
            was due (`Arrivals` in `benchmarks/service.py`, in place of k6). *Flood* is all that wrk can send over 256
            connections: answers and refusals a second, which part was refused, how many connections broke; a second
            later, half of the ceiling again.
        """),
            _latencies(rows),
            _filled(f"""
            Half of the ceiling for {soak.seconds:.0f} s (k = 10, columnar): {soak.requests:,} requests, {soak.errors}
            errors, p99 {soak.p99:.2f} ms, memory {soak.memory_before:.0f} MB before and {soak.memory_after:.0f} MB
            after.
        """)
            + "\n",
        ]
    )


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120)


def _costs(rows: list[Row]) -> str:
    head = "| k | body | kernel | in process | server | around the kernel | ceiling, requests/s |\n" + "|---" * 7 + "|"
    return "\n".join(
        [
            head,
            *(
                f"| {row.k} | {row.form} | {row.kernel:.3f} | {row.in_process:.3f} | {row.server:.3f} "
                f"| **{row.server - row.kernel:.3f}** | {row.ceiling:.0f} |"
                for row in rows
            ),
        ]
    )


def _latencies(rows: list[Row]) -> str:
    names = (
        "k",
        "body",
        "rate",
        "p50",
        "p99",
        "p99.9",
        "errors",
        "flood",
        "refused",
        "broken",
        "p99 after",
        "errors after",
    )
    lines = []
    for row in rows:
        at_half, flood = row.latency, row.flood
        lines.append(
            [
                *(str(row.k), row.form, f"{at_half['rate']:.0f}"),
                *(f"{at_half[name]:.2f}" for name in ("p50", "p99", "p999")),
                *(
                    f"{at_half['errors']:.0f}",
                    f"{flood['sent']:.0f}",
                    f"{flood['refused'] / max(flood['requests'], 1):.0%}",
                ),
                *(f"{flood['broken']:.0f}", f"{flood['after_p99']:.2f}", f"{flood['after_errors']:.0f}"),
            ]
        )
    return "\n".join("| " + " | ".join(each) + " |" for each in [names, ["---"] * len(names), *lines])


if __name__ == "__main__":
    main()
