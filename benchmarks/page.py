"""docs/benchmarks.md: every figure and every sentence about one comes from the results of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks import own_sections, sections
from benchmarks.plots import draw
from benchmarks.results import Results

__all__ = ["page", "write_page"]

SECTIONS: tuple[tuple[str, Callable[[Results], str]], ...] = (
    ("What was asked, and what was reached", sections.asked),
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

Made by `{command}` from one run of {minutes:.0f} min ({mode} mode, {rounds} rounds, {headline_rounds} of what was
asked{renewed}); nothing on this page is typed by hand. A machine's times do not carry over to another;
ratios nearly do.

{machine}
{versions}
"""

MEASURED = """\
## How it was measured

- *Interleaved*: a round goes through all sets, problems and methods, a peer and ours right after one another and on the
  same core, so that a machine that slows down slows down both. GLOP has a fresh process in every round. A round of what
  was asked against the paper's stack is a process of its own, as a repeat is. A call below 20 ms is repeated
  for 15 ms in its turn, 5 to 50 times, and the median counts, without the first; a longer one is made once. Linear
  algebra has one thread.
- *What is timed*: of ours the whole public call (checks, solve, rankings, certificate), and "the kernel alone" without
  checks and policy. Of the paper's stack building and solving the program, inside its own process, and the
  decomposition; of HiGHS, at its default tolerances, building and solving. Their checks, and the way between
  processes, are not counted.
- *Ratios* are of mean times. Intervals are of 95 %, by 2,000 bootstrap samples of problems (each trade-off for itself)
  and of rounds. Those of what was asked are wider: one more round, another day, should lie inside (Student's t over the
  rounds, joined with the bootstrap over problems; against HiGHS there is one round, and so the bootstrap alone).
  Median, p99 and worst are over problems, each at the median of its rounds.
- *The same problem*: a method that claims an optimum is held to it, problem by problem. Differences are relative to
  max(1, (1 − λ)·(max s − min s)).
- λ is 0.1, 0.5 and 0.9 in equal parts, weights are "log" and the tolerance is 1e-9, unless a table says otherwise.

## Making this page again

```
make bench                         # quick: under two minutes
make bench FULL=1 DATA=FOLDER      # everything, films from a MovieLens folder
make bench-repeat                  # the headline again, ten times
make bench-compare OLD=old.json    # what got slower since
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
    """Write the page, and its pictures beside it."""
    text = page(results, draw(results, path.parent))
    path.write_text(text, encoding="utf-8")


def _introduction(results: Results) -> str:
    command = "make bench FULL=1" if results.mode == "full" else "make bench"
    machine = results.machine
    return INTRODUCTION.format(
        command=command,
        minutes=results.minutes,
        mode=results.mode,
        rounds=results.rounds,
        renewed=" against the paper's stack, measured anew after it" if results.renewed else "",
        headline_rounds=max((len(each.seconds["excalibr"][0]) for each in results.of_kind("asked")), default=0),
        machine=f"{machine['processor']}, {machine['cores']} cores, {machine['memory']}, {machine['system']}.",
        versions=", ".join(f"{name} {version}" for name, version in results.versions.items()) + ".",
    )
