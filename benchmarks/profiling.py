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
from typing import NamedTuple

from benchmarks.tables import table

__all__ = ["profile"]

RATE = 2000
"""Samples a second; much more than that, and taking them shows in what is measured."""

LEAST = 0.005
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
            functions = [Function(*fields) for fields in json.loads(worker.stdout.readline())]
            _perf("record", f"--freq={RATE}", "--event=cpu-clock", f"--output={samples}", f"--pid={worker.pid}")
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

    compile_function = numba.njit
    numba.njit = lambda **options: compile_function(**{**options, "forceinline": False})

    from benchmarks.problems import film_like
    from excalibr.problem import Limits
    from excalibr.solver import engines, kernel

    problems = [instance.problem() for instance in film_like("", n, k, r, most=3, users=40).instances]
    for problem in problems:
        engines.answer_plain(problem, Limits())
    doors = (door for door in vars(kernel).values() if "_kernel" in getattr(door, "__dict__", {}))
    print(json.dumps([function for door in doors for function in _functions(door._kernel, folder)]), flush=True)
    end = perf_counter() + seconds
    while perf_counter() < end:
        for problem in problems:
            engines.answer_plain(problem, Limits())


def _functions(dispatcher: object, folder: Path) -> list[Function]:
    """The functions of one door's object."""
    (compiled,) = dispatcher.overloads.values()  # type: ignore[attr-defined]
    library = compiled.library
    path = folder / "door.o"
    path.write_bytes(library._get_compiled_object())
    listed = subprocess.run(["nm", "--print-size", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = []
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tTwW":
            address = library.codegen._engine.get_function_address(fields[3])
            found.append(Function(address, int(fields[1], 16), plain_name(fields[3])))
    return found


if __name__ == "__main__":
    n, k, r, seconds, folder = sys.argv[1:]
    _work(int(n), int(k), int(r), float(seconds), Path(folder))
