"""`make bench-service`: the real server on loopback, on one core, against wrk and k6 on another.

For each body and number of slots: the ceiling and the server's processor time a request, beside the same application in
process, under uvicorn, and the kernel alone; latency at half of the ceiling; a flood, and what comes after it; workers
and threads; how soon the port opens; with `--soak 600`, ten minutes at half of the ceiling. Results go to
`benchmarks/results/service.json`, and from there to docs/service.md.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.service_load import Bench, cpu_seconds, memory_megabytes
from benchmarks.service_page import page

FOLDER = Path(__file__).parent
PAGE, RESULTS = FOLDER.parent / "docs" / "service.md", FOLDER / "results" / "service.json"
CONNECTIONS, FLOOD = 4, 256
STARTS = 5


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--soak", type=float, help="only this: so many seconds at half of the ceiling found before")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page goes")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the numbers go")
    asked = parser.parse_args(arguments)
    if shutil.which("wrk") is None or shutil.which("taskset") is None:
        raise SystemExit("make bench-service needs wrk and taskset (Debian: apt-get install wrk util-linux).")
    found = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    if asked.soak and "rows" not in found:
        raise SystemExit("A soak is at half of the ceiling: run make bench-service without SOAK first.")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), asked.port)
        bench.write_tables()
        found |= {"soak": soak(bench, found["rows"][0], asked.soak)} if asked.soak else measured(bench, asked.seconds)
    asked.results.parent.mkdir(exist_ok=True)
    asked.results.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    asked.page.write_text(page(found), encoding="utf-8")
    print(asked.page.read_text(encoding="utf-8"))


def measured(bench: Bench, seconds: float) -> dict[str, Any]:
    """Everything but the soak."""
    load = os.getloadavg()[0]
    rows = [measure(bench, k, form, seconds) for k in (10, 100) for form in ("columnar", "metarank")]
    return {
        "seconds": seconds,
        "processors": os.cpu_count(),
        "load": load,
        "starts": [start_seconds(bench) for _ in range(STARTS)],
        "rows": rows,
        "uvicorn": [under_uvicorn(bench, k, seconds) for k in (10, 100)],
        "sizes": [
            sized(bench, workers, threads, seconds) for workers, threads in ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2))
        ],
    }


def measure(bench: Bench, k: int, form: str, seconds: float) -> dict[str, Any]:
    """One kind of request, everywhere."""
    bench.write_bodies(k, bench.bodies(form))
    row: dict[str, Any] = {"k": k, "form": form, **_in_process(bench, k)}
    with bench.server() as process:
        row |= _ceiling(bench, process, seconds)
        row["latency"] = bench.arrive(f"/rank/k{k}", row["ceiling"] / 2, seconds)
        row["k6"] = bench.arrive_by_k6(f"/rank/k{k}", row["ceiling"] / 2, seconds)
        row["flood"] = bench.flood(f"/rank/k{k}", FLOOD, seconds)
        time.sleep(0.5)
        row["after"] = bench.arrive(f"/rank/k{k}", row["ceiling"] / 2, 3.0)
    with bench.server(command=bench.bare(row["answer_bytes"])) as process:
        row["bare"] = _ceiling(bench, process, seconds)["server"]
        row["k6_bare"] = bench.arrive_by_k6(f"/rank/k{k}", row["ceiling"] / 2, seconds)
    print({name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()}, flush=True)
    return row


def _ceiling(bench: Bench, process: int, seconds: float) -> dict[str, float]:
    """Requests a second, and the processor time of each, with a few connections that wait for one another."""
    bench.wrk(CONNECTIONS, 2.0)
    before = cpu_seconds(process)
    told = bench.wrk(CONNECTIONS, seconds)
    return {"ceiling": told["rate"], "server": 1000 * (cpu_seconds(process) - before) / told["requests"]}


def under_uvicorn(bench: Bench, k: int, seconds: float) -> dict[str, Any]:
    """The same application under uvicorn's adapter for WSGI."""
    bench.write_bodies(k, bench.bodies("columnar"))
    (bench.folder / "served.py").write_text(
        f"from excalibr.service import application\napp = application({str(bench.profiles)!r})\n"
    )
    options = ["--interface", "wsgi", "--port", str(bench.port), "--log-level", "error", "--app-dir", str(bench.folder)]
    command = [sys.executable, "-W", "ignore", "-m", "uvicorn", *options, "served:app"]
    with bench.server(command=command) as process:
        return {"k": k, **_ceiling(bench, process, seconds)}


def sized(bench: Bench, workers: int, threads: int, seconds: float) -> dict[str, Any]:
    """Processes and threads on all processors, which wrk shares."""
    bench.write_bodies(100, bench.bodies("columnar"))
    options = ("--workers", str(workers), "--threads", str(threads))
    cores = f"0-{(os.cpu_count() or 1) - 1}"
    with bench.server(*options, cores=cores) as process:
        bench.wrk(4 * workers * threads, 2.0)
        before = cpu_seconds(process)
        told = bench.wrk(4 * workers * threads, seconds)
        spent = 1000 * (cpu_seconds(process) - before) / told["requests"]
        memory = memory_megabytes(process)
    return {"workers": workers, "threads": threads, "rate": told["rate"], "server": spent, "memory": memory}


def start_seconds(bench: Bench) -> dict[str, float]:
    """From the command until its port is open, and until it is ready, with the invented catalogue."""
    start = time.perf_counter()
    command = [sys.executable, "-c", "from excalibr._cli import main; main()", "serve", "--port", str(bench.port)]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", bench.port)).close()
                break
            except OSError:
                time.sleep(0.002)
        opened = time.perf_counter() - start
        bench.wait("/readyz")
        return {"port": opened, "ready": time.perf_counter() - start}
    finally:
        running.terminate()
        running.wait(60)


def soak(bench: Bench, row: dict[str, Any], seconds: float) -> dict[str, float]:
    """Half of the ceiling for a longer time; memory after the first minute, and at the end."""
    path, rate = f"/rank/k{row['k']}", row["ceiling"] / 2
    bench.write_bodies(row["k"], bench.bodies(row["form"]))
    with bench.server() as process:
        bench.arrive(path, rate, min(60.0, seconds / 4))
        before = memory_megabytes(process)
        told = bench.arrive(path, rate, seconds)
        return {"seconds": seconds, **told, "memory_before": before, "memory_after": memory_megabytes(process)}


def _in_process(bench: Bench, k: int) -> dict[str, Any]:
    code = f"from benchmarks.service import in_process; in_process({str(bench.profiles)!r}, {k})"
    command = ["taskset", "-c", "0", sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def in_process(profiles: str, k: int) -> None:
    """Print milliseconds of processor time: the application without a server, its kernel, and the kernel alone."""
    import excalibr._solver.seam as solver
    import excalibr.service._application as answering
    from excalibr._native import kernel
    from excalibr.service import application

    service = application(profiles)
    bodies = [each.encode() for each in json.loads((Path(profiles).parent / "bodies.json").read_text())]
    questions: list[Any] = []

    def call(body: bytes) -> int:
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": f"/rank/k{k}", "CONTENT_LENGTH": str(len(body))}
        return sum(map(len, service({**environ, "wsgi.input": io.BytesIO(body)}, lambda *_: None)))

    class Watched:
        """The kernel, whose questions are kept."""

        def __getattr__(self, name: str) -> Any:
            return getattr(kernel, name)

        def solve_alone(self, *question: Any) -> Any:
            questions.append(question)
            return kernel.solve_alone(*question)

    whole = _mean_milliseconds(call, bodies)
    told = dict(re.findall(r"excalibr_solve_seconds_(sum|count)\{.*\} (\S+)", service.metrics.page().decode()))
    setattr(solver, "kernel", Watched())  # noqa: B010
    setattr(answering, "fast_slate", lambda *_, **__: None)  # noqa: B010  (the long way, which shows the kernel's questions)
    for body in bodies:
        call(body)
    alone = _mean_milliseconds(lambda each: kernel.solve_alone(*each), questions)
    within = 1000 * float(told["sum"]) / float(told["count"])
    size = sum(map(call, bodies)) // len(bodies)
    print(json.dumps({"kernel": alone, "kernel_within": within, "in_process": whole, "answer_bytes": size}))


def _mean_milliseconds(work: Callable[[Any], Any], inputs: Sequence[Any], repeats: int = 10) -> float:
    for each in inputs:
        work(each)
    start = time.process_time()
    for _ in range(repeats):
        for each in inputs:
            work(each)
    return 1000 * (time.process_time() - start) / (repeats * len(inputs))


if __name__ == "__main__":
    main()
