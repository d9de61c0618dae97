"""Solves streams of problems for a parent that says which: ``python -m benchmarks.workers.solving FILE.npz``.

A line of JSON in, such as {"family": "gamma 150/10/20", "first": 0, "last": 50, "method": "excalibr"}, is a line out
with a list for each quantity. {"check": true} more solves without a clock and says what was found.
"""

from __future__ import annotations

import gc
import json
import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import excalibr
from benchmarks.workers.clocks import KernelClock, interruptions
from benchmarks.workers.problems_file import Stored, StoredFamily, read

__all__ = ["Streams", "main"]

TRIES, LONG = 4, 0.01
"""How often a call is tried for one without interruption, unless it needs so many seconds of the processor."""


class Streams:
    """The families of a file, ready to be solved."""

    def __init__(self, families: Sequence[StoredFamily]) -> None:
        self.families = {family.name: family for family in families}
        self.clock = KernelClock()

    def warm_up(self, methods: Sequence[str] = ("excalibr",)) -> None:
        """Solve the spare problems of every family, so that nothing is loaded or compiled in the middle of a stream."""
        for family in self.families.values():
            for problem in family.warm_up or family.timed[:1]:
                for method in methods if family.divergence == "l1" else methods[:1]:
                    arrays, options = _question(family, problem, method)
                    excalibr.calibrate(*arrays, **options)

    def times(self, family: str, first: int, last: int, method: str = "excalibr") -> dict[str, list[float]]:
        """Seconds of each problem's whole call, and of the kernel inside it.

        Calls in which the system took the core away are made again after the others; where it always does, the least
        of them counts.
        """
        asked = self.families[family]
        questions = [_question(asked, problem, method) for problem in asked.timed[first:last]]
        calls, kernels = [math.inf] * len(questions), [math.inf] * len(questions)
        waiting = list(range(len(questions)))
        for _ in range(TRIES):
            disturbed = []
            for place in waiting:
                call, kernel, done = self._timed(*questions[place])
                if done or call < calls[place]:
                    calls[place], kernels[place] = call, kernel
                if not done:
                    disturbed.append(place)
            waiting = disturbed
        gc.collect(1)
        return {"call": calls, "kernel": kernels}

    def _timed(self, arrays: tuple[Any, Any, Any], options: dict[str, Any]) -> tuple[float, float, bool]:
        """Seconds of a call and of its kernel, and whether they count."""
        self.clock.start()
        before, used, started = interruptions(), thread_time(), perf_counter()
        policy = excalibr.calibrate(*arrays, **options)
        seconds, used = perf_counter() - started, thread_time() - used
        return seconds, self.clock.seconds(policy), interruptions() == before or used > LONG

    def check(self, family: str, first: int, last: int, method: str = "excalibr") -> dict[str, list[Any]]:
        """What is found: the program's value, the proven gap, rankings, and what the kernel says of its way there."""
        found: dict[str, list[Any]] = {}
        asked = self.families[family]
        for problem in asked.timed[first:last]:
            arrays, options = _question(asked, problem, method)
            policy = excalibr.calibrate(*arrays, **options)
            info = getattr(policy, "info", None)
            told = {"objective": policy.objective, "gap": policy.gap, "rankings": len(policy.weights)}
            told |= {name: _plain(getattr(info, name, None)) for name in ("engine", "sorts", "steps", "status")}
            for name, value in told.items():
                found.setdefault(name, []).append(value)
        return found


def main(arguments: Sequence[str]) -> None:
    warnings.simplefilter("ignore")
    gc.disable()
    streams = Streams(read(Path(arguments[0])))
    for line in sys.stdin:
        asked = json.loads(line)
        if "warm_up" in asked:
            streams.warm_up(asked["warm_up"])
            answer: Any = None
        else:
            answer = (streams.check if asked.pop("check", False) else streams.times)(**asked)
        print(json.dumps(answer), flush=True)


def _question(family: StoredFamily, problem: Stored, method: str) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
    """A problem as people ask it: an array of categories, position weights by name."""
    options: dict[str, Any] = {"k": problem.k, "trade_off": problem.trade_off}
    options["position_weights"] = family.weights or problem.weights
    if family.divergence != "l1":
        options["divergence"] = family.divergence
    if method != "excalibr":
        options["method"] = method
    return (problem.scores, problem.categories, problem.target), options


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
