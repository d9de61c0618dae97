"""Plain relevance: what a recommender shows when nobody asks for balance."""

from __future__ import annotations

import numpy as np

from excalibr._policy import Policy
from excalibr._problem import Problem
from excalibr.baselines._single import one_ranking

__all__ = ["top_k"]


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
