"""Where compiled code spends its time: samples of Linux's ``perf``, by function of the extension.

A function that the compiler has written into its caller counts to the caller.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from benchmarks.tables import table

__all__ = ["profile"]

EXTENSION = "excalibr._kernel"

RATE = 2000
"""Samples a second; much more than that, and taking them shows in what is measured."""

LEAST = 0.005
MANY = 12
"""With more categories than this a film has up to three of them, as it has of genres; else one, as of decades."""

OUTSIDE = "outside the kernel: Python, numpy, memory"
NAMELESS = "in the kernel, in functions without a name"

NO_PERF = "profiling needs Linux's 'perf', from the package linux-perf"
NO_EXTENSION = "profiling is of the compiled extension, and this Python finds no {extension}: install the package first"
NO_NAMES = """\
{share:.0%} of the kernel's samples are in functions without a name: the extension was installed without its symbols.
Build it with them to see where the time goes: pip install --editable . -C cmake.build-type=RelWithDebInfo"""


def profile(n: int, k: int, r: int, seconds: float) -> str:
    """A table of the kernel's functions by their part of the time, on a stream of film-like problems of one size."""
    library = _library()
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples"
        command = [sys.executable, "-m", "benchmarks.profiling", *map(str, (n, k, r, seconds))]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
            assert worker.stdout is not None
            if not worker.stdout.readline():
                raise SystemExit("the process to be watched ended early; what it said is above")
            watching = ("record", f"--freq={RATE}", "--event=cpu-clock", f"--output={samples}", f"--pid={worker.pid}")
            _perf(*watching, "--", "sleep", str(seconds))
            worker.kill()
        script = _perf("script", f"--input={samples}", "--fields=ip,sym,dso", "--demangle")
    counted = count_samples(script, library.name)
    total = counted.total()
    rows = [[name, f"{count / total:.1%}"] for name, count in counted.most_common() if count >= LEAST * total]
    told = f"{n}, {k}, {r}: {total:,} samples\n\n" + table(["function", "of the time"], rows)
    nameless = counted[NAMELESS] / max(total - counted[OUTSIDE], 1)
    return told if nameless < 0.5 else f"{told}\n\n{NO_NAMES.format(share=nameless)}"


def count_samples(script: str, library: str) -> Counter[str]:
    r"""How many samples of ``perf script`` lie in each function of a library.

    >>> count_samples("  7f01 excalibr::pool(double*) (/x/_kernel.so)\n  7f02 memset (/x/libc.so)\n", "_kernel.so")
    Counter({'excalibr::pool': 1, 'outside the kernel: Python, numpy, memory': 1})
    """
    counted: Counter[str] = Counter()
    for line in script.splitlines():
        found = re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line)
        if found is None:
            continue
        symbol, place = found.groups()
        inside = Path(place).name == library
        counted[plain_name(symbol) if inside else OUTSIDE] += 1
    return counted


def plain_name(symbol: str) -> str:
    """A function's name without its arguments and templates.

    >>> plain_name("excalibr::(anonymous namespace)::merge<true>(std::span<double>, int)")
    'excalibr::merge'
    >>> plain_name("[unknown]") == NAMELESS
    True
    """
    if symbol.startswith("[unknown]"):
        return NAMELESS
    plain = symbol.replace("(anonymous namespace)::", "")
    while (shorter := re.sub(r"<[^<>]*>", "", plain)) != plain:
        plain = shorter
    return re.sub(r"\+0x[0-9a-f]+$", "", plain.partition("(")[0].split(" ")[-1])


def _library() -> Path:
    if shutil.which("perf") is None:
        raise SystemExit(NO_PERF)
    found = find_spec(EXTENSION)
    if found is None or found.origin is None:
        raise SystemExit(NO_EXTENSION.format(extension=EXTENSION))
    return Path(found.origin)


def _perf(*arguments: str) -> str:
    done = subprocess.run(["perf", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"perf could not do it: {done.stderr.strip()}")
    return done.stdout


def _work(n: int, k: int, r: int, seconds: float) -> None:
    """The process that is watched: solve once, say so, then solve until it is over."""
    import excalibr
    from benchmarks.problems import film_like

    made = film_like("", n, k, r, most=3 if r > MANY else 1, users=200).instances

    def solve() -> None:
        for one in made:
            excalibr.calibrate(one.scores, one.categories, one.target, k=one.k, trade_off=one.trade_off)

    solve()
    print("ready", flush=True)
    end = perf_counter() + 2.0 * seconds + 10.0  # longer than it is watched, and no longer if nobody ends it
    while perf_counter() < end:
        solve()


if __name__ == "__main__":
    n, k, r, seconds = sys.argv[1:]
    _work(int(n), int(k), int(r), float(seconds))
