"""Without a target: plain relevance, which is what a recommender shows, and variety among the chosen (MMR)."""

from __future__ import annotations

import numpy as np

from excalibr._native import kernel
from excalibr._policy import Policy
from excalibr._problem import Problem
from excalibr.baselines._single import centred_gains, one_ranking

__all__ = ["mmr", "top_k"]


def top_k(problem: Problem) -> Policy:
    """The k best scores, the best in the heaviest slot; equal scores by the lower index. The trade-off plays no part.

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
    heaviest first; ties as in :func:`excalibr.baselines.greedy`.

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
