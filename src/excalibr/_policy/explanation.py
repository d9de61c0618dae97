"""Why a slate is as it is: what each item and each category has to do with it, before and after, as numbers and tables.

Items are sorted by score less what their categories cost at the policy's prices, so the prices are the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from excalibr._arrays import frozen, list_of
from excalibr._grid import MOST_ROWS, Grid, grid_of, html_of, number, numbers, percent, short
from excalibr._problem import Problem, relevance_order
from excalibr._types import Floats, Integers
from excalibr.errors import InputTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from excalibr._policy.policy import Policy


class _ByColumn:
    """Read-only arrays of one length with names."""

    def __post_init__(self) -> None:
        for array in vars(self).values():
            frozen(array)

    def columns(self) -> dict[str, Any]:
        """The arrays by name, as a data frame takes them."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class SlateItems(_ByColumn):
    """The candidates that some ranking of the policy shows, the most seen first.

    Attributes
    ----------
    candidate
        (m,) their indices.
    label
        (m,) what the caller calls them; the indices as text where nothing was given.
    score
        (m,) s, normalised where that was asked.
    adjusted_score
        (m,) (1 − λ)·s − A·y, less the items' own prices: what the optimal rankings sort by. nan where the policy has
        no prices.
    old_rank
        (m,) the rank in the relevance order, from 1; beyond k, how it goes on.
    new_rank
        (m,) the expected rank, given that it is shown; for a policy of one ranking its rank.
    probability
        (m,) of being shown.
    """

    candidate: Integers
    label: NDArray[np.object_]
    score: Floats
    adjusted_score: Floats
    old_rank: Integers
    new_rank: Floats
    probability: Floats


@dataclass(frozen=True, eq=False)
class CategoryShares(_ByColumn):
    """The categories, those of all attributes one after the other.

    Attributes
    ----------
    attribute
        (r,) the attribute's name; empty text where there is one only.
    label
        (r,) what the caller calls the category; its index as text where nothing was given.
    target_low, target_high
        (r,) the band that costs nothing, the same number twice where the target is no band. After earlier pages it is
        what is left for this one to show.
    before, after
        (r,) the share in the relevance order, and the policy's expected share.
    price
        (r,) y, what a unit of exposure costs in adjusted scores: the dearer of two categories of an attribute is the
        one that scores alone would show too much of. The policy's own prices, but that KL's are counted from 0 at the
        target: ``policy.prices`` + λ·(1 − α)·weight. nan where the policy has none.
    """

    attribute: NDArray[np.object_]
    label: NDArray[np.object_]
    target_low: Floats
    target_high: Floats
    before: Floats
    after: Floats
    price: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What a policy did to the relevance order, and why; printed, a table that a person can read.

    Attributes
    ----------
    policy
        What is explained.
    before
        The relevance order as a policy: plain sorting of what may be shown.
    items
        The slate: :class:`SlateItems`.
    categories
        The balance: :class:`CategoryShares`.

    Examples
    --------
    Two dramas score best; 40 % of what is seen should be comedy, so the best comedy comes up from the third place:

    >>> import excalibr
    >>> policy = excalibr.calibrate(
    ...     [0.9, 0.8, 0.5, 0.4], [[1, 0], [1, 0], [0, 1], [0, 1]], [0.6, 0.4], k=2, position_weights=[0.6, 0.4]
    ... )
    >>> why = policy.explain(items=["Harbour", "Orchard", "Wedding", "Lodger"], categories=["drama", "comedy"])
    >>> why.items.label.tolist(), why.items.old_rank.tolist(), why.items.new_rank.tolist()
    (['Harbour', 'Wedding'], [1, 3], [1.0, 2.0])
    >>> why.categories.before.tolist(), why.categories.after.tolist()
    ([1.0, 0.0], [0.6, 0.4])
    >>> round(why.before.relevance, 6), round(policy.relevance, 6), round(why.relevance_kept, 3)
    (0.86, 0.74, 0.86)
    """

    policy: Policy
    before: Policy
    items: SlateItems
    categories: CategoryShares

    @property
    def relevance_kept(self) -> float:
        """The part of the relevance order's relevance that is kept: 1 − the loss that ``relevance_loss`` limits.

        Where relevance can be zero or negative, the loss is a part of the spread between the best and worst rankings.
        """
        problem, best = self.policy.problem, self.before.relevance
        order = relevance_order(problem, -problem.scores)[: problem.k]
        worst = float(problem.scores[order] @ problem.position_weights)
        whole = best if worst > 0.0 else best - worst
        return 1.0 - (best - self.policy.relevance) / whole if whole > 0.0 else 1.0

    @property
    def deviation_removed(self) -> float:
        """The part of the relevance order's ``cost`` that is gone; nan where it had none."""
        cost = self.before.cost
        return 1.0 - self.policy.cost / cost if cost > 0.0 else float("nan")

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The columns of ``items`` and ``categories``, by name."""
        return {"items": self.items.columns(), "categories": self.categories.columns()}

    def __repr__(self) -> str:
        return "\n\n".join([self._headline(), *(grid.text() for grid in self._grids())])

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        parts: list[Any] = [Text(self._headline())]
        for grid in self._grids():
            parts += [Text(), grid.rich()]
        return Group(*parts)

    def _repr_html_(self) -> str:
        return html_of(self._headline(), *self._grids())

    def _headline(self) -> str:
        problem, method = self.policy.problem, self.policy.method
        return f"{problem.k} of {problem.n} candidates, method {method}, trade-off {problem.trade_off:.4g}"

    def _grids(self) -> list[Grid]:
        return [_items_grid(self.items), categories_grid(self.categories), balance_grid(self)]


def explain_policy(policy: Policy, items: Sequence[object] | None = None, categories: Any = None) -> Explanation:
    """What :meth:`excalibr.Policy.explain` returns."""
    problem = policy.problem
    prices = np.full(problem.r, np.nan)
    if policy.category_prices is not None:  # as the sort charges them: from 0 on, not as KL's are reported
        prices = np.asarray(policy.category_prices + problem.penalty.price_offset)
    slate = _slate(policy, prices, labels_of_items(items, problem))
    return Explanation(policy, policy.before, slate, _balance(policy, prices, _category_labels(categories, problem)))


def labels_of_items(items: Any, problem: Problem) -> NDArray[np.object_]:
    """(n,) the labels of the candidates, their indices where there are none."""
    given = range(problem.n) if items is None else items
    return _labels("items", given, problem.n, "candidate")


def _slate(policy: Policy, prices: Floats, labels: NDArray[np.object_]) -> SlateItems:
    problem = policy.problem
    chances = policy.matrix()
    probability = chances.sum(axis=1)
    shown = np.flatnonzero(probability > 0.0)
    ranks = (chances @ np.arange(1.0, problem.k + 1.0))[shown] / probability[shown]
    # of equally exposed items the one that stands higher; a single ranking is listed slot by slot
    exposure = policy.exposure[shown].round(12) if len(policy.weights) > 1 else np.zeros(len(shown))
    order = np.lexsort((shown, ranks.round(9), -exposure))
    shown, ranks = shown[order], ranks[order]
    old_rank = np.zeros(problem.n, dtype=np.int64)
    by_relevance = relevance_order(problem)
    old_rank[by_relevance] = np.arange(1, len(by_relevance) + 1)
    adjusted = problem.gains - problem.memberships.costs(prices)
    return SlateItems(
        candidate=shown,
        label=labels[shown],
        score=problem.scores[shown],
        adjusted_score=adjusted[shown],
        old_rank=old_rank[shown],
        new_rank=ranks,
        probability=np.minimum(probability[shown], 1.0),
    )


def _balance(policy: Policy, prices: Floats, labels: NDArray[np.object_]) -> CategoryShares:
    problem = policy.problem
    names = np.full(problem.r, "", dtype=object)
    for attribute in problem.attributes:
        names[attribute.columns] = str(attribute.name)
    return CategoryShares(
        attribute=names,
        label=labels,
        target_low=problem.target,
        target_high=problem.high,
        before=policy.before.shares,
        after=policy.shares,
        price=prices,
    )


def _category_labels(categories: Any, problem: Problem) -> NDArray[np.object_]:
    attributes = problem.attributes
    if not attributes:
        if isinstance(categories, Mapping):
            raise InputTypeError("categories", "is a mapping", "be a list of r labels: there is one attribute")
        given = range(problem.r) if categories is None else categories
        return _labels("categories", given, problem.r, "category")
    names = [each.name for each in attributes]
    if categories is None:
        categories = {each.name: range(each.size) for each in attributes}
    if not isinstance(categories, Mapping) or set(categories) != set(names):
        raise InputTypeError("categories", "are not by attribute", f"be a mapping from {names} to labels")
    parts = [(f"categories[{each.name!r}]", categories[each.name], each.size) for each in attributes]
    return np.concatenate([_labels(*part, "category") for part in parts])


def _labels(argument: str, given: Any, count: int, what: str) -> NDArray[np.object_]:
    return np.array([str(label) for label in list_of(argument, given, count, f"a label for each {what}")], dtype=object)


def _items_grid(items: SlateItems) -> Grid:
    count = min(len(items.label), MOST_ROWS)
    columns = {
        "rank": [number(rank, 1) if rank % 1 else str(int(rank)) for rank in items.new_rank[:count].round(3)],
        "was": [str(rank) for rank in items.old_rank[:count]],
        "shown": [percent(chance) for chance in items.probability[:count]],
        "score": numbers(items.score[:count]),
        "adjusted": numbers(items.adjusted_score[:count]),
        "item": [short(label) for label in items.label[:count]],
    }
    bars = {"shown": items.probability[:count]}
    return grid_of(columns, ("item",), len(items.label) - count, without_nan="adjusted", bars=bars)


def categories_grid(categories: CategoryShares) -> Grid:
    """The categories with the largest shares, in their own order."""
    low, high = categories.target_low, categories.target_high
    largest = np.max([np.abs(low), np.abs(high), categories.before, categories.after], axis=0)
    kept = np.sort(np.argsort(-largest, kind="stable")[:MOST_ROWS])
    columns = {
        "attribute": [short(name) for name in categories.attribute[kept]],
        "category": [short(label) for label in categories.label[kept]],
        "target": [
            number(least) if least == most else f"{number(least)} to {number(most)}"
            for least, most in zip(low[kept], high[kept], strict=True)
        ],
        "before": [number(share) for share in categories.before[kept]],
        "after": [number(share) for share in categories.after[kept]],
        "price": numbers(categories.price[kept]),
    }
    if not any(columns["attribute"]):
        del columns["attribute"]
    bars = {"target": high[kept], "before": categories.before[kept], "after": categories.after[kept]}
    return grid_of(columns, ("attribute", "category"), len(low) - len(kept), without_nan="price", bars=bars)


def balance_grid(why: Explanation) -> Grid:
    before, after = why.before, why.policy
    deviations = {"deviation": (before.deviation, after.deviation)}
    if before.problem.attributes:
        deviations = {
            f"deviation of {short(str(name))}": (was, after.deviation[name]) for name, was in before.deviation.items()
        }
    if not before.problem.plain:
        deviations["cost"] = (before.cost, after.cost)
    changes = [f"{percent(why.relevance_kept)} kept"]
    changes += [f"{percent(1.0 - now / was)} removed" if was > 0.0 else "" for was, now in deviations.values()]
    pairs = [numbers(np.array(pair)) for pair in ((before.relevance, after.relevance), *deviations.values())]
    old, new = map(list, zip(*pairs, strict=True))
    columns = {"": ["relevance", *deviations], "before": old, "after": new, "change": changes}
    return grid_of(columns, ("", "change"))
