"""What the paper claims, each checked on the results: holds, holds partly, does not hold, with the figures.

Methods are compared at equal KL of the expectation: at shares of what relevance only has, between neighbouring points
of each curve, where both curves reach it. A difference is clear if it exceeds twice its standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from excalibr._experiments.arms import ARMS
from excalibr._experiments.comparison import Margins, margins, rise
from excalibr._experiments.curves import KL, Curves, MethodCurve
from excalibr._experiments.plan import PAPER_SETTING, Setting
from excalibr._experiments.run import ExperimentResults

__all__ = ["Claim", "check_claims"]


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, how it is judged here, the verdict, and the figures behind it."""

    said: str
    judged: str
    verdict: str
    figures: str


def check_claims(results: ExperimentResults) -> list[Claim]:
    """Every claim that the experiment has the results for."""
    return [claim for check in _CHECKS for claim in check(results)]


def _verdict(share: float, all_of: float = 1.0, some_of: float = 0.5) -> str:
    return "holds" if share >= all_of else "partly" if share >= some_of else "does not hold"


def _sided(total: int, above: int, below: int) -> str:
    return "holds" if not below and above > 0.5 * total else "partly" if above > below else "does not hold"


def _above_all(results: ExperimentResults) -> Iterator[Claim]:
    by_arm = {arm: _compared(results.curves, arm) for arm in ("greedy", "greedy-simple", "mip-greedy")}
    every = [found for by_attribute in by_arm.values() for found in by_attribute.values()]
    total, above, below = (sum(map(count, every)) for count in (len, _above, _below))
    if total:
        yield Claim(
            "ExCalibR is above every baseline for any non-trivial trade-off.",
            "NDCG at equal KL, every attribute, weighting and setting with many slots: clearly above in most of the "
            "comparisons, clearly below in none; partly: above more often than below.",
            _sided(total, above, below),
            f"Of {total} comparisons clearly above in {above}, clearly below in {below}. Mean difference: "
            + "; ".join(f"from {ARMS[arm].label} {_means(found)}" for arm, found in by_arm.items() if found)
            + ".",
        )


def _keeps_ndcg(results: ExperimentResults) -> Iterator[Claim]:
    found = {}
    for attribute in ("genre", "decade"):
        curve = results.curves.get(attribute, "log", PAPER_SETTING, "excalibr")
        if curve is not None:
            found[attribute] = curve.least(KL, 0.97)
    if found:
        yield Claim(
            "Genre and year keep nearly the full NDCG at a much lower KL.",
            "With 97 % of relevance only's NDCG the KL is at most half of relevance only's (150/100, log weights).",
            _verdict(float(np.mean([left <= 0.5 for left in found.values()]))),
            "KL left with 97 % of the NDCG: " + ", ".join(f"{name} {left:.0%}" for name, left in found.items()) + ".",
        )


def _popularity_rises(results: ExperimentResults) -> Iterator[Claim]:
    curve = results.curves.get("popularity", "log", PAPER_SETTING, "excalibr")
    if curve is not None:
        start, best = curve.start["ndcg"], int(np.argmax(curve.means["ndcg"]))
        more, error = rise(curve, best)
        yield Claim(
            "For popularity NDCG even rises a little.",
            "Some trade-off has a higher NDCG than relevance only by twice the standard error; partly: higher at all.",
            "holds" if more > 2 * error else "partly" if more > 0 else "does not hold",
            f"NDCG {start:.4f} for relevance only, at best {start + more:.4f} (λ = {curve.trade_offs[best]:g}): a rise "
            f"of {more:.4f} ± {error:.4f}.",
        )


def _others_do_poorly(results: ExperimentResults) -> Iterator[Claim]:
    for arm in ("greedy-simple", "mip-greedy"):
        found = _compared(results.curves, arm)
        total, above, below = (sum(map(count, found.values())) for count in (len, _above, _below))
        if total:
            yield Claim(
                f"{ARMS[arm].label[0].upper()}{ARMS[arm].label[1:]} does poorly.",
                "NDCG at equal KL clearly below ExCalibR's in most comparisons, clearly above in none; partly: below "
                "more often than above.",
                _sided(total, above, below),
                f"Of {total} comparisons clearly below in {above}, clearly above in {below}. Mean of ExCalibR's less "
                f"its: {_means(found)}.",
            )


def _mrr_alike(results: ExperimentResults) -> Iterator[Claim]:
    same, other = 0, 0
    for attribute in results.curves.attributes:
        for first, second in combinations(("excalibr", "greedy", "greedy-simple"), 2):
            pair = _pair(results.curves, attribute, "log", PAPER_SETTING, first, second)
            if pair is not None:
                agree = margins(*pair, "ndcg").clear * margins(*pair, "mrr").clear
                same, other = same + int((agree > 0).sum()), other + int((agree < 0).sum())
    if same + other:
        yield Claim(
            "MRR behaves as NDCG does.",
            "Where two methods clearly differ in both at equal KL (150/100, log weights), they are in the same order; "
            "partly: in most cases.",
            _verdict(same / (same + other)),
            f"The same order in {same} of {same + other} comparisons that are clear in both.",
        )


def _less_to_gain(results: ExperimentResults) -> Iterator[Claim]:
    found = {}
    for attribute in results.curves.attributes:
        wide = results.curves.get(attribute, "log", PAPER_SETTING, "excalibr")
        equal = results.curves.get(attribute, "log", Setting(100, 100), "excalibr")
        if wide is not None and equal is not None:
            found[attribute] = (equal.least(KL, 0.97), wide.least(KL, 0.97))
    if found:
        yield Claim(
            "With n = k there is less to gain and the curve drops earlier.",
            "With 97 % of relevance only's NDCG more of the KL is left with n = k = 100 than with n = 150.",
            _verdict(float(np.mean([equal > wide for equal, wide in found.values()]))),
            "KL left, n = k against n = 150: "
            + ", ".join(f"{name} {equal:.0%} against {wide:.0%}" for name, (equal, wide) in found.items())
            + ".",
        )


def _wide_alike(results: ExperimentResults) -> Iterator[Claim]:
    found = {}
    for attribute in results.curves.attributes:
        near = results.curves.get(attribute, "log", PAPER_SETTING, "excalibr")
        far = results.curves.get(attribute, "log", Setting(200, 100), "excalibr")
        if near is not None and far is not None:
            found[attribute] = float(np.nanmax(np.abs(margins(near, far).values), initial=0.0))
    if found:
        yield Claim(
            "n = 200 is much like n = 150.",
            "NDCG at equal KL differs by at most 0.01 at every level; partly: for at least half of the attributes.",
            _verdict(float(np.mean([apart <= 0.01 for apart in found.values()]))),
            "Largest difference: " + ", ".join(f"{name} {apart:.4f}" for name, apart in found.items()) + ".",
        )


def _reciprocal_on_par(results: ExperimentResults) -> Iterator[Claim]:
    found = {}
    for attribute in results.curves.attributes:
        steep = _pair(results.curves, attribute, "reciprocal", PAPER_SETTING, "excalibr", "greedy")
        flat = _pair(results.curves, attribute, "log", PAPER_SETTING, "excalibr", "greedy")
        if steep is not None and flat is not None:
            found[attribute] = (_mean(margins(*steep)), _mean(margins(*flat)))
    if found:
        yield Claim(
            "With 1/i weights greedy is nearly on par.",
            "On average over the levels it is at most 0.01 NDCG below ExCalibR; partly: for at least half of the "
            "attributes, or at most half as far below as with log weights.",
            _verdict(
                float(np.mean([steep <= 0.01 for steep, _ in found.values()])),
                some_of=0.0 if all(steep <= 0.5 * flat for steep, flat in found.values()) else 0.5,
            ),
            "Greedy is below by, with 1/i and with log weights: "
            + ", ".join(f"{name} {steep:.4f} and {flat:.4f}" for name, (steep, flat) in found.items())
            + ".",
        )


def _mostly_the_program(results: ExperimentResults) -> Iterator[Claim]:
    times = results.runtimes
    if times is None:
        return
    names = list(results.study.attributes)
    shares = {name: times.mean(name, "reduced", "program") / times.mean(name, "reduced") for name in names}
    growth = {
        name: times.mean(name, "reduced", "program", above=0.5) / times.mean(name, "reduced", "program", below=0.1)
        for name in names
    }
    yield Claim(
        "Most of the time is the linear program's.",
        "More than half of the paper's stack's time, for every attribute.",
        _verdict(float(np.mean([share > 0.5 for share in shares.values()]))),
        "Share of the time: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()) + ".",
    )
    yield Claim(
        "The time of the linear program grows with the weight on calibration.",
        "Longer on average for λ of at least 0.5 than for λ of at most 0.1.",
        _verdict(float(np.mean([ratio > 1.0 for ratio in growth.values()]))),
        "Times as long: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in growth.items()) + ".",
    )
    drops = {name: times.drop(name, "seconds") for name in names}
    yield Claim(
        "The reduced formulation takes about a third less time than the full one (33.6 to 35.0 %).",
        "It is quicker by 20 to 50 %; partly: quicker.",
        "holds"
        if all(0.2 <= drop <= 0.5 for drop in drops.values())
        else _verdict(float(np.mean([drop > 0 for drop in drops.values()])), all_of=2.0),
        "Less time by: " + ", ".join(f"{name} {drop:.0%}" for name, drop in drops.items()) + ".",
    )


def _half_on_top(results: ExperimentResults) -> Iterator[Claim]:
    said = results.study.facts.get("share of positives on the top 5 % of items")
    if said is not None and "popularity" in results.study.attributes:
        share = float(said.rstrip("%")) / 100
        yield Claim(
            "The top 5 % of movies hold about half of the positives.",
            "Between 40 % and 60 %; partly: between 25 % and 75 %.",
            "holds" if 0.4 <= share <= 0.6 else "partly" if 0.25 <= share <= 0.75 else "does not hold",
            f"They hold {said}.",
        )


_CHECKS: tuple[Callable[[ExperimentResults], Iterator[Claim]], ...] = (
    *(_above_all, _keeps_ndcg, _popularity_rises, _others_do_poorly, _mrr_alike, _less_to_gain, _wide_alike),
    *(_reciprocal_on_par, _mostly_the_program, _half_on_top),
)


def _compared(curves: Curves, arm: str) -> dict[str, Margins]:
    """Attribute → ExCalibR's margins over an arm, of all weightings and settings with the paper's many slots."""
    found: dict[str, list[Margins]] = {}
    for attribute, weighting, setting in product(curves.attributes, curves.weightings, curves.settings):
        pair = _pair(curves, attribute, weighting, setting, "excalibr", arm)
        if pair is not None and setting.slots >= PAPER_SETTING.slots:
            found.setdefault(attribute, []).append(margins(*pair))
    return {attribute: _joined(of) for attribute, of in found.items()}


def _joined(found: list[Margins]) -> Margins:
    """All of them, without the levels that are not known."""
    values, errors = (np.concatenate([getattr(each, name) for each in found]) for name in ("values", "errors"))
    return Margins(values[~np.isnan(values)], errors[~np.isnan(values)])


def _mean(found: Margins) -> float:
    known = found.values[~np.isnan(found.values)]
    return float(known.mean()) if len(known) else float("nan")


def _above(found: Margins) -> int:
    return found.above


def _below(found: Margins) -> int:
    return found.below


def _means(found: dict[str, Margins]) -> str:
    return ", ".join(f"{name} {each.values.mean():+.4f}" for name, each in found.items() if len(each))


def _pair(
    curves: Curves, attribute: str, weighting: str, setting: Setting, first: str, second: str
) -> tuple[MethodCurve, MethodCurve] | None:
    one, other = (curves.get(attribute, weighting, setting, arm) for arm in (first, second))
    return None if one is None or other is None else (one, other)
