"""The tables of one list in few slots: what it can do, how far from the best it can be, and what is left to gain."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import isnan

import numpy as np

from excalibr._experiments.arms import ARMS
from excalibr._experiments.comparison import Margins, margins
from excalibr._experiments.curves import DRAW_KL, DRAW_L1, KL, L1, MethodCurve
from excalibr._experiments.plan import SLATE_SETTING
from excalibr._experiments.run import ExperimentResults
from excalibr._experiments.table import Table

__all__ = ["MEASURED", "list_bound_table", "lists_table", "marked"]

MEASURED = {KL: "KL of the expectation", L1: "L1 of the expectation", DRAW_KL: "KL of a draw", DRAW_L1: "L1 of a draw"}
"""Deviations in words."""

_LISTS = (
    (DRAW_L1, ("greedy", "greedy-projected", "excalibr", "single")),
    (DRAW_KL, ("greedy", "greedy-projected", "excalibr", "single-kl")),
)


def lists_table(results: ExperimentResults) -> Table:
    """What one list of few slots can do: its least deviation with so much of the NDCG, and how far from the best."""
    shares = (0.99, 0.97, 0.95, 0.9)
    rows = []
    for attribute, (measure, arms) in product(results.curves.attributes, _LISTS):
        for arm in arms:
            curve = results.curves.get(attribute, "log", SLATE_SETTING, arm)
            if curve is not None:
                least = (f"{curve.least(measure, share) * curve.start[measure]:.4f}" for share in shares)
                gap = float(curve.means["gap"].mean())
                numbers = (f"{curve.start[measure]:.4f}", *least, "–" if isnan(gap) else f"{gap:.1e}")
                rows.append((attribute, MEASURED[measure], ARMS[arm].label, *numbers))
    head = ("attribute", "measured", "method", "relevance only", *(f"{share:.0%} of the NDCG" for share in shares))
    note = (
        f"n/k = {SLATE_SETTING}, log weights: the least mean deviation of a list (for the lottery, of a draw) with at "
        "least so much of relevance only's NDCG, between neighbouring trade-offs. The gap is how far from the best "
        "possible objective (of a list: of any single list) the policies can be at most, as proven, on average over "
        "users and trade-offs."
    )
    return Table("lists", "One list: the least deviation at equal NDCG", (*head, "proven gap"), rows, note)


def list_bound_table(results: ExperimentResults) -> Table:
    """How much better than the found lists any list could be, beside how much better than a greedy's they are."""
    rows = []
    for pair in results.curves.pairs("log", (SLATE_SETTING, "single-kl"), (SLATE_SETTING, "greedy-projected")):
        curve, found = pair[0], margins(*pair, across=DRAW_KL)
        relevance = _relevance(results, curve.attribute)
        reached = [share for share in (0.5, 0.25, 0.15, 0.1) if not isnan(found.at(share).value)]
        for share in reached:
            place = int(np.argmin(np.abs(curve.means[DRAW_KL] - share * curve.start[DRAW_KL])))
            trade_off, gap = float(curve.trade_offs[place]), float(curve.means["gap"][place])
            score = gap / (1.0 - trade_off)
            numbers = (f"{trade_off:g}", f"{gap:.1e}", f"{score:.1e}", f"{score / relevance:.2%}")
            rows.append((curve.attribute, f"{share:.0%}", marked(found, pair, share, DRAW_KL), *numbers))
    head = (
        "attribute",
        "KL of the list",
        "NDCG less greedy, projected",
        "at λ",
        "proven gap",
        "in score",
        "of relevance",
    )
    note = (
        f"One ranking, KL, n/k = {SLATE_SETTING}, log weights. The gap is proven: no lists whatsoever have, on average "
        "over users, an objective (1 − λ)·relevance − λ·KL that is higher by more than this, at the trade-off whose KL "
        "is nearest to the level. In score, gap ÷ (1 − λ), is therefore the most that lists with the same KL could "
        "gain in mean relevance, the model's score, which is all that a re-ranker has to go by; of relevance is that "
        "over what relevance only has."
    )
    return Table("list-bound", "One list: what is left to gain", head, rows, note)


def _relevance(results: ExperimentResults, attribute: str) -> float:
    """The mean score that relevance only's list has."""
    weights = results.study.question(0, attribute, SLATE_SETTING).problem("log").position_weights
    return float((results.study.scores[:, : SLATE_SETTING.slots] @ np.sort(weights)[::-1]).mean())


def marked(found: Margins, pair: Iterable[MethodCurve], share: float, across: str) -> str:
    """A difference at a share, marked where it lies in a wide gap of one of the curves."""
    estimate = found.at(share)
    wide = any(curve.is_wide(share, across) for curve in pair)
    return f"≈ {estimate}" if wide and not isnan(estimate.value) else str(estimate)
