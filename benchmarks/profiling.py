"""Where compiled code spends its time: samples of Linux's ``perf``, by function of the kernel.

perf has no names for code that was compiled in memory. Numba's objects have them, with their sizes, and the process
that runs them says where each lies; a sample belongs to the function that it falls into. Needs ``perf`` and ``nm``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.tables import table

__all__ = ["profile"]

RATE = 2000
"""Samples a second; much more than that, and taking them shows in what is measured."""

LEAST = 0.005
MANY = 12
"""With more categories than this a film has up to three of them, as it has of genres; else one, as of decades."""

OUTSIDE = "outside the kernel: Python, numpy, memory"


class Function(NamedTuple):
    """Compiled code in the memory of a process."""

    first: int
    size: int
    name: str


def profile(n: int, k: int, r: int, seconds: float) -> str:
    """A table of the kernel's functions by their part of the time, on film-like problems of one size.

    Functions that are otherwise written into their callers are compiled apart here, or they would have no line.
    """
    for tool in ("perf", "nm"):
        if shutil.which(tool) is None:
            raise SystemExit(f"profiling needs {tool!r}, from the packages linux-perf and binutils")
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples"
        command = [sys.executable, "-m", "benchmarks.profiling", *map(str, (n, k, r, seconds)), folder]
        with subprocess.Popen(command, env={**os.environ, "NUMBA_CACHE_DIR": folder}, stdout=subprocess.PIPE) as worker:
            assert worker.stdout is not None
            told = worker.stdout.readline()
            if not told:
                raise SystemExit("the process to be watched ended early; what it said is above")
            functions = [Function(*fields) for fields in json.loads(told)]
            watching = ("record", f"--freq={RATE}", "--event=cpu-clock", f"--output={samples}", f"--pid={worker.pid}")
            _perf(*watching, "--", "sleep", str(seconds))
        addresses = _perf("script", f"--input={samples}", "--fields=ip").split()
    counted = count_samples((int(address, 16) for address in addresses), functions)
    total = counted.total()
    rows = [[name, f"{count / total:.1%}"] for name, count in counted.most_common() if count >= LEAST * total]
    return f"{n}, {k}, {r}: {total:,} samples\n\n" + table(["function", "of the time"], rows)


def _perf(*arguments: str) -> str:
    done = subprocess.run(
        ["perf", *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return done.stdout


def count_samples(addresses: Iterable[int], functions: Iterable[Function]) -> Counter[str]:
    """How many addresses lie in each function."""
    placed = sorted(functions)
    starts = [function.first for function in placed]
    counted: Counter[str] = Counter()
    for address in addresses:
        place = bisect_right(starts, address) - 1
        inside = place >= 0 and address < placed[place].first + placed[place].size
        counted[placed[place].name if inside else OUTSIDE] += 1
    return counted


def plain_name(symbol: str) -> str:
    """Module and function of a name as numba mangles it.

    >>> plain_name("_ZN8excalibr6solver8ordering4mendB3v83B66c8tJTIeFIjx")
    'ordering.mend'
    >>> plain_name("NRT_incref")
    'NRT_incref'
    """
    rest = symbol.removeprefix("_ZN")
    parts = []
    while found := re.match(r"\d+", rest):
        end = found.end() + int(found.group())
        parts.append(rest[found.end() : end])
        rest = rest[end:]
    return ".".join(parts[-2:]) if parts else symbol


def _work(n: int, k: int, r: int, seconds: float, folder: Path) -> None:
    """The process that is watched: compile, print where everything lies, then solve until the time is up."""
    import numba

    njit = numba.njit
    numba.njit = lambda **options: njit(**{**options, "forceinline": False})  # while the kernel's modules are read

    from benchmarks.problems import film_like
    from excalibr.problem import Limits
    from excalibr.solver import engines, kernel, prepare

    numba.njit = njit
    prepare()
    made = film_like("", n, k, r, most=3 if r > MANY else 1, users=40)
    problems = [instance.problem() for instance in made.instances]
    limits = Limits()
    doors = (door for door in vars(kernel).values() if "_kernel" in getattr(door, "__dict__", {}))
    print(json.dumps([function for door in doors for function in _functions(door._kernel, folder)]), flush=True)
    end = perf_counter() + seconds + 1.0  # longer than it is watched: ending takes time of its own
    while perf_counter() < end:
        for problem in problems:
            engines.answer_plain(problem, limits)


def _functions(dispatcher: Any, folder: Path) -> list[Function]:
    """The functions of one door's object."""
    (compiled,) = dispatcher.overloads.values()
    library = compiled.library
    path = folder / "door.o"
    path.write_bytes(library._get_compiled_object())
    listed = subprocess.run(["nm", "--print-size", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    places = {fields[3]: (int(fields[0], 16), int(fields[1], 16)) for fields in rows if len(fields) == 4}
    door = compiled.fndesc.llvm_func_name
    begin = _address(library, door) - places[door][0]
    found = []
    for symbol, (offset, size) in places.items():
        # here, or where an earlier door's object has the same function
        for address in {begin + offset, _address(library, symbol)}:
            found.append(Function(address, size, plain_name(symbol)))
    return found


def _address(library: Any, symbol: str) -> int:
    return int(library.codegen._engine.get_function_address(symbol))


if __name__ == "__main__":
    n, k, r, seconds, folder = sys.argv[1:]
    _work(int(n), int(k), int(r), float(seconds), Path(folder))
