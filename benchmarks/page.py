"""docs/benchmarks.md: every figure and every sentence about one comes from the results of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks import own_sections, sections
from benchmarks.against_page import keep_block
from benchmarks.plots import draw
from benchmarks.results import Results

__all__ = ["page", "write_page"]

SECTIONS: tuple[tuple[str, Callable[[Results], str]], ...] = (
    ("Targets", sections.targets),
    ("Do repeats agree", sections.repeats),
    ("Every peer on the same problems", sections.peers),
    ("Films", sections.films),
    ("Corners", sections.corners),
    ("Several solves for the price of a few", sections.several),
    ("Growth", own_sections.growth),
    ("The kernel alone, and the call around it", own_sections.kernel),
    ("The slowest 1 %", own_sections.slow),
    ("Starting", own_sections.starts),
    ("Many users", own_sections.many),
)

PICTURES = {SECTIONS[0][0]: "ratios", SECTIONS[6][0]: "growth", SECTIONS[7][0]: "spread"}

INTRODUCTION = """\
# Benchmarks

Made by `{command}` from one run of {minutes:.0f} min ({mode} mode, {rounds} rounds, {headline_rounds} of the
targets{renewed}); nothing on this page is typed by hand. A machine's times do not carry over to another;
ratios nearly do.

{machine}
{versions}
"""

MEASURED = """\
## How it was measured

- *Streams*: no problem is repeated within a round. A method solves the problems of a set one after another, 25 at a
  time, each once, as a service or a batch meets them; the next method then solves the same ones. (A problem that is
  solved again and again is learnt by heart by the processor's branch predictor, and takes up to a third less.) The five
  problems before a run are solved without a clock, so that its caches are those of a stream. A call below 20 ms in
  which the system took the core away is made again after the others.
- *Interleaved*: a round goes through all sets and methods, on the same core, so that a machine that slows down slows
  down all. GLOP has a fresh process in every round. A round of the targets against the paper's stack is a process of
  its own, as a repeat is. Linear algebra has one thread.
- *What is timed*: of ours the whole public call (checks, solve, rankings, certificate), and "the kernel alone", the
  part of it that compiled code has. Of the paper's stack building and solving the program, inside its own process, and
  the decomposition; of HiGHS, at its default tolerances, building and solving. Their checks, and the way between
  processes, are not counted.
- *Below the optimum by L1* says how much of the L1 objective, which `calibrate` maximises here, a method leaves. The
  greedy re-rankers and `calibrate` with KL aim at KL, MIP greedy at shares that no position weighs, one ranking at the
  best ranking: by their own aims they are not worse by as much.
- *Ratios* are of mean times. Intervals are of 95 %, by 2,000 bootstrap samples of problems (each trade-off for itself)
  and of rounds. Those of the targets are wider: one more round, another day, should lie inside (Student's t over the
  rounds, joined with the bootstrap over problems; against HiGHS there is one round, and so the bootstrap alone).
  Median, p99 and worst are over problems, each at the median of its rounds.
- *The same problem*: a method that claims an optimum is held to it, problem by problem. Differences are relative to
  max(1, (1 − λ)·(max s − min s)).
- λ is 0.1, 0.3, 0.5, 0.7 and 0.9 in turn, weights are "log" and the tolerance is 1e-9, unless a table says otherwise.

## Making this page again

```
make bench                         # quick: under two minutes
make bench FULL=1 DATA=FOLDER      # everything, films from a MovieLens folder
make bench-repeat                  # the headline again, ten times
make bench-compare OLD=old.json    # what got slower since
make bench-against COMMIT=HASH     # an older commit beside this tree; QUICK=1 for a minute's look
```
"""


def page(results: Results, pictures: list[str]) -> str:
    """The whole page as Markdown."""
    shown = {name.removeprefix("benchmarks-").removesuffix(".png"): name for name in pictures}
    parts = [_introduction(results), f"{sections.summary(results)}\n"]
    for title, write in SECTIONS:
        text = write(results)
        if text:
            picture = shown.get(PICTURES.get(title, ""))
            image = f"\n\n![{title}]({picture})" if picture else ""
            parts.append(f"## {title}\n\n{text}{image}\n")
    return "\n".join([*parts, MEASURED])


def write_page(results: Results, path: Path) -> None:
    """Write the page, and its pictures beside it; what the page says of an older commit stays."""
    earlier = path.read_text(encoding="utf-8") if path.exists() else ""
    text = page(results, draw(results, path.parent))
    path.write_text(keep_block(text, earlier), encoding="utf-8")


def _introduction(results: Results) -> str:
    command = "make bench FULL=1" if results.mode == "full" else "make bench"
    machine = results.machine
    return INTRODUCTION.format(
        command=command,
        minutes=results.minutes,
        mode=results.mode,
        rounds=results.rounds,
        renewed=" against the paper's stack, measured anew after it" if results.renewed else "",
        headline_rounds=max((len(each.seconds["excalibr"][0]) for each in results.of_kind("target")), default=0),
        machine=f"{machine['processor']}, {machine['cores']} cores, {machine['memory']}, {machine['system']}.",
        versions=", ".join(f"{name} {version}" for name, version in results.versions.items()) + ".",
    )
