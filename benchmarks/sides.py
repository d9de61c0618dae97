"""A side of a comparison: a Python with one version of the library in it, and processes of it.

The present tree is this Python itself. An older commit gets a folder, an environment and an installation of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["PRESENT", "ROOT", "Side", "Worker", "built", "on_one_core", "present"]

ROOT = Path(__file__).parent.parent
EXTRAS = "cli,data"
PRESENT = "this tree"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Side:
    """A Python, by the path of its executable, and where it finds what is not installed."""

    name: str
    python: str
    path: str = ""

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        """The variables of a process of this side: this one's, but for what names places of the other side."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        return kept | ONE_THREAD | ({"PYTHONPATH": self.path} if self.path else {}) | (more or {})

    def run(self, *arguments: str, environment: dict[str, str] | None = None) -> str:
        """What a process prints."""
        command = [self.python, *arguments]
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=self.environment(environment)
        )
        return done.stdout

    def ask(self, worker: str, *arguments: str, environment: dict[str, str] | None = None) -> Any:
        """What a worker of :mod:`benchmarks.workers` prints as JSON, in its last line."""
        printed = self.run("-m", f"benchmarks.workers.{worker}", *arguments, environment=environment)
        return json.loads(printed.splitlines()[-1])


class Worker:
    """A process of one side that answers line by line."""

    def __init__(self, side: Side, worker: str, *arguments: str) -> None:
        command = [side.python, "-m", f"benchmarks.workers.{worker}", *arguments]
        self.side = side
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=side.environment()
        )

    def ask(self, **question: Any) -> Any:
        """Its answer to a question."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(question), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the worker of {self.side.name} ended early; what it said is above")
        return json.loads(answer)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.process:
            if error is not None:
                self.process.kill()


def present() -> Side:
    """The tree that this file is of, with the Python that runs it and the places that it was told to look in."""
    told = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return Side(PRESENT, sys.executable, os.pathsep.join(str(Path(path).resolve()) for path in told))


@contextmanager
def built(commit: str | None, progress: Progress) -> Iterator[Side]:
    """A commit of this repository, or the tree as it is, installed in an environment that is gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="excalibr-")))
        progress(f"installing {commit or PRESENT} into an environment of its own")
        tree = ROOT if commit is None else stack.enter_context(_checked_out(commit, folder / "tree"))
        _run(sys.executable, "-m", "venv", str(folder / "environment"))
        python = str(folder / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python")
        _run(python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", f"{tree}[{EXTRAS}]")
        yield Side(commit or PRESENT, python)


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this process and those that it starts on the same core: cores of a shared machine differ."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _checked_out(commit: str, folder: Path) -> Iterator[Path]:
    _run("git", "-C", str(ROOT), "worktree", "add", "--detach", "--force", str(folder), commit)
    try:
        yield folder
    finally:
        _run("git", "-C", str(ROOT), "worktree", "remove", "--force", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
