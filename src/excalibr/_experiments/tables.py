"""Every table, as Markdown and CSV: the data, NDCG at equal deviation, runtimes, differences, one list, the claims."""

from __future__ import annotations

from itertools import product
from math import isnan
from typing import Any

import numpy as np

from excalibr._experiments.arms import ARMS
from excalibr._experiments.claims import check_claims
from excalibr._experiments.curves import DRAW_KL, DRAW_L1, KL, L1, PLACE, WIDE_GAP, MethodCurve, margins
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._experiments.run import ExperimentResults
from excalibr._experiments.runtimes import Runtimes
from excalibr._experiments.store import Store
from excalibr._experiments.table import Table, number, short
from excalibr._text import markdown_text
from excalibr.positions import position_weights

MEASURED = {KL: "KL of the expectation", L1: "L1 of the expectation", DRAW_KL: "KL of a draw", DRAW_L1: "L1 of a draw"}
"""Deviations in words."""


def tables_of(results: ExperimentResults) -> list[Table]:
    """All tables of an experiment for which it has something."""
    times = results.runtimes
    timed = [] if times is None else [make(results, times) for make in (_seconds, _split, _drops)]
    first = [make(results) for make in (_data, _tuning, _equal_kl, _draws)]
    last = [make(results) for make in (_differences, _aims, _measures, _lists, _list_bound, _claims)]
    return [table for table in (*first, *timed, *last) if table.rows]


def write_tables(results: ExperimentResults, store: Store) -> list[Table]:
    """Write them into the folder ``tables``."""
    tables = tables_of(results)
    for table in tables:
        title, note = markdown_text(table.title), markdown_text(table.note)
        store.write_text(f"tables/{table.name}.md", f"**{title}**\n\n{table.markdown()}\n{note}\n")
        store.write_text(f"tables/{table.name}.csv", table.csv())
    return tables


def _data(results: ExperimentResults) -> Table:
    chosen = {"EASE regularisation, chosen": f"{results.study.regularisation:g}"} if results.study.tuning else {}
    rows = list((results.study.facts | chosen).items())
    return Table("data", f"The data: {results.study.name}", ("", ""), rows)


def _tuning(results: ExperimentResults) -> Table:
    rows = [(f"{value:g}", f"{ndcg:.4f}") for value, ndcg in sorted(results.study.tuning.items())]
    return Table("tuning", "EASE, tuned on the validation users", ("regularisation", "NDCG@100"), rows)


_LEVELS = (0.75, 0.5, 0.25, 0.1)


def _equal_kl(results: ExperimentResults) -> Table:
    rows = []
    for curve in results.curves:
        if curve.arm != "relevance":
            values = (_at_level(curve, level, KL) for level in _LEVELS)
            rows.append((*curve.place, str(curve.users), f"{curve.start['ndcg']:.4f}", *values))
    levels = (f"{share:.0%} of the KL" for share in _LEVELS)
    head = (*PLACE, "users", "relevance only", *levels)
    note = (
        "NDCG where the KL of the expectation is down to a share of what relevance only has, between neighbouring "
        f"trade-offs; – where no trade-off gets there, ≈ where the neighbours are more than {WIDE_GAP:.0%} of the KL "
        "apart. Methods on fewer users are compared in the table of paired differences."
    )
    return Table("equal-kl", "NDCG at equal KL", head, rows, note)


def _at_level(curve: MethodCurve, level: float, across: str) -> str:
    """NDCG at a share of relevance only's deviation, marked where it lies in a wide gap."""
    value, wide = curve.at_share(level, across), curve.is_wide(np.array(level), across)
    return f"≈ {value:.4f}" if wide and not isnan(value) else number(value, 4)


def _draws(results: ExperimentResults) -> Table:
    metrics = [f"{which}_of_{what}" for which in ("kl", "l1") for what in ("expectation", "draw_mean", "draw_worst")]
    rows = [
        (
            *(*curve.place, f"{curve.trade_offs[place]:g}"),
            *(f"{curve.means[metric][place]:.4f}" for metric in metrics),
            f"{curve.means['rankings'][place]:.1f}",
        )
        for curve in results.curves
        for place in dict.fromkeys(curve.nearest(near) for near in (0.1, 0.5, 0.9))
    ]
    words = [f"{which}, {what}" for which in ("KL", "L1") for what in ("expectation", "draw", "worst draw")]
    note = "A draw is on average over the lottery; the worst draw is the worst ranking that the lottery holds."
    head = (*PLACE, "λ", *words, "rankings")
    return Table("draws", "Of the expectation and of a draw", head, rows, note)


# What the paper reports, on its machine and MovieLens 20M, to be read beside what is measured here.
_OF_PAPER: dict[str, dict[str, Any]] = {
    "seconds": {
        "reduced": {"genre": "0.69", "decade": "0.43", "popularity": "0.39"},
        "greedy": {"genre": "0.51", "decade": "0.50", "popularity": "0.47"},
        "mip-greedy": {"genre": "0.37", "decade": "0.27", "popularity": "0.28"},
    },
    "split": {"genre": ("0.648", "0.05"), "decade": ("0.40", "0.025"), "popularity": ("0.39", "0.01")},
    "drop": {
        "seconds": {"genre": "33.6%", "decade": "35.0%", "popularity": "33.6%"},
        "program": {"genre": "32.5%", "decade": "31.6%", "popularity": "32.5%"},
        "decomposition": {"genre": "43.6%", "decade": "58.5%", "popularity": "43.4%"},
    },
}


def _seconds(results: ExperimentResults, times: Runtimes) -> Table:
    names = list(results.study.attributes)
    methods = {
        "reduced": f"ExCalibR, the paper's stack ({times.linear})",
        "greedy": "greedy, compiled",
        "mip-greedy": f"MIP greedy ({times.integer})",
        "excalibr": "ExCalibR, our solver",
    }
    rows = [(label, *(short(times.mean(name, method)) for name in names)) for method, label in methods.items()]
    ratios = (number(times.mean(name, "reduced") / times.mean(name, "excalibr"), 0) for name in names)
    rows.append(("the paper's stack takes … times our solver", *ratios))
    for method, reported in _OF_PAPER["seconds"].items():
        label = ARMS.get(method, ARMS["excalibr"]).label
        rows.append((f"{label}, as the paper reports", *(reported.get(name, "–") for name in names)))
    return Table("runtimes", "Seconds a user", ("method", *names), rows, _timed_note(results, times))


def _split(results: ExperimentResults, times: Runtimes) -> Table:
    parts = ("program", "decomposition", "seconds")
    rows: list[tuple[str, ...]] = []
    for name in results.study.attributes:
        for program in ("reduced", "full"):
            rows.append((name, program, *(short(times.mean(name, program, what)) for what in parts)))
        if name in _OF_PAPER["split"]:
            rows.append((name, "reduced, as the paper reports", *_OF_PAPER["split"][name], "–"))
    head = ("attribute", "formulation", "linear program", "decomposition", "total")
    title = "Seconds a user of the paper's stack: program and decomposition"
    return Table("runtimes-split", title, head, rows, _timed_note(results, times))


def _drops(results: ExperimentResults, times: Runtimes) -> Table:
    names = list(results.study.attributes)
    rows: list[tuple[str, ...]] = []
    for what, label in (("seconds", "total"), ("program", "linear program"), ("decomposition", "decomposition")):
        reported = _OF_PAPER["drop"][what]
        rows.append((label, *(f"{times.drop(name, what):.1%}" for name in names)))
        rows.append((f"{label}, as the paper reports", *(reported.get(name, "–") for name in names)))
    title = "From the full to the reduced formulation: drop in time"
    return Table("runtimes-drop", title, ("", *names), rows, _timed_note(results, times))


def _timed_note(results: ExperimentResults, times: Runtimes) -> str:
    users = len({call.user for call in times.calls})
    return (
        f"Mean over {users} users and {len(results.plan.trade_offs)} trade-offs, n/k = {times.setting}, "
        f"{results.plan.weightings[0]} weights, one process. The largest difference between the objectives of the "
        f"paper's stack and our solver was {times.disagreement():.1e}."
    )


_PAIRS = (
    *((arm, "greedy-projected", KL) for arm in ("greedy-simple", "greedy", "mip-greedy", "excalibr", "excalibr-kl")),
    *((arm, "greedy-projected", DRAW_KL) for arm in ("mip-greedy", "excalibr", "excalibr-kl", "single-kl")),
    *((arm, "greedy-projected", DRAW_L1) for arm in ("mip-greedy", "excalibr", "single")),
    *((arm, "excalibr", KL) for arm in ("greedy", "excalibr-kl")),
)


def _differences(results: ExperimentResults) -> Table:
    """Methods in pairs, on the users that both ran on."""
    rows, weighting = [], results.curves.weighting
    for (first, second, across), setting in product(_PAIRS, results.curves.settings):
        what = f"{ARMS[first].label} less {ARMS[second].label}"
        for attribute, found in results.curves.margins((setting, first), (setting, second), across=across).items():
            estimates = map(str, (found.at(0.5), found.at(0.25), found.mean))
            rows.append((what, MEASURED[across], str(setting), attribute, str(found.users), *estimates))
    head = ("NDCG of", "at equal", "n/k", "attribute", "users", "at 50 %", "at 25 %", "mean over levels")
    note = (
        f"{weighting.capitalize()} weights, paired on the users that both ran on; ± is twice the standard error "
        "(bootstrap over users). – "
        f"where one of the two does not get there, ≈ where neighbouring points of one are more than {WIDE_GAP:.0%} of "
        "relevance only's deviation apart."
    )
    return Table("differences", "Paired differences in NDCG", head, rows, note)


def _aims(results: ExperimentResults) -> Table:
    """Every method by every aim, its own among them."""
    rows, curves, weighting = [], results.curves, results.curves.weighting
    arms = [arm for arm in results.plan.arms if arm != "relevance"]
    for attribute, setting, across in product(curves.attributes, curves.settings, MEASURED if arms else ()):
        found = {arm: curves.get(attribute, weighting, setting, arm) for arm in arms}
        cells = [
            "–" if curve is None else _at_level(curve, 0.25, across) + (" *" if ARMS[arm].aim == across else "")
            for arm, curve in found.items()
        ]
        rows.append((attribute, str(setting), MEASURED[across], *cells))
    head = ("attribute", "n/k", "at 25 % of", *(ARMS[arm].label for arm in arms))
    note = (
        f"NDCG where a deviation is down to a quarter of relevance only's, {weighting} weights; * marks what a method "
        "is made to lower. A list cannot be as near to its target as an expectation is; a draw is not what a lottery "
        "aims at."
    )
    return Table("aims", "Every method by its own aim and by the others'", head, rows, note)


def _measures(results: ExperimentResults) -> Table:
    """Further measures where a method has half of relevance only's KL."""
    visits = tuple(name for name in METRICS if "visit" in name)
    names = results.plan.metrics or ("ndcg", "mrr", "recall", "popularity", *CATALOGUE, *visits)
    rows, weighting = [], results.curves.weighting
    for curve in results.curves:
        if curve.weighting == weighting:
            numbers = (number(curve.at_share(0.5, KL, name), 4) for name in names)
            rows.append((curve.attribute, str(curve.setting), curve.label, str(curve.users), *numbers))
    head = ("attribute", "n/k", "method", "users", *names)
    note = (
        f"At half of relevance only's KL of the expectation, {weighting} weights. Popularity is the share of training "
        "users who like what is seen; coverage is the share of the catalogue that anybody is shown, Gini how unevenly "
        "attention falls on it; both depend on how many users there are. After so many visits is how far the mean of "
        "what they showed is from the target, in L1: a list shows the same on every visit, a lottery does not."
    )
    return Table("measures", "Further measures", head, rows, note)


_LISTS = (
    (DRAW_L1, ("greedy", "greedy-projected", "excalibr", "single")),
    (DRAW_KL, ("greedy", "greedy-projected", "excalibr", "single-kl")),
)


def _lists(results: ExperimentResults) -> Table:
    """What one list of few slots can do: its least deviation with so much of the NDCG, and how far from the best."""
    shares = (0.99, 0.97, 0.95, 0.9)
    rows, weighting, setting = [], results.curves.weighting, results.curves.list_setting
    for attribute, (measure, arms) in product(results.curves.attributes, _LISTS):
        for arm in arms:
            curve = setting and results.curves.get(attribute, weighting, setting, arm)
            if curve:
                least = (f"{curve.least(measure, share):.4f}" for share in shares)
                gap = float(curve.means["gap"].mean())
                numbers = (f"{curve.start[measure]:.4f}", *least, "–" if isnan(gap) else f"{gap:.1e}")
                rows.append((attribute, MEASURED[measure], curve.label, *numbers))
    head = ("attribute", "measured", "method", "relevance only", *(f"{share:.0%} of the NDCG" for share in shares))
    note = (
        f"n/k = {setting}, {weighting} weights: the least mean deviation of a list (for the lottery, of a draw) with "
        "at least so much of relevance only's NDCG, between neighbouring trade-offs. The gap is how far from the best "
        "possible objective (of a list: of any single list) the policies can be at most, as proven, on average over "
        "users and trade-offs."
    )
    return Table("lists", "One list: the least deviation at equal NDCG", (*head, "proven gap"), rows, note)


def _list_bound(results: ExperimentResults) -> Table:
    """How much better than the found lists any list could be, beside how much better than a greedy's they are."""
    rows, weighting, setting = [], results.curves.weighting, results.curves.list_setting
    arms = ("single-kl", "greedy-projected")
    for curve, other in results.curves.pairs(weighting, *((setting, arm) for arm in arms)) if setting else ():
        found, relevance = margins(curve, other, across=DRAW_KL), _relevance(results, curve)
        for share in (0.5, 0.25, 0.15, 0.1):
            difference = found.at(share)
            if isnan(difference.value):
                continue
            place = int(np.argmin(np.abs(curve.means[DRAW_KL] - share * curve.start[DRAW_KL])))
            trade_off, gap = float(curve.trade_offs[place]), float(curve.means["gap"][place])
            score = gap / (1.0 - trade_off)
            numbers = (f"{trade_off:g}", f"{gap:.1e}", f"{score:.1e}")
            part = f"{score / relevance:.2%}" if relevance > 0 else "–"
            rows.append((curve.attribute, f"{share:.0%}", str(difference), *numbers, part))
    words = ("at λ", "proven gap", "in score", "of relevance")
    head = ("attribute", "KL of the list", "NDCG less greedy, projected", *words)
    note = (
        f"One ranking, KL, n/k = {setting}, {weighting} weights. The gap is proven: no lists whatsoever have, on "
        "average over users, an objective (1 − λ)·relevance − λ·KL that is higher by more than this, at the trade-off "
        "whose KL is nearest to the level. In score, gap ÷ (1 − λ), is therefore the most that lists with the same KL "
        "could gain in mean relevance, the model's score, which is all that a re-ranker has to go by; of relevance is "
        "that over what relevance only has."
    )
    return Table("list-bound", "One list: what is left to gain", head, rows, note)


def _relevance(results: ExperimentResults, curve: MethodCurve) -> float:
    """The mean score that relevance only's list has."""
    slots = curve.setting.slots
    return float((results.study.scores[:, :slots] @ position_weights(curve.weighting, slots)).mean())


def _claims(results: ExperimentResults) -> Table:
    rows = []
    for claim in check_claims(results):
        statement = claim.statement if claim.of_paper else f"{claim.statement} (not the paper's)"
        rows.append((statement, claim.verdict, claim.figures, claim.criterion))
    note = "Paired on users; ± is twice the standard error, and a difference is clear beyond it. The weakest decides."
    return Table("claims", "What the paper claims", ("claim", "here", "figures", "judged by"), rows, note, bold="here")
