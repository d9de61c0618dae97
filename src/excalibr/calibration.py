"""``calibrate`` and ``calibrate_path``: the functions that users of arrays meet."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from numpy.typing import ArrayLike

from excalibr import methods
from excalibr.errors import InputTypeError, TruncationWarning, explain, unknown_name
from excalibr.policy import Policy
from excalibr.problem import CategoriesLike, Limits, Problem

__all__ = ["calibrate", "calibrate_path"]

DEFAULT_TRADE_OFF = 0.5


def calibrate(
    scores: ArrayLike,
    categories: CategoriesLike,
    target: ArrayLike,
    *,
    k: int | None = None,
    trade_off: float | None = None,
    position_weights: str | ArrayLike = "log",
    divergence: str = "l1",
    method: str = "excalibr",
    draws: str = "lottery",
    tolerance: float = 1e-9,
    max_sorts: int | None = None,
) -> Policy:
    r"""Re-rank one user's candidates so that what is seen matches a target balance of categories.

    .. math::

        \max_{x}\; (1-\lambda)\, s^\top x \;-\; \lambda \sum_j \bigl|(A^\top x)_j - q_j\bigr|

    over the expected exposures :math:`x` of all lotteries over rankings. The default method returns the exact optimum
    as a lottery of at most r + 1 rankings, with a proof of how far from the optimum it can be (``policy.gap``).

    Parameters
    ----------
    scores
        s, (n,): relevance, finite, of any sign and scale. Their scale sets what ``trade_off`` means: with scores of
        0 to 1000, 0.5 is almost pure relevance.
    categories
        A, (n, r): the share of each category in each candidate, an array or ``scipy.sparse`` matrix; rows sum to 1.
    target
        q, (r,): the wanted share of each category; sums to 1.
    k
        Number of slots; None is n. With k = n there is little to gain: give the re-ranker more candidates than slots.
    trade_off
        λ: 0 is relevance only, 1 is calibration only. 0.5 when nothing is given.
    position_weights
        How much attention each slot gets: "log", "sqrt", "reciprocal", "uniform" or k numbers (normalised to sum 1).
    divergence
        "l1", the paper's.
    method
        A name of :data:`excalibr.methods.METHODS`.
    draws
        "lottery": the policy may mix rankings.
    tolerance
        Stop at this proven gap, relative to max(1, (1 − λ)·(max s − min s)).
    max_sorts
        Stop after so many sorts of the candidates, for a request in flight, with the gap that was proven by then.

    Returns
    -------
    Policy

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
    problem, limits = _asked(
        scores, categories, target, k, trade_off, position_weights, divergence, draws, tolerance, max_sorts
    )
    return methods.apply(method, problem, limits)


def calibrate_path(
    scores: ArrayLike,
    categories: CategoriesLike,
    target: ArrayLike,
    *,
    trade_offs: Iterable[float],
    k: int | None = None,
    position_weights: str | ArrayLike = "log",
    divergence: str = "l1",
    draws: str = "lottery",
    tolerance: float = 1e-9,
    max_sorts: int | None = None,
) -> list[Policy]:
    """The exact policies for several trade-offs, each solve started from the one before.

    ``trade_offs`` may come in any order; the policies come back in the same one, each equal to
    :func:`calibrate` at its trade-off within ``tolerance``. The other parameters are those of :func:`calibrate`;
    ``max_sorts`` is for each trade-off.

    Examples
    --------
    >>> import excalibr
    >>> path = excalibr.calibrate_path(
    ...     [0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1, trade_offs=[0.0, 0.9]
    ... )
    >>> [round(policy.deviation, 6) for policy in path]
    [1.0, 0.0]
    """
    problem, limits = _asked(
        scores, categories, target, k, 0.0, position_weights, divergence, draws, tolerance, max_sorts
    )
    problems = [problem.with_trade_off(trade_off) for trade_off in _listed(trade_offs)]
    from excalibr.solver import solve_path  # the kernel is loaded when it is first needed

    return solve_path(problems, limits)


def _listed(trade_offs: Iterable[float]) -> list[float]:
    try:
        return list(trade_offs)
    except TypeError:
        found = f"is {trade_offs!r}"
    raise InputTypeError(
        explain("trade_offs", found, "be a list of numbers from 0 to 1", "calibrate takes a single one.")
    )


def _asked(
    scores: ArrayLike,
    categories: CategoriesLike,
    target: ArrayLike,
    k: int | None,
    trade_off: float | None,
    position_weights: str | ArrayLike,
    divergence: str,
    draws: str,
    tolerance: float,
    max_sorts: int | None,
) -> tuple[Problem, Limits]:
    if divergence != "l1":
        raise unknown_name("divergence", divergence, ("l1",))
    if draws != "lottery":
        raise unknown_name("draws", draws, ("lottery",))
    problem = Problem.of(
        scores,
        categories,
        target,
        k=k,
        trade_off=DEFAULT_TRADE_OFF if trade_off is None else trade_off,
        position_weights=position_weights,
    )
    if problem.k == problem.n > 1:
        warnings.warn(
            f"k = n = {problem.n}: with no candidates to spare, re-ranking can only change the order. "
            "Pass more candidates than slots.",
            TruncationWarning,
            stacklevel=3,
        )
    return problem, Limits(tolerance=tolerance, max_sorts=max_sorts)
