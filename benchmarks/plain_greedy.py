"""The calibrated greedy as people write it in NumPy: candidate by candidate, and vectorised over candidates."""

from __future__ import annotations

import numpy as np

from benchmarks.problems import Instance
from excalibr._types import Floats
from excalibr.positions import position_weights

__all__ = ["greedy_at_once", "greedy_by_candidate"]

SMOOTHING = 0.01


def greedy_by_candidate(instance: Instance) -> list[int]:
    """For each slot try every candidate that is left, and take the best."""
    weights = position_weights(instance.position_weights, instance.k)
    chosen: list[int] = []
    filled, total = np.zeros(len(instance.target)), 0.0
    for weight in weights:
        best, best_value = -1, -np.inf
        for candidate in range(len(instance.scores)):
            if candidate in chosen:
                continue
            shares = (filled + weight * instance.categories[candidate]) / (total + weight)
            relevance = weight * instance.scores[candidate]
            value = (1.0 - instance.trade_off) * relevance - instance.trade_off * _divergence(instance.target, shares)
            if value > best_value:
                best, best_value = candidate, value
        chosen.append(best)
        filled, total = filled + weight * instance.categories[best], total + weight
    return chosen


def greedy_at_once(instance: Instance) -> list[int]:
    """For each slot the values of all candidates in a few array operations."""
    weights = position_weights(instance.position_weights, instance.k)
    left = np.ones(len(instance.scores), dtype=np.bool_)
    filled, total = np.zeros(len(instance.target)), 0.0
    chosen: list[int] = []
    for weight in weights:
        shares = (filled + weight * instance.categories) / (total + weight)
        relevance = weight * instance.scores
        values = (1.0 - instance.trade_off) * relevance - instance.trade_off * _divergence(instance.target, shares)
        best = int(np.argmax(np.where(left, values, -np.inf)))
        chosen.append(best)
        left[best] = False
        filled, total = filled + weight * instance.categories[best], total + weight
    return chosen


def _divergence(target: Floats, shares: Floats) -> Floats:
    """KL(target ‖ smoothed shares) over the last axis; categories that nobody wants count nothing."""
    wanted = target > 0.0
    smoothed = (1.0 - SMOOTHING) * shares[..., wanted] + SMOOTHING * target[wanted]
    return np.asarray((target[wanted] * np.log(target[wanted] / smoothed)).sum(axis=-1))
