"""A policy in a notebook: its lottery and shares as tables with bars, and the picture of before and after."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from excalibr import _picture as picture
from excalibr._grid import MOST_ROWS, Grid, grid_of, html_of, percent, short
from excalibr._policy.explanation import Explanation, balance_grid, categories_grid, labels_of_items
from excalibr._propensities import read_ranking
from excalibr._types import Integers
from excalibr.errors import needs_extra

if TYPE_CHECKING:
    from excalibr._policy.policy import Policy

LONGEST_TITLE = 30
LONGEST_RANKING = 12
"""Slots of a ranking that are written out."""


def policy_html(policy: Policy) -> str:
    """The lottery, the shares before and after, and what was kept and removed."""
    why = policy.explain()
    return html_of(_headline(policy), _lottery_grid(policy), categories_grid(why.categories), balance_grid(why))


def policy_plot(policy: Policy, items: Any, categories: Any, ranking: ArrayLike | None) -> Any:
    """What :meth:`excalibr.Policy.plot` returns."""
    with needs_extra("plot", "matplotlib"):
        from matplotlib import pyplot
    made = picture_of(policy, items, categories, ranking)
    figure = pyplot.figure(figsize=picture.size_of(made), layout="constrained")
    return picture.draw(made, figure).axes


def picture_of(policy: Policy, items: Any, categories: Any, ranking: ArrayLike | None) -> picture.Picture:
    """The relevance order beside one ranking of the policy, by default its most probable one."""
    problem = policy.problem
    named = labels_of_items(items, problem).tolist()  # once: an iterator has no second time
    why = policy.explain(named, categories)
    drawn = policy.rankings[policy.weights.argmax()] if ranking is None else ranking
    shown = read_ranking(drawn, problem.n, problem.k)
    titles = [short(title, LONGEST_TITLE) for title in named]
    labels = zip(why.categories.attribute, why.categories.label, strict=True)
    names = [short(f"{attribute}: {label}" if attribute else label, LONGEST_TITLE) for attribute, label in labels]
    old, seen = why.before.rankings[0], (why.before.shares, policy.shares, policy._shares_of(shown))
    return picture.Picture(
        headline=_gains(why),
        caption=_headline(policy),
        old=_entries(policy, titles, names, old, shown),
        new=_entries(policy, titles, names, shown, old),
        shares=picture.Shares(names, problem.target, problem.high, *seen),
    )


def _headline(policy: Policy) -> str:
    problem, count = policy.problem, len(policy.weights)
    lottery = "One ranking" if count == 1 else f"A lottery of {count} rankings"
    proven = "nothing proven" if isnan(policy.gap) else f"proven within {policy.gap:.1e} of the best"
    return f"{lottery} of {problem.k} from {problem.n} candidates, trade-off {problem.trade_off:.4g}: {proven}"


def _gains(why: Explanation) -> str:
    kept, removed = percent(why.relevance_kept), why.deviation_removed
    gone = "there was no deviation" if isnan(removed) else f"{percent(removed)} of the deviation removed"
    return f"{kept} of the relevance kept, {gone}, in expectation"


def _lottery_grid(policy: Policy) -> Grid:
    count = min(len(policy.weights), MOST_ROWS)
    weights, rankings = policy.weights[:count], policy.rankings[:count]
    columns = {
        "shown": [percent(float(weight)) for weight in weights],
        "ranking": [_ranking_text(ranking) for ranking in rankings],
    }
    return grid_of(columns, ("ranking",), len(policy.weights) - count, bars={"shown": weights})


def _ranking_text(ranking: Integers) -> str:
    return ", ".join(map(str, ranking[:LONGEST_RANKING])) + (", …" if len(ranking) > LONGEST_RANKING else "")


def _entries(
    policy: Policy, titles: list[str], names: list[str], ranking: Integers, other: Integers
) -> list[picture.Placed]:
    slots = {int(candidate): slot for slot, candidate in enumerate(other, 1)}
    rows = policy.problem.memberships.of(ranking)
    return [
        picture.Placed(
            titles[candidate],
            short(", ".join(names[at] for at in rows.indices[rows.indptr[slot - 1] : rows.indptr[slot]])),
            slot,
            slots.get(int(candidate)),
        )
        for slot, candidate in enumerate(ranking, 1)
    ]
