"""Whether every problem of a grid is certified: ``python -m benchmarks grid``, and what each cell takes.

The gap is recomputed in extended precision from a policy's rankings and prices, by nothing of the library's own code. A
problem is drawn from its name alone, as in ``--only "500/100/120 falling, two an item, l1, 0.5 #0"``.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from time import thread_time
from typing import Any, TypeVar

import numpy as np

import excalibr
from benchmarks.many_categories import TARGETS, instance
from benchmarks.problems import Instance
from excalibr._types import Floats, Integers

__all__ = ["PROBLEMS", "Measured", "Named", "add_arguments", "certified_gap", "grid", "main", "run"]

SIZES = ((150, 10), (150, 100), (500, 20), (500, 100), (1000, 50))
CATEGORIES, THOUSAND, FEW = (50, 80, 120, 200, 300), 1000, 120
PER_ITEM = {"one": 1, "two": 2, "thirty": 30}
DIVERGENCES = ("l1", "kl")
TRADE_OFFS = (0.1, 0.5, 0.9)
PROBLEMS = 3
SEED = 30
"""n and k; r, the r of thin targets alone, and the most with ``max_per_category``; categories an item; and so on."""

MEAN, LONGEST = {"falling": 0.5}, {"falling": 2.0}
USUAL_MEAN, USUAL_LONGEST = 0.15, 0.6
"""Seconds that the mean of a cell and a single problem may take, by target and otherwise."""

RELATIVE, ROUNDING = 1e-9, 1e-13
ALPHA = 0.01
LONG = np.longdouble

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Named:
    """A problem of the grid; ``limited`` ones have ``max_per_category``, half as much again as fills the slots."""

    n: int
    k: int
    r: int
    target: str
    per_item: str
    divergence: str
    trade_off: float
    number: int
    limited: bool = False

    @property
    def cell(self) -> str:
        """What the problems of a row of the report have in common: all but the trade-off and the number."""
        limited = " limited" if self.limited else ""
        return f"{self.n}/{self.k}/{self.r} {self.target}, {self.per_item} an item{limited}, {self.divergence}"

    @property
    def name(self) -> str:
        """From which the problem is drawn."""
        return f"{self.cell}, {self.trade_off:g} #{self.number}"

    def instance(self) -> Instance:
        """The problem's arrays."""
        random = np.random.default_rng((SEED, *self.name.encode()))
        return instance(random, self.n, self.k, self.r, PER_ITEM[self.per_item], self.target, self.trade_off)

    def most(self, rows: Floats) -> int | None:
        """How many of each category a ranking may have."""
        if not self.limited:
            return None
        counts = rows.sum(axis=0)
        return next(1 + most * 3 // 2 for most in range(self.k + 1) if np.minimum(counts, most).sum() >= self.k)


@dataclass(frozen=True)
class Measured:
    """What came of a problem: processor seconds, and the gap that its rankings and prices prove.

    ``unit`` is (1 − λ)·(max s − min s), ``allowed`` what a certified gap may be; an error leaves a gap of nan.
    """

    problem: Named
    seconds: float
    gap: float
    unit: float
    allowed: float
    objective: float = np.nan
    rankings: int = 0
    engine: str = ""
    status: str = ""
    sorts: int = 0
    steps: int = 0
    error: str = ""

    @property
    def is_certified(self) -> bool:
        """False where the gap is not a number."""
        return self.gap <= self.allowed


def grid(numbers: int = PROBLEMS) -> Iterator[Named]:
    """Every problem, those with limits last."""
    for limited in (False, True):
        for n, k in SIZES:
            for r in (*CATEGORIES, THOUSAND):
                for target in TARGETS if r != THOUSAND else ("thin",):
                    for per_item in PER_ITEM if not limited else ("one",):
                        if not limited or r <= FEW:
                            yield from _of_cell(n, k, r, target, per_item, limited, numbers)


def _of_cell(n: int, k: int, r: int, target: str, per_item: str, limited: bool, numbers: int) -> Iterator[Named]:
    for divergence in DIVERGENCES:
        for trade_off in TRADE_OFFS:
            for number in range(numbers):
                yield Named(n, k, r, target, per_item, divergence, trade_off, number, limited)


def measure(named: Named) -> Measured:
    """Solve a problem and check the answer."""
    given = named.instance()
    options: dict[str, Any] = {"k": given.k, "trade_off": given.trade_off, "divergence": named.divergence}
    most = named.most(given.categories)
    options |= {} if most is None else {"max_per_category": most}
    unit = (1 - given.trade_off) * float(np.ptp(given.scores))
    started = thread_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            policy = excalibr.calibrate(given.scores, given.categories, given.target, **options)
    except Exception as error:
        return Measured(named, thread_time() - started, np.nan, unit, 0.0, error=repr(error))
    seconds = thread_time() - started
    fault = _fault(policy, given, most)
    gap = np.nan if fault else certified_gap(given, named.divergence, most, policy)
    allowed = RELATIVE * unit + ROUNDING * float(np.abs(policy.prices).max())
    info: Any = policy.info
    found = policy.objective, len(policy.weights)
    return Measured(named, seconds, gap, unit, allowed, *found, info.engine, info.status, info.sorts, info.steps, fault)


def _fault(policy: Any, given: Instance, most: int | None) -> str:
    """What is wrong with the lottery itself, or nothing."""
    rankings, weights = np.asarray(policy.rankings), np.asarray(policy.weights)
    ordered = np.sort(rankings, axis=1)
    if not (
        (ordered[:, 1:] > ordered[:, :-1]).all()
        and ordered[:, 0].min() >= 0
        and ordered[:, -1].max() < len(given.scores)
    ):
        return "a ranking is none"
    if not ((weights > 0).all() and abs(weights.sum() - 1) < 1e-12):
        return "the weights are none of a lottery"
    if most is not None and given.categories[rankings].sum(axis=1).max() > most:
        return "max_per_category is not kept"
    return ""


def certified_gap(given: Instance, divergence: str, most: int | None, policy: Any) -> float:
    """A bound that the prices prove, less what the rankings reach, in extended precision."""
    scores, rows, target, slots = (
        np.asarray(each, LONG) for each in (given.scores, given.categories, given.target, _slots(given.k))
    )
    rows, target = rows / rows.sum(axis=1, keepdims=True), target / target.sum()
    trade_off, weights = LONG(given.trade_off), np.asarray(policy.weights, LONG)
    exposure = np.zeros(len(scores), LONG)
    np.add.at(exposure, np.asarray(policy.rankings), weights[:, None] / weights.sum() * slots)
    gains = (1 - trade_off) * scores
    reached = gains @ exposure - trade_off * _cost(divergence, exposure @ rows, target)
    prices = np.asarray(policy.prices, LONG)
    prices = prices.clip(-trade_off, trade_off) if divergence == "l1" else prices
    adjusted = gains - rows @ prices
    order = _best_order(adjusted, given.categories, given.k, most)
    dearest = target @ prices if divergence == "l1" else _conjugate(prices, target, trade_off)
    return float(dearest + adjusted[order] @ slots - reached)


def _slots(k: int) -> Floats:
    """The weights of slots, those that problems have."""
    weights = 1 / np.log(np.arange(2, k + 2, dtype=LONG))
    return np.asarray(weights / weights.sum())


def _cost(divergence: str, shares: Floats, target: Floats) -> Any:
    if divergence == "l1":
        return np.abs(shares - target).sum()
    wanted = target > 0
    smoothed = (1 - LONG(ALPHA)) * shares + LONG(ALPHA) * target
    return (target[wanted] * np.log(target[wanted] / smoothed[wanted])).sum()


def _conjugate(prices: Any, target: Any, trade_off: Any) -> Any:
    r"""Σ_j max { y_j·p − λ·q_j·log(q_j / p̃) : 0 ≤ p ≤ 1 }; what is maximised is concave, and p̃ linear in p."""
    alpha = LONG(ALPHA)
    smoothed = np.divide(-trade_off * (1 - alpha) * target, prices, out=np.full_like(prices, np.inf), where=prices < 0)
    shares = ((smoothed - alpha * target) / (1 - alpha)).clip(0, 1)
    wanted = target > 0
    smoothed = (1 - alpha) * shares + alpha * target
    costs = trade_off * target[wanted] * np.log(target[wanted] / smoothed[wanted])
    return (prices * shares).sum() - costs.sum()


def _best_order(values: Floats, rows: Floats, k: int, most: int | None) -> Integers:
    """The ranking of the largest value; with a limit, one pass that leaves out who is too many is exact."""
    order = np.argsort(-values, kind="stable")
    if most is not None:
        groups = rows.argmax(axis=1)[order]
        earlier = np.zeros(len(order), np.int64)
        for group in np.unique(groups):
            members = np.flatnonzero(groups == group)
            earlier[members] = np.arange(len(members))
        order = order[earlier < most]
    return order[:k]


def run(problems: Sequence[Named], workers: int = 1) -> Iterator[Measured]:
    """Measure problem by problem, after a few that load what must be loaded."""
    for named in list(grid(1))[:3]:
        measure(named)
    if workers == 1:
        yield from map(measure, problems)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(measure, problems)


def report(found: Sequence[Measured], hardest: int) -> str:
    """A row for each cell, what is beyond the limits, and the hardest problems by name."""
    rows = [_HEAD]
    for cell, own in _grouped(found, lambda each: each.problem.cell).items():
        rows.append(_row(cell, own))
    lines = [*rows, "", _row("all", found), ""]
    strict = _grouped(found, lambda each: f"{each.problem.cell}, {each.problem.trade_off:g}")
    slow_cells = [cell for cell, own in strict.items() if _mean(own) > MEAN.get(own[0].problem.target, USUAL_MEAN)]
    slow = [each for each in found if each.seconds > LONGEST.get(each.problem.target, USUAL_LONGEST)]
    failed = [each for each in found if not each.is_certified]
    lines.append(f"not certified: {len(failed)} of {len(found)}")
    lines.append(f"cells (of one trade-off) with too large a mean: {len(slow_cells)} of {len(strict)}")
    lines.append(f"problems that take too long: {len(slow)}")
    for title, chosen in (
        ("not certified, worst first", sorted(failed, key=lambda each: -each.gap / each.unit)[:hardest]),
        ("longest", sorted(found, key=lambda each: -each.seconds)[:hardest]),
    ):
        lines += ["", f"{title}:", *map(told, chosen)] if chosen else []
    return "\n".join(lines)


_HEAD = f"{'cell':58} {'problems':>8} {'mean ms':>8} {'max ms':>8} {'failed':>6} {'worst gap':>9}  engines"


def _row(cell: str, own: Sequence[Measured]) -> str:
    engines = Counter(each.engine or "error" for each in own)
    named = ", ".join(name if len(engines) == 1 else f"{name} {count}" for name, count in engines.most_common())
    failed = sum(not each.is_certified for each in own)
    gap, longest = max(each.gap / each.unit for each in own), max(each.seconds for each in own)
    return f"{cell:58} {len(own):8} {1e3 * _mean(own):8.1f} {1e3 * longest:8.1f} {failed:6} {gap:9.1e}  {named}"


def _mean(own: Sequence[Measured]) -> float:
    return float(np.mean([each.seconds for each in own]))


def _grouped(found: Iterable[Measured], key: Any) -> dict[str, list[Measured]]:
    groups: dict[str, list[Measured]] = defaultdict(list)
    for each in found:
        groups[key(each)].append(each)
    return groups


def told(each: Measured) -> str:
    """One problem in a line."""
    how = (
        each.error or f"{each.engine}, {each.status}, {each.sorts} sorts, {each.steps} steps, {each.rankings} rankings"
    )
    gap = f"gap {each.gap / each.unit:.1e}, allowed {each.allowed / each.unit:.1e}"
    return f"  {1e3 * each.seconds:8.1f} ms  {gap}  {each.problem.name}  ({how})"


FILTERS = {
    "n": int, "k": int, "r": int, "target": str, "per_item": str, "divergence": str, "trade_off": float, "number": int
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    for name, kind in FILTERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, nargs="+", help=f"only problems of such {name}")
    parser.add_argument("--limited", choices=("yes", "no"), help="only those with max_per_category, or without")
    parser.add_argument("--only", action="append", metavar="NAME", help="problems by name")
    parser.add_argument("--problems", type=int, default=PROBLEMS, help=f"of each cell and trade-off ({PROBLEMS})")
    parser.add_argument("--every", type=int, default=1, help="one in so many of the problems that are left (1)")
    parser.add_argument("--hardest", type=int, default=12, help="how many are listed by name (12)")
    parser.add_argument("--workers", type=int, default=1, help="processes; seconds are their processors' (1)")
    parser.add_argument("--json", type=Path, help="where all figures go")
    parser.set_defaults(command=main)


def chosen(asked: argparse.Namespace) -> list[Named]:
    """The problems that the options leave."""
    found = list(grid(asked.problems))
    if asked.only:
        by_name = {each.name: each for each in found}
        return [by_name[name] for name in asked.only]
    for name in FILTERS:
        values = getattr(asked, name)
        found = [each for each in found if not values or getattr(each, name) in values]
    found = [each for each in found if asked.limited in (None, "yes" if each.limited else "no")]
    return found[:: asked.every]


def main(asked: argparse.Namespace) -> None:
    """Measure what was asked for and print it; the exit code is 1 where a problem is not certified."""
    problems, found = chosen(asked), []
    for place, each in enumerate(run(problems, asked.workers)):
        found.append(each)
        if not each.is_certified or sys.stderr.isatty():
            print(f"{place + 1:5} of {len(problems)} {told(each)}", file=sys.stderr, flush=True)
    print("\n".join(map(told, found)) if asked.only else report(found, asked.hardest))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(each) for each in found]), encoding="utf-8")
    raise SystemExit(any(not each.is_certified for each in found))
