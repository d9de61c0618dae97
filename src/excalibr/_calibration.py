"""``calibrate``, ``calibrate_path`` and ``frontier``: the functions that users of arrays meet."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from excalibr import methods
from excalibr._options import Options, options_of, read_options, truth_value
from excalibr._policy import Policy
from excalibr._problem import Band, ByCategory, CategoriesLike, Problem, Shown, read_problem
from excalibr._solver import TIME_LIMIT_REACHED, Curve, solve, solve_path
from excalibr.errors import GapWarning, InputError, InputTypeError, TruncationWarning

if TYPE_CHECKING:
    from excalibr._solver.frontier import Frontier

Categories: TypeAlias = "CategoriesLike | Mapping[str, CategoriesLike]"
Target: TypeAlias = "ArrayLike | Band | Mapping[str, ArrayLike | Band]"


def calibrate(
    scores: ArrayLike,
    categories: Categories,
    target: Target,
    *,
    k: int | None = None,
    trade_off: float | None = None,
    relevance_loss: float | None = None,
    max_deviation: float | None = None,
    position_weights: str | ArrayLike = "log",
    divergence: str = "l1",
    attribute_weights: Mapping[str, float] | None = None,
    category_weights: ByCategory | None = None,
    relative: bool = False,
    floors: ByCategory | None = None,
    caps: ByCategory | None = None,
    max_per_category: int | ByCategory | None = None,
    pinned: Mapping[int, int] | None = None,
    shown: Shown | None = None,
    item_prices: ArrayLike | None = None,
    normalise: str | None = None,
    method: str = "excalibr",
    draws: str = "lottery",
    tolerance: float = 1e-9,
    max_sorts: int | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> Policy:
    r"""Re-rank one user's candidates so that what is seen matches a target balance of categories.

    .. math::

        \max_{x}\; (1-\lambda)\, s^\top x \;-\; \lambda \sum_j \bigl|(A^\top x)_j - q_j\bigr|

    over the expected exposures :math:`x` of all lotteries over rankings. The default method returns the exact optimum
    as a lottery of at most r + 1 rankings, with a proof of how far from the optimum it can be (``policy.gap``). At
    λ = 0 it is, of the most relevant lotteries, the best calibrated; at λ = 1, of the best calibrated, the most
    relevant.

    Parameters
    ----------
    scores
        s, (n,): relevance, finite, of any sign and scale. Their scale sets what ``trade_off`` means: with scores of
        0 to 1000, 0.5 is almost pure relevance.
    categories
        A, (n, r): the share of each category in each candidate, an array or ``scipy.sparse`` matrix; rows sum to 1.
        For several attributes at once a mapping from names to such arrays.
    target
        q, (r,): the wanted share of each category; sums to 1. Or a :class:`Band`, within which deviation costs
        nothing; or a mapping as for ``categories``.
    k
        Number of slots; None is n. With k = n there is little to gain: give the re-ranker more candidates than slots.
    trade_off
        λ: 0 is relevance only, 1 is calibration only. 0.5 when nothing is given.
    relevance_loss
        Instead of ``trade_off``: give up at most this fraction of the relevance that plain sorting has (0.02 for 2 %),
        and be as calibrated as possible. Where relevance can be zero or negative, it is a fraction of the spread
        between the best and the worst relevance that any ranking has.
    max_deviation
        Instead of ``trade_off``: deviate at most this much, in the divergence and weights asked for, and be as relevant
        as possible.
    position_weights
        How much attention each slot gets: "log", "sqrt", "reciprocal", "uniform" or k numbers (normalised to sum 1).
    divergence
        "l1", the paper's Σ|p − q|, or "kl", the divergence KL(q ‖ p̃) in natural logarithms, with Steck's smoothing
        p̃ = (1 − α)·p + α·q, α = 0.01. Both are solved exactly.
    attribute_weights
        By name, how much an attribute's deviation counts; 1 each by default.
    category_weights
        (r,), or a mapping from category indices (by attribute, a mapping to either): what each category's deviation
        counts; 1 each by default. A KL term is then weighed as q·log(q/p̃) − q + p̃, which is never negative.
    relative
        Count a category's deviation relative to its target, |p_j − q_j| / q_j; to the middle of a band. A category
        with a target of 0 counts as much as the one with the smallest positive target.
    floors, caps
        Hard limits of the categories' expected shares on this page, given as ``category_weights`` are. If no policy
        can keep them, :class:`excalibr.errors.InfeasibleError` says which conflict.
    max_per_category
        At most this many of the k slots for a category, in every ranking: one number for all, or given as
        ``category_weights`` are. An item must belong to such a category as a whole, with no share of others.
    pinned
        ``{slot: candidate}``, slots counted from 0: the candidate keeps the slot in every ranking, and counts.
    shown
        What was seen before, :class:`Shown`: it counts toward the target and is not shown again. What this page should
        then show, ``policy.problem.target``, may lie outside [0, 1].
    item_prices
        (n,) what a unit of exposure of each candidate costs, of any sign and within ±1e150: subtracted from the gains
        (1 − λ)·s, in their units and whatever λ is. Prices for everybody together come from
        :meth:`excalibr.Reranker.balance`. Relevance is reported with the scores as they are; ``objective``, ``gap`` and
        ``explain()`` count the prices.
    normalise
        "range" maps the scores to [0, 1] first, so that one ``trade_off`` means the same for everyone.
    method
        A name of :data:`excalibr.methods.METHODS`. Other methods than "excalibr" solve the paper's problem alone, and
        refuse a call that asks for more.
    draws
        "lottery": the policy may mix rankings. "single": one ranking, the best that a local search finds by its own
        deviation, with the proven gap to the best possible. "even": a lottery with the expectation of the optimal one,
        whose rankings are each as close to the target as can be found.
    tolerance
        Stop at this proven gap, relative to (1 − λ)·(max s − min s); no gap below 1e-13 of the largest price is asked,
        as rounding hides it.
    max_sorts
        Stop after this many sorts of the candidates, with the gap that was proven by then.
    time_limit
        Stop after this many seconds, for a request in flight: with the best lottery found by then, which is never worse
        than the order by score, its proven gap and ``policy.info.status`` "time limit reached". Such an answer depends
        on the machine; any other is what it would be without a limit, bit for bit.
    verbose
        Print a line for each iteration: engine, step, sorts, objective, bound, gap, and ρ or how many rankings it has.

    Returns
    -------
    Policy

    Raises
    ------
    InputError, InputTypeError
        Where an argument has a wrong value or type, or does not go with another one.
    InfeasibleError
        Where no policy keeps the limits or the budget; says which conflict, or how near one can come. Also where none
        was found within ``time_limit``.
    SolverError
        Where the method ended without an answer.

    Warns
    -----
    TruncationWarning
        With as many slots as candidates.
    GapWarning
        Where the gap that was asked could not be proven, or ``time_limit`` ended the solve; says which gap was proven,
        and by how much a floor or cap is missed.

    Examples
    --------
    Two dramas score best, but half of what is seen should be comedy:

    >>> import excalibr
    >>> policy = excalibr.calibrate(
    ...     [0.9, 0.8, 0.5, 0.4], [[1, 0], [1, 0], [0, 1], [0, 1]], [0.5, 0.5], k=2, position_weights="uniform"
    ... )
    >>> sorted(policy.rankings[0].tolist()), policy.weights.tolist()
    ([0, 2], [1.0])
    >>> policy.distribution.tolist(), round(policy.relevance, 6)
    ([0.5, 0.5], 0.7)
    """
    # fmt: off
    options = options_of(
        k, trade_off, relevance_loss, max_deviation, position_weights, divergence, attribute_weights, category_weights,
        relative, floors, caps, max_per_category, normalise, method, draws, tolerance, max_sorts,
        time_limit,
    )
    # fmt: on
    if verbose is not False:
        truth_value("verbose", verbose)
    problem = read_problem(scores, categories, target, options, pinned, shown, item_prices)
    if k is None or k == problem.batch.checked.candidates:
        _warn_of_truncation(problem, stacklevel=3)
    if method != "excalibr":
        return methods.apply(method, problem)
    policy = solve(problem, verbose=verbose)
    _warn_of_gap(policy, stacklevel=3)
    return policy


def calibrate_path(
    scores: ArrayLike,
    categories: Categories,
    target: Target,
    *,
    trade_offs: Iterable[float],
    verbose: bool = False,
    **asked: Any,
) -> list[Policy]:
    """The exact policies for several trade-offs, each solve started from the one before.

    Parameters
    ----------
    scores, categories, target
        As in :func:`calibrate`.
    trade_offs
        Each λ from 0 to 1, in any order.
    verbose
        As in :func:`calibrate`.
    **asked
        The other parameters of :func:`calibrate`, except the trade-off, the budgets and ``method``; ``max_sorts`` and
        ``time_limit`` count for each trade-off anew.

    Returns
    -------
    list of Policy
        In the order of ``trade_offs``; each equals :func:`calibrate` at its trade-off within ``tolerance``. Errors and
        warnings are those of :func:`calibrate`.

    Examples
    --------
    >>> import excalibr
    >>> path = excalibr.calibrate_path(
    ...     [0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1, trade_offs=[0.0, 0.9]
    ... )
    >>> [round(policy.deviation, 6) for policy in path]
    [1.0, 0.0]
    """
    truth_value("verbose", verbose)
    problem = _asked(scores, categories, target, asked, _NOT_FOR_PATHS)
    if not np.iterable(trade_offs):
        must, hint = "be a list of numbers from 0 to 1", "calibrate takes a single one."
        raise InputTypeError("trade_offs", f"is {trade_offs!r}", must, hint)
    listed = [problem.with_trade_off(trade_off) for trade_off in trade_offs]
    if problem.options.draws == "lottery":
        policies = solve_path(problem, [each.trade_off for each in listed], verbose=verbose)
    else:
        policies = [solve(each, verbose=verbose) for each in listed]
    for policy in policies:
        _warn_of_gap(policy, stacklevel=3)
    return policies


def frontier(
    scores: ArrayLike,
    categories: Categories,
    target: Target,
    *,
    tolerance: float = 1e-4,
    max_vertices: int | None = None,
    **asked: Any,
) -> Frontier:
    """The exact trade-off between relevance and deviation, from pure relevance to the least deviation there is.

    Parameters
    ----------
    scores, categories, target
        As in :func:`calibrate`.
    tolerance
        The polyline is certified to be within this of the true curve everywhere, with deviation as it is and relevance
        in units of the spread of the scores. 0 finds every vertex; there can be thousands, at a solve or two each.
    max_vertices
        Stop at this many vertices, at least 2; ``error`` of the result then says how near the curve is.
    **asked
        The other parameters of :func:`calibrate`, except the trade-off, the budgets, ``method``, ``draws``,
        ``max_sorts``, ``time_limit``, ``verbose`` and ``item_prices``.

    Returns
    -------
    Frontier
        With ``relevance``, ``deviation``, ``trade_offs``, ``at(trade_off)``, ``within(relevance_loss=…)``, ``plot()``;
        threads may share it.

    Warns
    -----
    TruncationWarning
        With as many slots as candidates.
    GapWarning
        Where the curve is not certified to be as near as was asked.

    Examples
    --------
    One slot, a drama worth 1 and a comedy worth 0.8, half of each wanted: every mix in between is on the curve.

    >>> import excalibr
    >>> curve = excalibr.frontier([1.0, 0.8], [[1, 0], [0, 1]], [0.5, 0.5], k=1, tolerance=0)
    >>> curve.relevance.round(6).tolist(), curve.deviation.round(6).tolist()
    ([1.0, 0.9], [1.0, 0.0])
    >>> curve.trade_offs.round(6).tolist()
    [0.0, 0.090909]
    """
    if asked.get("draws") == "lottery":
        del asked["draws"]
    problem = _asked(scores, categories, target, asked, _NOT_FOR_FRONTIERS)
    from excalibr._solver.frontier import trace

    found = trace(Curve(problem), tolerance, max_vertices)
    _warn_of_distance(found, tolerance, max_vertices, stacklevel=3)
    return found


def _asked(
    scores: ArrayLike, categories: Any, target: Any, asked: dict[str, Any], not_for: Mapping[str, str]
) -> Problem:
    """The problem of a path or a frontier, which have no use for some options."""
    for name, reason in not_for.items():
        if asked.pop(name, None) is not None:
            raise InputError(name, "is given", f"be left out: {reason}")
    beside = {name: asked.pop(name, None) for name in ("pinned", "shown", "item_prices")}
    options = read_options(Options, {"trade_off": 0.0, **asked}, also=tuple(beside))
    problem = read_problem(scores, categories, target, options, **beside)
    _warn_of_truncation(problem, stacklevel=4)
    return problem


def _warn_of_truncation(problem: Problem, stacklevel: int) -> None:
    if problem.k == problem.n > 1:
        warnings.warn(
            f"k = n = {problem.n}: with no candidates to spare, re-ranking can only change the order. "
            "Pass more candidates than slots.",
            TruncationWarning,
            stacklevel=stacklevel,
        )


_NOT_FOR_PATHS = {
    "trade_off": "the trade-offs are those of trade_offs",
    "relevance_loss": "a budget takes the place of the trade-offs; calibrate and frontier(…).within(…) take one",
    "max_deviation": "a budget takes the place of the trade-offs; calibrate and frontier(…).within(…) take one",
    "method": "a path is solved by the exact method",
}
_NOT_FOR_FRONTIERS = {
    "trade_offs": "the frontier has every trade-off; calibrate_path takes a list of them",
    "trade_off": "the frontier has every trade-off; frontier(…).at(trade_off) is one policy of it",
    "relevance_loss": "the frontier has every budget; frontier(…).within(relevance_loss=…) is one policy of it",
    "max_deviation": "the frontier has every budget; frontier(…).within(max_deviation=…) is one policy of it",
    "method": "a frontier is traced by the exact method",
    "draws": "the frontier is that of lotteries",
    **dict.fromkeys(("max_sorts", "time_limit"), "a frontier is certified, and every solve of it goes to its end"),
    "verbose": "a frontier takes hundreds of solves; calibrate prints those of one",
    "item_prices": "the frontier is that of relevance and deviation alone",
}


def _warn_of_gap(policy: Policy, stacklevel: int) -> None:
    """Say that a policy's gap is not what was asked, if so, at the caller's line."""
    info = policy.info
    if info is None or (policy.gap <= info.allowed_gap and info.status != TIME_LIMIT_REACHED):
        return
    spent = policy.problem.options.max_sorts is not None
    reason = "max_sorts was reached" if spent else "rounding, or the effort that is allowed, permits no less"
    reason = "time_limit was reached" if info.status == TIME_LIMIT_REACHED else reason
    asked = f", not the {info.allowed_gap:.2g} that was asked" if policy.gap > info.allowed_gap else ""
    said = f"proved a gap of {policy.gap:.2g}{asked}: {reason}. "
    missed = _missed_limits(policy)
    kept = "The lottery is valid." if missed <= _LIMIT_KEPT else f"It misses a floor or cap by {missed:.2g}."
    warnings.warn(said + kept, GapWarning, stacklevel=stacklevel)


_LIMIT_KEPT = 1e-8
"""What a floor or cap may be missed by and count as kept: rounding."""


def _missed_limits(policy: Policy) -> float:
    """The most by which expected shares miss a floor or cap."""
    terms = policy.problem.batch.terms
    if terms is None or terms.floors is None or terms.caps is None:
        return 0.0
    return float(np.maximum(terms.floors - policy.shares, policy.shares - terms.caps).max(initial=0.0))


def _warn_of_distance(found: Frontier, tolerance: float, max_vertices: int | None, stacklevel: int) -> None:
    """Say that a frontier is not as near to the curve as was asked, or a policy of it not as near to its optimum."""
    is_cut = max_vertices is not None and len(found) >= max_vertices
    if found.error <= max(tolerance, _EXACT_FRONTIER) or is_cut:
        for policy in found.policies:
            _warn_of_gap(policy, stacklevel + 1)
        return
    warnings.warn(
        f"certified to be within {found.error:.2g} of the curve, not the {tolerance:.2g} that was asked: rounding "
        "beside these scores and weights, or the effort that is allowed, permits no less. Every policy of it is valid.",
        GapWarning,
        stacklevel=stacklevel,
    )


_EXACT_FRONTIER = 3e-9
"""The distance that counts as none where every vertex is asked for: solves are exact to a part of it."""
