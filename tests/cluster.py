"""A real Spark cluster on this machine: two executors, each a process of its own, one of which can be killed."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

ROOT = Path(__file__).parent.parent

PATIENCE = 120.0
"""Seconds that executors may take to start or to end."""

SECOND_PASS = 5
"""The job of a balance that is its second pass: after users counted (two jobs), looked at, and the first pass."""


@contextmanager
def cluster(settings: Mapping[str, Any]) -> Iterator[Any]:
    """A session with two executors of a gigabyte and these settings besides."""
    import pyspark
    from pyspark.sql import SparkSession

    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    home = str(Path(pyspark.__file__).parent)
    with mock.patch.dict(os.environ, {"SPARK_HOME": home, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}):
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("excalibr")
        always = {
            "spark.executorEnv.PYTHONPATH": path,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }
        for name, value in {**always, **settings}.items():
            builder = builder.config(name, str(value))
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            session.stop()


def executors(session: Any) -> list[int]:
    """The processes of this session's executors, and no others."""
    wanted = session.sparkContext.applicationId.encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                command = (folder / "cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in command and wanted in command:
                    found.append(int(folder.name))
    return sorted(found)


class Killed(NamedTuple):
    """What work gave, which executor was killed meanwhile, in which of its jobs, and whether it was under way."""

    answer: Any
    executor: int
    job: int
    under_way: bool


def wait_for_executors(session: Any, wanted: Callable[[list[int]], bool]) -> list[int]:
    """The processes of the executors once they are as wanted: they start and end beside the session."""
    end = time.monotonic() + PATIENCE
    while not wanted(found := executors(session)):
        assert time.monotonic() < end, f"waited in vain for the executors; there are {found}"
        time.sleep(0.02)
    return found


def with_a_kill(session: Any, work: Callable[[], Any], *, job: int = 1, pause: float = 0.0) -> Killed:
    """What ``work`` gives if one of two executors is killed in its ``job``-th job, ``pause`` seconds after it began."""
    found: list[Any] = []
    before = wait_for_executors(session, lambda found: len(found) == 2)
    tracker = session.sparkContext.statusTracker()
    seen: set[int] = set()
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    while thread.is_alive() and len(seen) < job:
        seen |= set(tracker.getActiveJobsIds())
        thread.join(0.005)
    thread.join(pause)
    killed = before[0], len(seen), thread.is_alive() and max(seen) in tracker.getActiveJobsIds()
    os.kill(before[0], signal.SIGKILL)
    thread.join()
    wait_for_executors(session, lambda found: before[0] not in found)
    return Killed(found[0], *killed)
