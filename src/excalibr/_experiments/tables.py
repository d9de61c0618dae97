"""Every table, as Markdown and CSV: the data, NDCG at equal deviation, paired differences, runtimes, the claims."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import isnan

import numpy as np

from excalibr._experiments.arms import ARMS
from excalibr._experiments.claims import check_claims
from excalibr._experiments.comparison import margins
from excalibr._experiments.curves import DRAW_KL, DRAW_L1, KL, WIDE_GAP, MethodCurve, between
from excalibr._experiments.list_tables import MEASURED, list_bound_table, lists_table, marked
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._experiments.run import ExperimentResults
from excalibr._experiments.runtime_tables import drops_table, seconds_table, split_table
from excalibr._experiments.store import Store
from excalibr._experiments.table import Table, number
from excalibr._text import markdown_text

__all__ = ["tables_of", "write_tables"]


def tables_of(results: ExperimentResults) -> list[Table]:
    """All tables of an experiment."""
    tables = [_data(results), _tuning(results), _equal_kl(results), _draws(results)]
    if results.runtimes is not None:
        tables += [seconds_table(results, results.runtimes), split_table(results, results.runtimes)]
        tables += [drops_table(results, results.runtimes)]
    return [
        *tables,
        _differences(results),
        _aims(results),
        _measures(results),
        lists_table(results),
        list_bound_table(results),
        _claims(results),
    ]


def write_tables(results: ExperimentResults, store: Store) -> list[Table]:
    """Write them into the folder ``tables``."""
    tables = tables_of(results)
    for table in tables:
        title, note = markdown_text(table.title), markdown_text(table.note)
        store.write_text(f"tables/{table.name}.md", f"**{title}**\n\n{table.markdown()}\n{note}\n")
        store.write_text(f"tables/{table.name}.csv", table.csv())
    return tables


def _data(results: ExperimentResults) -> Table:
    chosen = [("EASE regularisation, chosen", f"{results.study.regularisation:g}")] if results.study.tuning else []
    rows = [*results.study.facts.items(), *chosen]
    return Table("data", f"The data: {results.study.name}", ("", ""), rows)


def _tuning(results: ExperimentResults) -> Table:
    rows = [(f"{value:g}", f"{ndcg:.4f}") for value, ndcg in sorted(results.study.tuning.items())]
    return Table("tuning", "EASE, tuned on the validation users", ("regularisation", "NDCG@100"), rows)


_LEVELS = (0.75, 0.5, 0.25, 0.1)


def _equal_kl(results: ExperimentResults) -> Table:
    rows = []
    for curve in results.curves:
        if curve.arm != "relevance":
            start = f"{curve.start['ndcg']:.4f}"
            values = (_at_level(curve, level, KL) for level in _LEVELS)
            rows.append((*_place(curve), ARMS[curve.arm].label, str(curve.users), start, *values))
    levels = (f"{share:.0%} of the KL" for share in _LEVELS)
    head = ("attribute", "weights", "n/k", "method", "users", "relevance only", *levels)
    note = (
        "NDCG where the KL of the expectation is down to a share of what relevance only has, between neighbouring "
        f"trade-offs; – where no trade-off gets there, ≈ where the neighbours are more than {WIDE_GAP:.0%} of the KL "
        "apart. Methods on fewer users are compared in the table of paired differences."
    )
    return Table("equal-kl", "NDCG at equal KL", head, rows, note)


def _at_level(curve: MethodCurve, level: float, across: str) -> str:
    """NDCG at a share of relevance only's deviation, marked where it lies in a wide gap."""
    value = float(curve.at(np.array([level * curve.start[across]]), across)[0])
    return number(value, 4) if isnan(value) or not curve.is_wide(level, across) else f"≈ {value:.4f}"


def _draws(results: ExperimentResults) -> Table:
    metrics = [f"{which}_of_{what}" for which in ("kl", "l1") for what in ("expectation", "draw_mean", "draw_worst")]
    rows = [
        (
            *(*_place(curve), ARMS[curve.arm].label, f"{curve.trade_offs[place]:g}"),
            *(f"{curve.means[metric][place]:.4f}" for metric in metrics),
            f"{curve.means['rankings'][place]:.1f}",
        )
        for curve in results.curves
        for place in _few(curve)
    ]
    words = [f"{which}, {what}" for which in ("KL", "L1") for what in ("expectation", "draw", "worst draw")]
    note = "A draw is on average over the lottery; the worst draw is the worst ranking that the lottery holds."
    head = ("attribute", "weights", "n/k", "method", "λ", *words, "rankings")
    return Table("draws", "Of the expectation and of a draw", head, rows, note)


def _few(curve: MethodCurve) -> Iterator[int]:
    """Places of a few trade-offs: the nearest to 0.1, 0.5 and 0.9."""
    near = [int(np.argmin(np.abs(curve.trade_offs - value))) for value in (0.1, 0.5, 0.9)]
    yield from dict.fromkeys(near)


_PAIRS = (
    *((arm, "greedy-projected", KL) for arm in ("greedy-simple", "greedy", "mip-greedy", "excalibr", "excalibr-kl")),
    *((arm, "greedy-projected", DRAW_KL) for arm in ("mip-greedy", "excalibr", "excalibr-kl", "single-kl")),
    *((arm, "greedy-projected", DRAW_L1) for arm in ("mip-greedy", "excalibr", "single")),
    *((arm, "excalibr", KL) for arm in ("greedy", "excalibr-kl")),
)


def _differences(results: ExperimentResults) -> Table:
    """Methods in pairs, on the users that both ran on."""
    rows = []
    for (first, second, across), setting in product(_PAIRS, results.curves.settings):
        for pair in results.curves.pairs("log", (setting, first), (setting, second)):
            found, attribute = margins(*pair, across=across), pair[0].attribute
            what = f"{ARMS[first].label} less {ARMS[second].label}"
            estimates = (*(marked(found, pair, share, across) for share in (0.5, 0.25)), str(found.mean))
            rows.append((what, MEASURED[across], str(setting), attribute, str(found.users), *estimates))
    head = ("NDCG of", "at equal", "n/k", "attribute", "users", "at 50 %", "at 25 %", "mean over levels")
    note = (
        "Log weights, paired on the users that both ran on; ± is twice the standard error (bootstrap over users). – "
        f"where one of the two does not get there, ≈ where neighbouring points of one are more than {WIDE_GAP:.0%} of "
        "relevance only's deviation apart."
    )
    return Table("differences", "Paired differences in NDCG", head, rows, note)


def _aims(results: ExperimentResults) -> Table:
    """Every method by every aim, its own among them."""
    rows = []
    arms = [arm for arm in results.plan.arms if arm != "relevance"]
    for attribute, setting, across in product(results.curves.attributes, results.curves.settings, MEASURED):
        found = {arm: results.curves.get(attribute, "log", setting, arm) for arm in arms}
        cells = [
            "–" if curve is None else _at_level(curve, 0.25, across) + (" *" if ARMS[arm].aim == across else "")
            for arm, curve in found.items()
        ]
        rows.append((attribute, str(setting), MEASURED[across], *cells))
    head = ("attribute", "n/k", "at 25 % of", *(ARMS[arm].label for arm in arms))
    note = (
        "NDCG where a deviation is down to a quarter of relevance only's, log weights; * marks what a method is made "
        "to lower. A list cannot be as near to its target as an expectation is; a draw is not what a lottery aims at."
    )
    return Table("aims", "Every method by its own aim and by the others'", head, rows, note)


def _measures(results: ExperimentResults) -> Table:
    """Further measures where a method has half of relevance only's KL."""
    visits = tuple(name for name in METRICS if "visit" in name)
    names = results.plan.metrics or ("ndcg", "mrr", "recall", "popularity", *CATALOGUE, *visits)
    rows = []
    for curve in results.curves:
        if curve.weighting == results.plan.weightings[0]:
            level = np.array([0.5 * curve.start[KL]])
            values = (
                curve.means[name][0]
                if curve.arm == "relevance"
                else between(level, curve.means[KL], curve.means[name])[0]
                for name in names
            )
            numbers = (number(float(value), 4) for value in values)
            rows.append((curve.attribute, str(curve.setting), ARMS[curve.arm].label, str(curve.users), *numbers))
    head = ("attribute", "n/k", "method", "users", *names)
    note = (
        "At half of relevance only's KL of the expectation, log weights. Popularity is the share of training users who "
        "like what is seen; coverage is the share of the catalogue that anybody is shown, Gini how unevenly attention "
        "falls on it; both depend on how many users there are. After so many visits is how far the "
        "mean of what they showed is from the target, in L1: a list shows the same on every visit, a lottery does not."
    )
    return Table("measures", "Further measures", head, rows, note)


def _claims(results: ExperimentResults) -> Table:
    claims = check_claims(results)
    rows = [
        (claim.said + ("" if claim.of_paper else " (not the paper's)"), claim.verdict, claim.figures, claim.judged)
        for claim in claims
    ]
    note = "Paired on users; ± is twice the standard error, and a difference is clear beyond it. The weakest decides."
    return Table("claims", "What the paper claims", ("claim", "here", "figures", "judged by"), rows, note, bold="here")


def _place(curve: MethodCurve) -> tuple[str, str, str]:
    return curve.attribute, curve.weighting, str(curve.setting)
