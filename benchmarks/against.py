"""Two versions of the library in one run, on the same problems and in turn: the streams, and what a process costs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.comparison import AGAIN, Comparison, Reranked
from benchmarks.families import families
from benchmarks.machine import machine
from benchmarks.problems import UNSEEN
from benchmarks.sides import Side, on_one_core
from benchmarks.streams import measure_streams, store
from benchmarks.users import write_users

__all__ = ["FULL", "QUICK", "Extent", "compare_sides"]

STARTS = {
    "import numpy": "import numpy",
    "import excalibr": "import numpy, excalibr",
    "first answer": "from benchmarks.workers.first_answer import answer; answer()",
}
"""What a fresh process does, and the program for it."""

CACHE = "NUMBA_CACHE_DIR"
"""Where a version that compiles at run time keeps what it compiled; the others do not look."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Extent:
    """How much: problems a family, rounds, fresh processes, users of tables and of the loop, an empty cache or not."""

    mode: str
    problems: int
    rounds: int
    processes: int
    users: int
    batch_users: int
    empty_cache: bool


QUICK = Extent("quick", problems=25, rounds=2, processes=5, users=1000, batch_users=3000, empty_cache=False)
FULL = Extent("full", problems=300, rounds=8, processes=20, users=1000, batch_users=3000, empty_cache=True)


def compare_sides(
    new: Side,
    old: Side,
    extent: Extent,
    data: Path | None,
    progress: Progress,
    chosen: Sequence[str] = (),
    seed: int = UNSEEN,
    *,
    itself: bool = False,
) -> Comparison:
    """Measure everything of both, or only the families whose names hold one of ``chosen``.

    With ``itself`` the streams are solved by the old side once more, in processes of its own, so that the ratio of one
    version to itself stands beside the other.
    """
    started, sides = perf_counter(), (old, new)
    again = (replace(old, name=AGAIN.format(old.name)),) if itself else ()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        progress("making the problems")
        made = families(extent.problems, data, chosen, seed=seed)
        store(made, folder / "problems.npz")
        for side in sides:
            progress(f"{side.name}: everything once, so that what can be cached is")
            side.ask("first_uses")
        streams = measure_streams((*sides, *again), made, folder / "problems.npz", extent.rounds, progress)
        about_processes = {} if chosen else _about_processes(sides, extent, folder, progress)
    return Comparison(
        mode=extent.mode,
        old=old.name,
        new=new.name,
        machine=machine(),
        rounds=extent.rounds,
        seed=seed,
        minutes=(perf_counter() - started) / 60.0,
        streams=streams,
        **about_processes,
    )


def _about_processes(sides: Sequence[Side], extent: Extent, folder: Path, progress: Progress) -> dict[str, Any]:
    """All but the streams."""
    progress("fresh processes")
    with on_one_core():
        starts, memory = _starts(sides, extent.processes), _memory(sides, extent.rounds)
        uses = _uses(sides, extent.rounds)
    found: dict[str, Any] = {"starts": starts, "memory": memory, "uses": uses}
    if extent.empty_cache:
        progress("fresh processes with nothing in any cache")
        found |= {"empty_starts": _empty_starts(sides), "empty_uses": _uses(sides, 1, empty=True)}
    progress("tables and threads")
    write_users(folder / "users.npz", extent.users, extent.batch_users)
    found |= _many_users(sides, folder / "users.npz", extent.rounds)
    return found | {"installed": {side.name: side.ask("installed") for side in sides}}


def _starts(sides: Sequence[Side], processes: int) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {what: {side.name: [] for side in sides} for what in STARTS}
    for turn in range(processes):
        for side in _in_turn(sides, turn):
            for what, program in STARTS.items():
                found[what][side.name].append(_seconds(side, program))
    return found


def _empty_starts(sides: Sequence[Side]) -> dict[str, list[float]]:
    found = {}
    for side in sides:
        with tempfile.TemporaryDirectory() as cache:
            found[side.name] = [_seconds(side, STARTS["first answer"], {CACHE: cache})]
    return found


def _seconds(side: Side, program: str, environment: dict[str, str] | None = None) -> float:
    started = perf_counter()
    side.run("-c", program, environment=environment)
    return perf_counter() - started


def _memory(sides: Sequence[Side], rounds: int) -> dict[str, list[float]]:
    return {side.name: [float(side.ask("first_answer")) for _ in range(rounds)] for side in sides}


def _uses(sides: Sequence[Side], rounds: int, *, empty: bool = False) -> dict[str, dict[str, list[list[float]]]]:
    """By option and side, seconds of first and second use, one pair a round."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for turn in range(rounds):
        for side in _in_turn(sides, turn):
            with tempfile.TemporaryDirectory() as cache:
                measured = side.ask("first_uses", environment={CACHE: cache} if empty else None)
            for option, seconds in measured.items():
                found.setdefault(option, {each.name: [] for each in sides})[side.name].append(seconds)
    return found


def _many_users(sides: Sequence[Side], path: Path, rounds: int) -> dict[str, Any]:
    measured: dict[str, list[Any]] = {side.name: [] for side in sides}
    for turn in range(rounds):
        for side in _in_turn(sides, turn):
            measured[side.name].append(side.ask("many_users", str(path)))
    options, counts = measured[sides[0].name][0]["reranked"], measured[sides[0].name][0]["threads"]
    reranked = [
        Reranked(
            option,
            *(
                {name: [each["reranked"][option][what] for each in found] for name, found in measured.items()}
                for what in ("users", "share")
            ),
        )
        for option in options
    ]
    threads = {
        count: {name: [rate for each in found for rate in each["threads"][count]] for name, found in measured.items()}
        for count in counts
    }
    return {"reranked": reranked, "threads": threads}


def _in_turn(sides: Sequence[Side], turn: int) -> Sequence[Side]:
    return sides if turn % 2 == 0 else sides[::-1]
