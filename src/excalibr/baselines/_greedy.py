"""Re-rankers that choose one candidate at a time: calibrated (Steck 2018), by variety (MMR), by relevance alone."""

from __future__ import annotations

import numpy as np

from excalibr._arrays import frozen
from excalibr._native import kernel
from excalibr._options import KL_SMOOTHING
from excalibr._policy import Policy
from excalibr._problem import Problem, require_plain
from excalibr._types import Floats, Integers
from excalibr.positions import slots_by_weight

SMOOTHING = KL_SMOOTHING
"""Steck's α, the same as the exact KL lottery's."""


def greedy(problem: Problem) -> Policy:
    r"""The position-weighted calibrated greedy: fill the slots one by one, each with the best candidate at that point.

    The candidate for the next slot, with the slots of weights :math:`e_1, \dots, e_{m-1}` filled by
    :math:`c_1, \dots, c_{m-1}`, is

    .. math::

        c_m = \arg\max_i\;
        (1-\lambda) \Bigl(\sum_{t<m} e_t s_{c_t} + e_m s_i\Bigr) - \lambda\, \mathrm{KL}(q \,\|\, \tilde p),
        \qquad \tilde p = (1-\alpha)\, p + \alpha q,
        \qquad p = \frac{\sum_{t<m} e_t A_{c_t} + e_m A_i}{\sum_{t \le m} e_t}

    where s are scores, A memberships, q the target, λ the trade-off and α = 0.01 (Steck's smoothing; the paper writes
    plain KL, infinite wherever p has not reached a wanted category). KL is in natural logarithms and its terms with
    q_j = 0 are 0. The paper does not say how p of a half-filled list is normalised; here it is divided by the weight
    of the filled slots.

    Slots are filled heaviest first (ties: the earlier slot), which is the slot order unless weights rise somewhere.
    Candidates whose values agree to about 12 digits are a tie, and ties go to the lower index.

    Raises
    ------
    InputError
        Where the problem asks for more than the paper's: several attributes, a band, KL, weights, limits, pins, ….

    Examples
    --------
    The first pick is for relevance; then the list is all drama, and a comedy is worth its lower score:

    >>> from excalibr import Problem
    >>> problem = Problem.of([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
    >>> greedy(problem).rankings.tolist()
    [[0, 2]]
    >>> greedy(problem.with_trade_off(0.0)).rankings.tolist()
    [[0, 1]]
    """
    return one_ranking(problem, select(problem, falling_weights(problem)), "greedy")


def greedy_simple(problem: Problem) -> Policy:
    r"""Steck's calibrated greedy, which knows no positions: every chosen candidate counts the same.

    .. math::

        c_m = \arg\max_i\; (1-\lambda) \Bigl(\sum_{t<m} s_{c_t} + s_i\Bigr) - \lambda\, \mathrm{KL}(q \,\|\, \tilde p),
        \qquad p = \frac{1}{m} \Bigl(\sum_{t<m} A_{c_t} + A_i\Bigr)

    with p̃, α and ties as in :func:`greedy`. Scores are summed, not averaged, so λ weighs less here than in
    :func:`greedy`. The order of selection is the ranking: the first selected gets the heaviest slot. Errors as
    in :func:`greedy`.

    References
    ----------
    Steck, H. (2018). Calibrated recommendations. RecSys.

    Examples
    --------
    >>> from excalibr import Problem
    >>> problem = Problem.of([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
    >>> greedy_simple(problem).rankings.tolist()
    [[0, 2]]
    """
    return one_ranking(problem, select(problem, np.ones(problem.k)), "greedy-simple")


def greedy_projected(problem: Problem) -> Policy:
    r"""The position-weighted greedy with the unfilled slots taken to match the target.

    As :func:`greedy`, with p of a half-filled list not divided by the weight of its slots but completed with the
    target:

    .. math::

        p = \sum_{t<m} e_t A_{c_t} + e_m A_i + \Bigl(1 - \sum_{t \le m} e_t\Bigr)\, q

    The plain greedy judges its first pick as if it were the whole list, which favours candidates with many categories
    whichever they are; here a first pick is judged by how far it moves the whole from the target. The last slot is
    filled as by the plain greedy, where the two definitions of p agree. Errors as in :func:`greedy`.

    Examples
    --------
    Three categories are wanted. Plain, the weak candidate with all three goes first; projected, the best score does:

    >>> from excalibr import Problem
    >>> problem = Problem.of(
    ...     [1.0, 0.9, 0.8, 0.1], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]], [1 / 3, 1 / 3, 1 / 3], k=3
    ... )
    >>> greedy(problem).rankings.tolist()
    [[3, 0, 1]]
    >>> greedy_projected(problem).rankings.tolist()
    [[0, 1, 2]]
    """
    order = select(problem, falling_weights(problem), projected=True)
    return one_ranking(problem, order, "greedy-projected")


def select(
    problem: Problem, weights: Floats, *, projected: bool = False, candidates: Integers | None = None
) -> Integers:
    """The order of selection for slots of these weights, (k,); from ``candidates`` (rising indices), or from all."""
    memberships = problem.memberships
    return kernel.calibrated_order(
        np.arange(problem.n, dtype=np.int64) if candidates is None else candidates,
        centred_gains(problem),
        memberships.indptr,
        memberships.indices,
        memberships.values,
        problem.target,
        weights,
        problem.trade_off,
        SMOOTHING,
        projected,
    )


def top_k(problem: Problem) -> Policy:
    """The k best scores, the best in the heaviest slot; equal scores by the lower index. The trade-off plays no part.

    Errors as in :func:`excalibr.baselines.greedy`.

    Examples
    --------
    >>> from excalibr import Problem
    >>> top_k(Problem.of([0.5, 0.9, 0.9], [[1], [1], [1]], [1.0], k=2)).rankings.tolist()
    [[1, 2]]
    """
    best_first = np.argsort(-problem.scores, kind="stable").astype(np.int64)
    return one_ranking(problem, best_first[: problem.k], "top-k")


def mmr(problem: Problem) -> Policy:
    r"""Maximal marginal relevance (Carbonell and Goldstein 1998) by category overlap.

    .. math::

        c_m = \arg\max_i\; (1-\lambda)\, s_i - \lambda \max_{t<m} \sum_j \min(A_{ij}, A_{c_t j})

    The similarity of two candidates is the mass that their category rows share, :math:`1 - \tfrac12 \sum_j |A_{ij} -
    A_{lj}|`: 1 for equal rows, 0 for rows with no category in common; the first pick has nothing to be similar to. The
    target plays no part. λ is the problem's trade-off: 0 is relevance only. The order of selection fills the slots
    heaviest first; ties and errors as in :func:`excalibr.baselines.greedy`.

    References
    ----------
    Carbonell, J. and Goldstein, J. (1998). The use of MMR, diversity-based reranking for reordering documents and
    producing summaries. SIGIR.

    Examples
    --------
    After the first drama the comedy, although the second drama scores higher:

    >>> from excalibr import Problem
    >>> mmr(Problem.of([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [1.0, 0.0], k=2)).rankings.tolist()
    [[0, 2]]
    """
    rows = problem.memberships
    order = kernel.marginal_order(
        centred_gains(problem), rows.indptr, rows.indices, rows.values, problem.r, problem.k, problem.trade_off
    )
    return one_ranking(problem, order, "mmr")


def one_ranking(problem: Problem, order: Integers, method: str) -> Policy:
    """The policy that always shows one ranking: the candidate selected first gets the heaviest slot, and so on.

    With weights that fall with the position, or are equal, the order of selection is the ranking itself.
    """
    require_plain(problem, method)
    ranking = np.empty(problem.k, dtype=np.int64)
    ranking[slots_by_weight(problem.position_weights)] = order
    return Policy._solved(problem, frozen(ranking[None, :]), frozen(np.ones(1)), method=method)


def falling_weights(problem: Problem) -> Floats:
    """The position weights in the order in which slots are filled, heaviest first."""
    return problem.position_weights[slots_by_weight(problem.position_weights)]


def centred_gains(problem: Problem) -> Floats:
    """(1 − λ)·s less the middle of its range, so that an offset common to all scores changes nothing, ties included."""
    gains = problem.gains
    return np.asarray(gains - (0.5 * gains.max() + 0.5 * gains.min()))
