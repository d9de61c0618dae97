"""The best-scored items of each user, the same on every machine: of equal scores the lower index comes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excalibr._types import Integers
from excalibr.errors import InputError, explain

__all__ = ["TopItems", "top_items"]


@dataclass(frozen=True, slots=True, eq=False)
class TopItems:
    """The n best items of each user, best first.

    Attributes
    ----------
    items
        (users, n) item indices.
    scores
        (users, n) their scores, falling.
    """

    items: Integers
    scores: NDArray[np.floating[Any]]


def top_items(scores: NDArray[np.floating[Any]], n: int) -> TopItems:
    """The n largest scores of each row, and where they are; ties go to the lower index.

    Parameters
    ----------
    scores
        (users, items) without NaN; −inf marks an item that must not be shown.
    n
        How many, at most the number of items of each row that may be shown.

    Examples
    --------
    >>> top_items(np.array([[0.5, 0.9, 0.5, 0.5]]), 3).items.tolist()
    [[1, 0, 2]]
    """
    _check(scores, n)
    chosen = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    least = np.take_along_axis(scores, chosen, axis=1).min(axis=1, keepdims=True)
    for row in np.flatnonzero((scores >= least).sum(axis=1) > n):  # a tie at the edge: argpartition took any of them
        chosen[row] = np.argsort(-scores[row], kind="stable")[:n]
    chosen.sort(axis=1)
    values = np.take_along_axis(scores, chosen, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return TopItems(np.take_along_axis(chosen, order, axis=1), np.take_along_axis(values, order, axis=1))


def _check(scores: NDArray[np.floating[Any]], n: int) -> None:
    available = (scores > -np.inf).sum(axis=1)
    fewest = int(available.min(initial=scores.shape[1]))
    if not 1 <= n <= fewest:
        where = f" (row {int(np.argmin(available))})" if len(available) else ""
        must = f"be at least 1 and at most the {fewest} items that can be shown{where}"
        raise InputError(explain("n", f"is {n}", must))
