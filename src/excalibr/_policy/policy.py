"""Policy: a lottery over rankings, what it does in expectation and in a single draw, and how to draw from it.

Everything a policy reports is computed from its rankings and weights when it is asked for; only the prices, and the gap
that they prove, come from the method that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr import _seeds as seeds
from excalibr._arrays import distribution, first_true, frozen, numbers, whole_numbers
from excalibr._native import kernel
from excalibr._options import whole_number
from excalibr._problem import Problem, relevance_order
from excalibr._propensities import Propensities, probability_of, propensities_of, read_ranking
from excalibr._types import Floats, Integers
from excalibr._visits import read_visit, visit_sequence
from excalibr.errors import InputError

if TYPE_CHECKING:
    from excalibr._policy.explanation import Explanation
    from excalibr._policy.policies import SolveInfo

KnownPrices: TypeAlias = tuple[Integers, Floats]
"""Some categories and their prices: those that the user's candidates have, see :meth:`Problem._prices_of`."""


@dataclass(frozen=True, eq=False, init=False)
class Policy:
    r"""A lottery: ranking :math:`Q_t` is shown with probability :math:`\theta_t`.

    ``Policy(problem, rankings, weights)`` measures rankings from anywhere, given as arrays or lists: every ranking must
    have k distinct candidates, and the weights must sum to 1.

    Attributes
    ----------
    problem
        What was asked.
    rankings
        (L, k) candidate indices, slot by slot; every row has k distinct candidates.
    weights
        (L,) probabilities, sum 1; of what a method found all positive, largest first.
    gap
        Proven upper bound − objective, at least 0: how far from the optimum this can be at most; nan where the method
        proves nothing. With ``draws="single"`` the bound is of single rankings, below that of lotteries; docs/solver.md
        says how either is recomputed from the prices.
    _known_prices
        What ``category_prices`` and ``prices`` are made of: the category prices y that prove the gap, unshifted,
        :math:`|y_j| \le \lambda`; with KL :math:`y = -\lambda(1-\alpha)\, q / \tilde p`; None where there are none.
    method
        The name of the method that made the policy.
    info
        What the solve took, :class:`SolveInfo`; None where another method made the policy, and in batches, whose
        reports have it.

    Examples
    --------
    Two items of one kind, one of the other, 60 % and 40 % of them wanted, one slot: toss a loaded coin.

    >>> import excalibr
    >>> policy = excalibr.calibrate([3.0, 2.0, 2.9], [[1, 0], [1, 0], [0, 1]], [0.6, 0.4], k=1)
    >>> policy.rankings.ravel().tolist(), policy.weights.round(6).tolist()
    ([0, 2], [0.6, 0.4])
    >>> policy.distribution.round(6).tolist()
    [0.6, 0.4]
    """

    problem: Problem
    rankings: Integers
    weights: Floats
    gap: float = nan
    _known_prices: KnownPrices | None = None
    method: str = "excalibr"
    info: SolveInfo | None = None

    def __init__(
        self,
        problem: Problem,
        rankings: ArrayLike,
        weights: ArrayLike,
        gap: float = nan,
        category_prices: ArrayLike | None = None,
        method: str = "excalibr",
        info: SolveInfo | None = None,
    ) -> None:
        read = _read_rankings(rankings, problem)
        self.__dict__.update(  # past the guard of a frozen dataclass
            problem=problem,
            rankings=frozen(read),
            weights=frozen(distribution("weights", weights, (len(read),), "one for each ranking")),
            gap=gap,
            _known_prices=None if category_prices is None else _read_prices(category_prices, problem.r),
            method=method,
            info=info,
        )

    @classmethod
    def _solved(
        cls,
        problem: Problem,
        rankings: Integers,
        weights: Floats,
        gap: float = nan,
        prices: KnownPrices | None = None,
        info: SolveInfo | None = None,
        method: str = "excalibr",
    ) -> Policy:
        """What a method of ours found, which needs no check, in read-only arrays."""
        policy = cls.__new__(cls)
        fields = policy.__dict__  # past the guard of a frozen dataclass, and quicker than an update
        fields["problem"], fields["rankings"], fields["weights"] = problem, rankings, weights
        fields["gap"], fields["_known_prices"], fields["method"], fields["info"] = gap, prices, method, info
        return policy

    @cached_property
    def exposure(self) -> Floats:
        """x, (n,): the expected position weight that each candidate gets."""
        rankings = np.ascontiguousarray(self.rankings, dtype=np.int64)
        weights = np.ascontiguousarray(self.weights, dtype=np.float64)
        return frozen(kernel.exposure_of(rankings, weights, self.problem.position_weights, self.problem.n))

    @cached_property
    def shares(self) -> Floats:
        """p, (r,): the expected share of exposure of each category, of all attributes one after the other."""
        return frozen(self.problem.memberships.shares(self.exposure))

    @property
    def distribution(self) -> Any:
        """p, (r,): the expected share of exposure that each category gets; by attribute where there are several."""
        return self._by_attribute(self.shares)

    @cached_property
    def category_prices(self) -> Floats | None:
        """(r,) the category prices of all attributes, one after the other; None where there are none."""
        return None if self._known_prices is None else frozen(self.problem._prices_of(*self._known_prices))

    @property
    def prices(self) -> Any:
        """y, (r,): what a unit of exposure of each category costs a candidate; by attribute where there are several."""
        return None if self.category_prices is None else self._by_attribute(self.category_prices)

    @property
    def relevance(self) -> float:
        """s·x, the expected score of what is seen."""
        return float(self.problem.scores @ self.exposure)

    @property
    def deviation(self) -> Any:
        """Σ|p − q| *of the expectation*; a single draw may be further off (:attr:`draw_deviations`).

        By attribute where there are several; from the nearer edge where the target is a band. The weights, and the
        divergence, that were asked for are in :attr:`cost`.
        """
        return self._by_attribute(self.problem.distances(self.shares), lambda distances: float(distances.sum()))

    @property
    def cost(self) -> float:
        """The deviation that the objective counts, of the expectation: by the divergence and weights asked for."""
        return float(self.problem.divergence.costs(self.shares).sum())

    @cached_property
    def draw_shares(self) -> Floats:
        """(L, r): the category distribution of each ranking by itself, of all attributes one after the other."""
        return frozen(np.array([self._shares_of(ranking) for ranking in self.rankings]))

    @property
    def draw_distributions(self) -> Any:
        """(L, r): the category distribution of each ranking by itself; by attribute where there are several."""
        return self._by_attribute(self.draw_shares)

    @property
    def draw_deviations(self) -> Any:
        """(L,): Σ|p(Q) − q| of each ranking by itself; by attribute where there are several."""
        return self._by_attribute(self.problem.distances(self.draw_shares), lambda distances: distances.sum(axis=-1))

    @property
    def draw_costs(self) -> Floats:
        """(L,): the deviation that the objective counts, of each ranking by itself."""
        return np.asarray(self.problem.divergence.costs(self.draw_shares).sum(axis=1))

    @property
    def draw_relevances(self) -> Floats:
        """(L,): the position-weighted score of each ranking by itself."""
        return np.asarray(self.problem.scores[self.rankings] @ self.problem.position_weights)

    @property
    def objective(self) -> float:
        """(1 − λ)·relevance − λ·cost − what is paid for items, the value of the program that was asked."""
        trade_off = self.problem.trade_off
        return (1.0 - trade_off) * self.relevance - trade_off * self.cost - self.paid

    @property
    def paid(self) -> float:
        """Σ of the items' exposure times their prices; 0 where items have none."""
        prices = self.problem.item_prices
        return 0.0 if prices is None else float(prices @ self.exposure)

    @property
    def bound(self) -> float:
        """What no policy can exceed, or no single ranking if one was asked, as far as was proven: objective + gap."""
        return self.objective + self.gap

    def matrix(self) -> Floats:
        """(n, k): the probability that candidate i stands in slot j. Columns sum to 1."""
        matrix = np.zeros((self.problem.n, self.problem.k))
        slots = np.arange(self.problem.k)
        for ranking, weight in zip(self.rankings, self.weights, strict=True):
            matrix[ranking, slots] += weight
        return matrix

    def sample(
        self, seed: int | None = None, key: Hashable = None, size: int | None = None, *, visit: int | None = None
    ) -> Integers:
        """Draw a ranking (k,), or ``size`` of them (size, k).

        The same ``(seed, key)`` gives the same ranking in any process and on any machine: ``key=("ada", "2030-01-31")``
        keeps a user's slate for a day. Different keys are independent. Without a seed and a key every call draws anew.

        Parameters
        ----------
        seed, key
            What the draw belongs to.
        size
            How many independent draws; with ``visit``, how many visits from that one on.
        visit
            Which visit of the key this is, from 0. Each single visit sees every ranking with its probability, as
            without ``visit``, but the visits of one key are chosen to balance one another: what was seen in seven of
            them is half as far from the target as in seven independent draws. It is meant for a lottery that does not
            depend on what the same key drew before.

        Examples
        --------
        >>> import excalibr
        >>> policy = excalibr.calibrate([1.0, 1.0, 0.5], [[1, 0], [0, 1], [1, 0]], [0.5, 0.5], k=1)
        >>> bool((policy.sample(seed=1, key="ada") == policy.sample(seed=1, key="ada")).all())
        True
        >>> policy.sample(seed=1, key="ada", visit=0, size=4).ravel().tolist()
        [0, 1, 0, 1]
        """
        if size is not None:
            _check_size("size", size)
        count = 1 if size is None else int(size)
        if visit is None:
            drawn = seeds.choose(self.weights, seeds.uniforms(seed, key, count))
        else:
            first = read_visit(visit)
            if seed is None and key is None:
                raise InputError("visit", f"is {first} without a seed and a key", "be a visit of a key")
            drawn = visit_sequence(self.rankings, self.weights, key, seed, first=first, size=count)
        chosen = self.rankings[drawn]
        return chosen[0] if size is None else chosen

    def probability(self, ranking: ArrayLike) -> float:
        """The probability that this ranking (k candidates, slot by slot) is drawn; 0 if it is not in the lottery.

        Examples
        --------
        >>> import excalibr
        >>> policy = excalibr.calibrate([3.0, 2.0, 2.9], [[1, 0], [1, 0], [0, 1]], [0.6, 0.4], k=1)
        >>> round(policy.probability([2]), 6), policy.probability([1])
        (0.4, 0.0)
        """
        return probability_of(self.rankings, self.weights, read_ranking(ranking, self.problem.n, self.problem.k))

    def propensities(self, ranking: ArrayLike) -> Propensities:
        """How probable it was that each item of a ranking is shown where it is, and that it is shown at all.

        These are the propensities that off-policy evaluation asks of a log; ``policy.matrix()`` has those of all
        candidates and slots.

        Examples
        --------
        >>> import excalibr
        >>> policy = excalibr.calibrate([3.0, 2.0, 2.9], [[1, 0], [1, 0], [0, 1]], [0.6, 0.4], k=1)
        >>> policy.propensities([0]).in_slot.round(6).tolist()
        [0.6]
        """
        shown = read_ranking(ranking, self.problem.n, self.problem.k)
        return propensities_of(self.rankings, self.weights, shown)

    def best(self) -> Integers:
        """The ranking of the lottery with the best objective of its own, (k,); the heavier one in a tie."""
        trade_off = self.problem.trade_off
        values = (1.0 - trade_off) * self.draw_relevances - trade_off * self.draw_costs
        if self.problem.item_prices is not None:
            values = values - self.problem.item_prices[self.rankings] @ self.problem.position_weights
        best: Integers = self.rankings[np.lexsort((-self.weights, -values))[0]]
        return best

    @cached_property
    def before(self) -> Policy:
        """Plain sorting: the relevance order of what may be shown, with pinned items in their slots."""
        ranking = relevance_order(self.problem)[: self.problem.k]
        return Policy._solved(self.problem, frozen(ranking[None]), frozen(np.ones(1)), method="relevance order")

    def explain(self, items: Sequence[object] | None = None, categories: Any = None) -> Explanation:
        """Why the slate is as it is: each item's score less what its categories cost, old and new ranks, the balance.

        Parameters
        ----------
        items
            n labels, one for each candidate.
        categories
            r labels; by attribute, a mapping to such lists, where there are several.

        Returns
        -------
        Explanation
            With ``items``, ``categories``, ``before``, ``relevance_kept``, ``deviation_removed``; printed, a table.

        Examples
        --------
        One place is left after Harbour: drama is dearer by 0.05, half the difference in score, which makes Orchard and
        Wedding equal, and a lottery between them fair.

        >>> import excalibr
        >>> policy = excalibr.calibrate(
        ...     [0.9, 0.6, 0.5], [[1, 0], [1, 0], [0, 1]], [0.75, 0.25], k=2, position_weights="uniform"
        ... )
        >>> why = policy.explain(["Harbour", "Orchard", "Wedding"], ["drama", "comedy"])
        >>> drama, comedy = why.categories.price.tolist()
        >>> round(drama - comedy, 6)
        0.05
        >>> sorted(zip(why.items.label.tolist(), why.items.probability.round(6).tolist()))
        [('Harbour', 1.0), ('Orchard', 0.5), ('Wedding', 0.5)]
        """
        from excalibr._policy.explanation import explain_policy  # only who asks why needs it

        return explain_policy(self, items, categories)

    def plot(
        self, items: Sequence[object] | None = None, categories: Any = None, *, ranking: ArrayLike | None = None
    ) -> Any:
        """Draw before and after: both slates joined item by item, and the shares; returns the two matplotlib axes.

        ``items`` and ``categories`` are labels, as :meth:`explain` takes them; ``ranking`` is the draw to show, by
        default the most probable one.
        """
        from excalibr._policy.notebook import policy_plot

        return policy_plot(self, items, categories, ranking)

    def _repr_html_(self) -> str:
        from excalibr._policy.notebook import policy_html

        return policy_html(self)

    def __repr__(self) -> str:
        problem, count = self.problem, len(self.weights)
        rankings = "1 ranking" if count == 1 else f"{count} rankings"
        proven = "nothing proven" if np.isnan(self.gap) else f"gap {self.gap:.1e}"
        parts = self.deviation.items() if problem.attributes else [("", self.deviation)]
        deviation = ", ".join(f"{name} {value:.6g}".strip() for name, value in parts)
        return (
            f"Policy({self.method}: {rankings} of {problem.k} from {problem.n} candidates, "
            f"trade_off {problem.trade_off:g}, relevance {self.relevance:.6g}, deviation {deviation}, {proven})"
        )

    def _by_attribute(self, values: Floats, summary: Callable[[Floats], Any] = lambda values: values) -> Any:
        """The values themselves, or a mapping from attribute to its part of the last axis; each summed up."""
        if not self.problem.attributes:
            return summary(values)
        return {each.name: summary(values[..., each.columns]) for each in self.problem.attributes}

    def _shares_of(self, ranking: Integers) -> Floats:
        """(r,) the category distribution of one ranking."""
        exposure = np.zeros(self.problem.n)
        exposure[ranking] = self.problem.position_weights
        return self.problem.memberships.shares(exposure)


_check_size = whole_number(0)


def _read_rankings(given: ArrayLike, problem: Problem) -> Integers:
    """(L, k) different candidates in each row."""
    n, k = problem.n, problem.k
    rankings = whole_numbers("rankings", given, ("rankings", k), "a row each")
    if not len(rankings):
        raise InputError("rankings", "are empty", "have at least one")
    sorted_rows = np.sort(rankings, axis=1)
    bad = (sorted_rows[:, 0] < 0) | (sorted_rows[:, -1] >= n) | (sorted_rows[:, 1:] == sorted_rows[:, :-1]).any(axis=1)
    row = first_true(bad)
    if row is not None:
        found = f"row {row} is {rankings[row].tolist()}"
        raise InputError("rankings", found, f"have different candidates, from 0 to {n - 1}")
    return rankings


def _read_prices(given: ArrayLike, r: int) -> KnownPrices:
    return np.arange(r), numbers("category_prices", given, (r,), "one for each category")
