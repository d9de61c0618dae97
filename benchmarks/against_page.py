"""The part of docs/benchmarks.md that compares two versions: a block of its own, which other commands leave alone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from benchmarks.comparison import AGAIN, Comparison
from benchmarks.problems import TUNED
from benchmarks.statistics import median_of, ratio_of_means, summarise
from benchmarks.streams import RUN
from benchmarks.tables import estimate, milliseconds, number, table
from benchmarks.targets import targets

__all__ = ["block", "keep_block", "write_block"]

BEGIN, END = "<!-- from `make bench-against` -->", "<!-- to here -->"
_BLOCK = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}\n", re.DOTALL)

INTRODUCTION = """\
## Targets against `{old}`

Made by `make bench-against COMMIT={old}` from one run of {minutes:.0f} min ({mode} mode, {rounds} rounds) on {machine}.
Each version has an environment of its own, and they take turns: a round is a fresh process of each, on the same core,
and they solve the same stream of distinct problems, each problem once, {run} at a time. Ratios and means are over
problems, each at the median of its rounds; λ is {trade_offs} in turn. {seen}
"Call" is the whole of `calibrate`, "kernel" what compiled code had of it."""


def block(found: Comparison) -> str:
    """The whole block as Markdown."""
    trade_offs = sorted({trade_off for each in found.streams for trade_off in each.trade_offs})
    introduction = INTRODUCTION.format(
        old=found.old,
        minutes=found.minutes,
        mode=found.mode,
        rounds=found.rounds,
        machine=f"{found.machine['processor']}, {found.machine['cores']} cores",
        run=RUN,
        trade_offs=", ".join(f"{each:g}" for each in trade_offs),
        seen=_seen(found.seed),
    )
    parts = [introduction, _targets(found), _streams(found), _uses(found), _tables(found), _installed(found)]
    return "\n".join([BEGIN, "", *(f"{part}\n" for part in parts if part), END, ""])


def _seen(seed: int | None) -> str:
    """Whether the kernel knows these problems."""
    if seed is None:
        return ""
    if seed == TUNED:
        return f"The kernel's constants were chosen on these very problems (seed {seed})."
    return f"The problems (seed {seed}) are none of those that the kernel's constants were chosen on (seed {TUNED})."


def write_block(found: Comparison, path: Path) -> None:
    """Put the block into a page, in place of an earlier one, or else before the second section."""
    text = path.read_text(encoding="utf-8") if path.exists() else "# Benchmarks\n"
    path.write_text(keep_block(_without(text), block(found)), encoding="utf-8")


def keep_block(text: str, earlier: str) -> str:
    """A page with the block of another text put in after its section of targets, where that text has one."""
    kept = _BLOCK.search(earlier)
    if kept is None:
        return text
    sections = [place.start() for place in re.finditer(r"^## ", text, re.MULTILINE)]
    at = next((place for place in sections if not text.startswith("## Targets", place)), len(text))
    before = text[:at] if text[:at].endswith("\n\n") else f"{text[:at].rstrip()}\n\n"
    return f"{before}{kept.group()}\n{text[at:]}".rstrip() + "\n"


def _without(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", _BLOCK.sub("", text))


def _targets(found: Comparison) -> str:
    rows = [[each.what, each.old, each.aim, each.reached, each.verdict] for each in targets(found)]
    return table(["", f"`{found.old}`", "to reach", "reached (95 %)", "verdict"], rows)


def _streams(found: Comparison) -> str:
    """Every family: both kernels, and the ratios."""
    rows, again = [], AGAIN.format(found.old)
    itself = any(again in each.kernel for each in found.streams)
    for each in found.streams:
        times = [summarise(each.kernel[side]) for side in (found.old, found.new)]
        cells = [f"{milliseconds(one.median)} / {milliseconds(one.mean)} / {milliseconds(one.p99)}" for one in times]
        ratios = [estimate(each.ratio(what, found.new, found.old)) for what in ("kernel", "call")]
        greedy = estimate(each.against_greedy(found.new, found.old)) if found.old in each.greedy else "–"
        ratios += [estimate(each.ratio("kernel", again, found.old))] if itself else []
        rows.append([each.name, str(len(each.trade_offs)), *cells, *ratios, greedy, f"{each.disagreement():.0e}"])
    head = ["n/k/r", "problems", f"kernel of `{found.old}`, ms: median / mean / p99", "of this tree"]
    head += ["kernel, new / old (95 %)", "call, new / old (95 %)", *(["kernel, old / old (95 %)"] if itself else [])]
    head += ["call / old greedy (95 %)", "objectives differ by"]
    return table(head, rows)


def _uses(found: Comparison) -> str:
    rows = [
        [option, *(f"{number(1e3 * first)} / {number(1e3 * second)}" for first, second in _medians(found, of_sides))]
        for option, of_sides in found.uses.items()
    ]
    head = ["option", f"`{found.old}`, ms: first / second use in a process", "this tree"]
    return table(head, rows) if rows else ""


def _medians(found: Comparison, of_sides: dict[str, list[list[float]]]) -> list[list[float]]:
    return [np.median(of_sides[side], axis=0).tolist() for side in (found.old, found.new)]


def _tables(found: Comparison) -> str:
    """Users a second: tables by option, and threads."""
    rows = []
    for each in found.reranked:
        ratio = ratio_of_means([each.users[found.new]], [each.users[found.old]])
        cells = [
            f"{median_of(each.users[side]).value:,.0f} / {median_of(each.share[side]).value:.0%}"
            for side in (found.old, found.new)
        ]
        rows.append([f"`Reranker`, {each.option}", *cells, estimate(ratio)])
    for threads, of_sides in found.threads.items():
        ratio = ratio_of_means([of_sides[found.new]], [of_sides[found.old]])
        cells = [f"{median_of(of_sides[side]).value:,.0f}" for side in (found.old, found.new)]
        rows.append([f"`calibrate_batch`, threads: {threads}", *cells, estimate(ratio)])
    head = ["150 candidates, 100 slots", f"`{found.old}`, users a second / time in the kernel", "this tree"]
    return table([*head, "users a second, new / old (95 %)"], rows) if rows else ""


def _installed(found: Comparison) -> str:
    if not found.installed:
        return ""
    named = sorted({name for sizes in found.installed.values() for name in sizes})
    rows = [
        [name, *(number(found.installed[side].get(name, 0.0)) for side in (found.old, found.new))] for name in named
    ]
    return table(["installed", f"`{found.old}`, MB", "this tree, MB"], rows)
