"""What the paper claims, each checked: holds, does not hold, or not clear and with how many users it would be.

Every claim is a number that must be above 0, estimated on paired users with its standard error; where it is made of
several, the weakest decides. Methods are compared at equal KL of the expectation: at shares of what relevance only has,
between neighbouring points of each curve, where both curves reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from math import isnan

import numpy as np

from excalibr._experiments.arms import ARMS
from excalibr._experiments.curves import DRAW_KL, KL, Curves, Estimate, Margins, best_rise, difference, kept
from excalibr._experiments.plan import PAPER_SETTING, SLATE_SETTING, Setting
from excalibr._experiments.run import ExperimentResults


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed, by what it is judged here, the verdict, the figures behind it, and whether the paper says it."""

    statement: str
    criterion: str
    verdict: str
    figures: str
    of_paper: bool = True


def check_claims(results: ExperimentResults) -> list[Claim]:
    """Every claim that the experiment has the results for."""
    return [claim for check in _CHECKS for claim in check(results)]


def _above_all(results: ExperimentResults) -> Iterator[Claim]:
    found = {
        f"{ARMS[arm].label}, {attribute}": each
        for arm in ("greedy", "greedy-simple", "mip-greedy")
        for attribute, each in _above(results.curves, arm).items()
    }
    return _judged(
        "ExCalibR is above every baseline for any non-trivial trade-off.",
        "NDCG at equal KL, mean over the levels, weightings and settings with many slots, is above the paper's "
        "baselines for every attribute.",
        found,
        f"ExCalibR less: {_listed(found)}.",
    )


def _fair_opponent(results: ExperimentResults) -> Iterator[Claim]:
    for arm, setting, across, words in (
        ("excalibr", PAPER_SETTING, KL, "equal KL"),
        ("excalibr-kl", PAPER_SETTING, KL, "equal KL"),
        ("single-kl", SLATE_SETTING, DRAW_KL, "equal KL of the list"),
    ):
        weighting = results.curves.weighting
        found = _means(results.curves, weighting, (setting, arm), (setting, "greedy-projected"), across)
        yield from _judged(
            f"{ARMS[arm].label} is above the projected greedy, {setting}.",
            f"NDCG at {words}, {weighting} weights, mean over the levels, for every attribute.",
            found,
            f"Differences: {_listed(found)}.",
            of_paper=False,
        )


def _keeps_ndcg(results: ExperimentResults) -> Iterator[Claim]:
    curves = [results.curves.get(attribute, "log", PAPER_SETTING, "excalibr") for attribute in ("genre", "decade")]
    found = {curve.attribute: kept(curve).at(0.5) for curve in curves if curve is not None}
    return _judged(
        "Genre and year keep nearly the full NDCG at a much lower KL.",
        "At half of relevance only's KL at least 97 % of its NDCG is left (150/100, log weights).",
        {name: replace(each, value=each.value - 0.97) for name, each in found.items()},
        f"NDCG left: {_values({name: each.value for name, each in found.items()}, '.1%')}.",
    )


def _popularity_rises(results: ExperimentResults) -> Iterator[Claim]:
    curve = results.curves.get("popularity", "log", PAPER_SETTING, "excalibr")
    if curve is not None:
        more, best = best_rise(curve), curve.trade_offs[int(np.argmax(curve.means["ndcg"]))]
        yield Claim(
            "For popularity NDCG even rises a little.",
            "The best trade-off, chosen for each half of the users on the other half, has a higher NDCG than relevance "
            "only.",
            more.verdict,
            f"NDCG {curve.start['ndcg']:.4f} for relevance only, at best {more} (of all users at λ = {best:g}).",
        )


def _others_do_poorly(results: ExperimentResults) -> Iterator[Claim]:
    for arm in ("greedy-simple", "mip-greedy"):
        found, label = _above(results.curves, arm), ARMS[arm].label
        users = min((each.users for each in found.values()), default=0)
        yield from _judged(
            f"{label[0].upper()}{label[1:]} does poorly.",
            "NDCG at equal KL is below ExCalibR's for every attribute, on average over the levels.",
            found,
            f"ExCalibR's less its: {_listed(found)}; users: {users} or more.",
        )


def _mrr_alike(results: ExperimentResults) -> Iterator[Claim]:
    same, other = 0, 0
    for arms in combinations(("excalibr", "greedy", "greedy-simple"), 2):
        places = [(PAPER_SETTING, arm) for arm in arms]
        ndcg, mrr = (results.curves.margins(*places, weighting="log", metric=metric) for metric in ("ndcg", "mrr"))
        agree = np.array([ndcg[attribute].clear * mrr[attribute].clear for attribute in ndcg])
        same, other = same + int((agree > 0).sum()), other + int((agree < 0).sum())
    if same + other:
        yield Claim(
            "MRR behaves as NDCG does.",
            "Where two methods clearly differ in both at equal KL (150/100, log weights), they are in the same order.",
            "holds" if not other else "does not hold" if other > same else "not clear: the order differs in some",
            f"The same order in {same} of {same + other} comparisons that are clear in both.",
        )


def _less_to_gain(results: ExperimentResults) -> Iterator[Claim]:
    pairs = results.curves.pairs("log", (PAPER_SETTING, "excalibr"), (Setting(100, 100), "excalibr"))
    found = {wide.attribute: difference(kept(wide), kept(equal)).mean for wide, equal in pairs}
    return _judged(
        "With n = k there is less to gain and the curve drops earlier.",
        "At equal shares of relevance only's KL more of its NDCG is left with n = 150 than with n = k = 100, on "
        "average over the levels that both reach.",
        found,
        f"Share of the NDCG left, n = 150 less n = k: {_listed(found)}.",
    )


def _wide_alike(results: ExperimentResults) -> Iterator[Claim]:
    means = _means(results.curves, "log", (PAPER_SETTING, "excalibr"), (Setting(200, 100), "excalibr"))
    found = {name: replace(mean, value=0.01 - abs(mean.value)) for name, mean in means.items()}
    return _judged(
        "n = 200 is much like n = 150.",
        "NDCG at equal KL differs by less than 0.01, on average over the levels.",
        found,
        f"Difference: {_values({name: 0.01 - each.value for name, each in found.items()}, '.4f')}.",
    )


def _reciprocal_on_par(results: ExperimentResults) -> Iterator[Claim]:
    found = _means(results.curves, "reciprocal", (PAPER_SETTING, "excalibr"), (PAPER_SETTING, "greedy"))
    return _judged(
        "With 1/i weights greedy is nearly on par.",
        "On average over the levels it is less than 0.01 NDCG below ExCalibR.",
        {name: replace(each, value=0.01 - each.value) for name, each in found.items()},
        f"ExCalibR less greedy: {_listed(found)}.",
    )


def _mostly_the_program(results: ExperimentResults) -> Iterator[Claim]:
    times = results.runtimes
    if times is None:
        return
    names, program = list(results.study.attributes), partial(times.mean, method="reduced", what="program")
    shares = {name: program(name) / times.mean(name, "reduced") for name in names}
    yield Claim(
        "Most of the time is the linear program's.",
        "More than half of the paper's stack's time, for every attribute.",
        _verdict_within(shares, above=0.5),
        f"Share of the time: {_values(shares, '.0%')}.",
    )
    growth = {name: program(name, above=0.5) / program(name, below=0.1) for name in names}
    yield Claim(
        "The time of the linear program grows with the weight on calibration.",
        "Longer on average for λ of at least 0.5 than for λ of at most 0.1.",
        _verdict_within(growth, above=1.0),
        f"Times as long: {_values(growth, '.2f')}.",
    )
    drops = {name: times.drop(name, "seconds") for name in names}
    yield Claim(
        "The reduced formulation takes about a third less time than the full one (33.6 to 35.0 %).",
        "It is quicker by 20 to 50 %.",
        _verdict_within(drops, above=0.2, below=0.5),
        f"Less time by: {_values(drops, '.0%')}.",
    )


def _half_on_top(results: ExperimentResults) -> Iterator[Claim]:
    said = results.study.facts.get("share of positives on the top 5 % of items")
    if said is not None and "popularity" in results.study.attributes:
        share = float(said.rstrip("%")) / 100
        yield Claim(
            "The top 5 % of movies hold about half of the positives.",
            "Between 40 % and 60 %.",
            _verdict_within({"": share}, above=0.4, below=0.6),
            f"They hold {said}.",
        )


_CHECKS: tuple[Callable[[ExperimentResults], Iterator[Claim]], ...] = (
    *(_above_all, _keeps_ndcg, _popularity_rises, _others_do_poorly, _mrr_alike, _less_to_gain, _wide_alike),
    *(_reciprocal_on_par, _mostly_the_program, _half_on_top, _fair_opponent),
)


def _means(
    curves: Curves, weighting: str, first: tuple[Setting, str], second: tuple[Setting, str], across: str = KL
) -> dict[str, Estimate]:
    """Attribute → how far one arm in its setting is above another, on average over the levels."""
    found = curves.margins(first, second, weighting=weighting, across=across)
    return {attribute: each.mean for attribute, each in found.items()}


def _above(curves: Curves, arm: str) -> dict[str, Estimate]:
    """Attribute → how far ExCalibR is above an arm, over all weightings and settings with the paper's many slots."""
    found: dict[str, list[Margins]] = {}
    many = [setting for setting in curves.settings if setting.slots >= PAPER_SETTING.slots]
    for weighting, setting in product(curves.weightings, many):
        for attribute, each in curves.margins((setting, "excalibr"), (setting, arm), weighting=weighting).items():
            found.setdefault(attribute, []).append(each)
    return {attribute: _all_levels(of).mean for attribute, of in found.items()}


def _all_levels(found: list[Margins]) -> Margins:
    values, resampled = (
        np.concatenate([getattr(each, name) for each in found], axis=-1) for name in ("values", "resampled")
    )
    return Margins(values, resampled, min(each.users for each in found))


def _judged(
    statement: str, criterion: str, found: Mapping[str, Estimate], figures: str, *, of_paper: bool = True
) -> Iterator[Claim]:
    """A claim that every estimate must speak for: the one that is above 0 by the fewest standard errors decides."""
    if found:
        weakest = min(found.values(), key=lambda each: np.nan_to_num(each.value / (each.error or 1e-12), nan=0.0))
        yield Claim(statement, criterion, weakest.verdict, figures, of_paper)


def _listed(found: Mapping[str, Estimate]) -> str:
    return "; ".join(f"{name} {each}" for name, each in found.items())


def _values(found: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{name} {'–' if isnan(value) else format(value, form)}" for name, value in found.items())


def _verdict_within(found: Mapping[str, float], above: float, below: float = np.inf) -> str:
    """Whether all numbers are within bounds; without an error of theirs to go by."""
    if any(isnan(value) for value in found.values()):
        return "not clear: not measured"
    within = [above <= value <= below for value in found.values()]
    return "holds" if all(within) else "not clear: attributes differ" if any(within) else "does not hold"
