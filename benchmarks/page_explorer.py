"""The page of ``excalibr explore`` on MovieLens: until it is ready, a change for one user, a change for the sample.

``python -m benchmarks.page_explorer FOLDER`` makes candidates of all users by EASE (150 each, a fifth of the positives
held out), starts the command on them, drives the page in Debian's chromium and prints a table for docs/explore.md.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from excalibr.datasets import hold_out, load_movielens
from excalibr.models import EASE

N = 150
NAMES = ("candidates", "items", "history", "truth")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

CHANGE = """async ([id, values, kind]) => {
  const times = [];
  const input = document.getElementById(id);
  for (const value of values) {
    const start = performance.now();
    const shown = new Promise((done) => {
      const watch = new MutationObserver(() => { watch.disconnect(); done(); });
      watch.observe(document.getElementById("person-body"), { childList: true });
    });
    if (kind === "click") input.click();
    else { input.value = value; input.dispatchEvent(new Event(kind)); }
    await shown;
    times.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 30));
  }
  return times;
}"""
"""Change an input several times, and wait each time until the user's slate is drawn anew."""

SWEEP = """async ([id, value]) => {
  const progress = document.getElementById("progress");
  const ended = new Promise((done) => {
    const watch = new MutationObserver(() => {
      if (!progress.hasAttribute("data-busy")) { watch.disconnect(); done(); }
    });
    watch.observe(progress, { attributes: true, childList: true });
  });
  const input = document.getElementById(id);
  const start = performance.now();
  input.value = value;
  input.dispatchEvent(new Event("change"));
  await ended;
  return performance.now() - start;
}"""
"""Change a choice, and wait until the whole sample is solved at every point of the curve."""


def make_tables(movielens: Path, folder: Path) -> None:
    """The tables of all users as Parquet."""
    data = load_movielens(movielens)
    held = hold_out(data.positives(), share=0.2, seed=0)
    users, items = held.history.user_ids, held.history.item_ids
    matrix = held.history.matrix
    top = EASE.fit(matrix, regularisation=500.0).top(matrix, n=N)
    films = data.items.of(items)
    tables = {
        "candidates": {
            "user_id": np.repeat(users, N),
            "item_id": items[top.items.ravel()],
            "score": top.scores.astype(float).ravel(),
        },
        "items": {
            "item_id": items,
            "title": list(map(str, films.titles)),
            "category": list(map(_genres, films.genres)),
        },
        "history": _pairs(held.history),
        "truth": _pairs(held.held_out),
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def _genres(given: Any) -> str:
    return given if isinstance(given, str) else "|".join(given)


def _pairs(interactions: Any) -> dict[str, Any]:
    matrix = interactions.matrix
    owners = np.repeat(interactions.user_ids, np.diff(matrix.indptr))
    return {"user_id": owners, "item_id": interactions.item_ids[matrix.indices]}


@contextmanager
def explored(folder: Path) -> Iterator[tuple[str, float, int]]:
    """The command at work: its address, after how many seconds it was ready, and its process."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    command = [sys.executable, "-c", "from excalibr._cli import main; main()", "explore"]
    command += [str(folder / "candidates.parquet"), *(f"--{name}={folder / name}.parquet" for name in NAMES[1:])]
    command += ["-k10", "--trade-off=0.1", f"--port={port}", "--no-browser"]
    start = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "The page is at" in line)
        yield f"http://127.0.0.1:{port}/", time.perf_counter() - start, process.pid
        process.terminate()


def memory_of(process: int) -> float:
    """Megabytes of a process and those that it started, at their largest."""
    found = 0.0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if int(status.parent.name) == process or int(lines["PPid"]) == process:
            found += float(lines.get("VmHWM", "0 kB").split()[0]) / 1000.0
    return found


def measure(folder: Path) -> list[tuple[str, str]]:
    from playwright.sync_api import sync_playwright

    rows: list[tuple[str, str]] = []
    with explored(folder) as (address, ready, process), sync_playwright() as started:
        rows.append(("ready", f"{ready:.1f} s"))
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        start = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("#reading-kept")
        rows.append(("first figures on the page", f"{time.perf_counter() - start:.2f} s"))
        page.wait_for_selector("#progress:not([data-busy]) span")
        rows.append(("the whole curve", f"{time.perf_counter() - start:.2f} s"))
        points = int(page.get_attribute("#aim-slider", "max") or 0) + 1
        slides = page.evaluate(CHANGE, ["aim-slider", [at % points for at in range(60)], "input"])
        clicks = page.evaluate(CHANGE, ["random-user", list(range(60)), "click"])
        slots = page.evaluate(CHANGE, ["choice-k", [5 + at % 16 for at in range(40)], "change"])
        for name, times in (("another trade-off", slides), ("another user", clicks), ("another k", slots)):
            middle, late = np.percentile(times, [50, 95])
            rows.append((f"one user, {name}", f"{middle:.0f} ms, p95 {late:.0f} ms"))
        page.wait_for_selector("#progress:not([data-busy]) span")
        for divergence in ("l1", "kl"):
            page.evaluate(SWEEP, ["choice-divergence", divergence]) if divergence == "kl" else None
            for k in (10, 20):
                took = page.evaluate(SWEEP, ["choice-k", k])
                rows.append((f"the sample at {points} points, {divergence}, k = {k}", f"{took / 1000:.2f} s"))
        browser.close()
        rows.append(("memory of the server's processes", f"{memory_of(process):.0f} MB"))
    return rows


def main(movielens: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if (movielens / "candidates.parquet").exists():
            folder = movielens
        else:
            make_tables(movielens, folder)
        print("| | |\n|---|---|")
        for what, value in measure(folder):
            print(f"| {what} | {value} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
