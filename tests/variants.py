"""Questions with every option of ``calibrate`` in every mix, each with its literal program for the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr import Band, Shown
from tests.literal import Floats, Literal

Generator = np.random.Generator


@dataclass(frozen=True)
class Question:
    """The arguments of ``calibrate``, and the same written out."""

    scores: Floats
    categories: Any
    target: Any
    options: dict[str, Any]
    literal: Literal


def any_question(rng: Generator, divergence: str) -> Question:
    """Two to five candidates, one to three slots, one or two attributes, each option with some probability."""
    n = int(rng.integers(2, 6))
    k = int(rng.integers(1, min(n, 3) + 1))
    sizes = [int(size) for size in rng.integers(1, 4, int(rng.integers(1, 3)))]
    rows = [_rows(rng, n, size) for size in sizes]
    bands = [_band(rng, part) for part in rows]
    named = len(sizes) > 1
    options: dict[str, Any] = {"k": k, "divergence": divergence}
    scores = rng.choice([rng.random(n), rng.integers(0, 3, n).astype(float), rng.normal(size=n)])
    weights = _weights(rng, k, options)
    stacked, low, high = np.hstack(rows), *(np.concatenate(edges) for edges in zip(*bands, strict=True))
    banned, seen, page = _shown(rng, n, k, stacked, options)
    literal = Literal(
        scores=scores,
        rows=stacked,
        weights=weights / weights.sum(),
        low=low / page - seen / weights.sum(),
        high=high / page - seen / weights.sum(),
        cost_weights=_cost_weights(rng, sizes, low, high, options),
        divergence=divergence,
        banned=banned,
        seen=seen / weights.sum(),
        pinned=_pinned(rng, n, k, banned, options),
        **_limits(rng, sizes, options),
        at_most=_at_most(rng, rows, k, options),
    )
    return Question(
        scores,
        dict(zip("ab", rows, strict=False)) if named else rows[0],
        _by_name([_target(low, high) for low, high in bands]),
        options,
        literal,
    )


def _by_name(parts: list[Any]) -> Any:
    return dict(zip("ab", parts, strict=False)) if len(parts) > 1 else parts[0]


def _rows(rng: Generator, n: int, r: int) -> Floats:
    if rng.random() < 0.5:
        return np.asarray(np.eye(r)[rng.integers(0, r, n)])
    rows = rng.random((n, r)) * (rng.random((n, r)) < 0.7) + 1e-3
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _band(rng: Generator, rows: Floats) -> tuple[Floats, Floats]:
    target: Floats = np.where(rng.random(rows.shape[1]) < 0.8, rng.random(rows.shape[1]) + 0.05, 0.0)
    target[int(rng.integers(len(target)))] += 0.1
    target /= target.sum()
    if rng.random() < 0.6:
        return target, target
    return target * 0.5, np.minimum(target * 1.5, 1.0)


def _target(low: Floats, high: Floats) -> Any:
    return low if low is high else Band(low, high)


def _weights(rng: Generator, k: int, options: dict[str, Any]) -> Floats:
    """Position weights before they are normalised, as given or by name."""
    if rng.random() < 0.5:
        return 1 / np.log(np.arange(2, k + 2))
    options["position_weights"] = rng.random(k) + 0.1
    return np.asarray(options["position_weights"])


def _cost_weights(rng: Generator, sizes: list[int], low: Floats, high: Floats, options: dict[str, Any]) -> Floats:
    parts, start = [np.ones(size) for size in sizes], 0
    if rng.random() < 0.3:
        options["category_weights"] = _by_name([rng.random(size) for size in sizes])
        given = options["category_weights"]
        parts = [np.array(given[name]) for name in "ab"[: len(sizes)]] if len(sizes) > 1 else [np.array(given)]
    if len(sizes) > 1 and rng.random() < 0.5:
        options["attribute_weights"] = {"a": 0.5, "b": 2.0}
        parts = [0.5 * parts[0], 2.0 * parts[1]]
    if rng.random() < 0.3:
        options["relative"] = True
        for part in parts:
            middle = ((low + high) / 2)[start : start + len(part)]
            part /= np.where(middle > 0, middle, middle[middle > 0].min())
            start += len(part)
    return np.concatenate(parts)


def _limits(rng: Generator, sizes: list[int], options: dict[str, Any]) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for name, least, most in (("floors", 0.0, 0.4), ("caps", 0.5, 1.0)):
        if rng.random() < 0.25:
            parts = [rng.uniform(least, most, size) for size in sizes]
            options[name] = _by_name(parts)
            limits[name] = np.concatenate(parts)
    return limits


def _pinned(rng: Generator, n: int, k: int, banned: tuple[int, ...], options: dict[str, Any]) -> dict[int, int] | None:
    free = [item for item in range(n) if item not in banned]
    if rng.random() < 0.7:
        return None
    options["pinned"] = {int(rng.integers(k)): int(rng.choice(free))}
    return dict(options["pinned"])


def _shown(
    rng: Generator, n: int, k: int, rows: Floats, options: dict[str, Any]
) -> tuple[tuple[int, ...], Floats, float]:
    """Who was shown, what that showed of each category, and the page's share of all attention so far."""
    if rng.random() < 0.7 or n <= k:
        return (), np.zeros(rows.shape[1]), 1.0
    item, attention = int(rng.integers(n)), float(rng.random() + 0.1)
    options["shown"] = Shown(candidates=[item], position_weights=[attention])
    own = options.get("position_weights", 1 / np.log(np.arange(2, k + 2))).sum()
    return (item,), attention * rows[item], own / (own + attention)


def _at_most(rng: Generator, rows: list[Floats], k: int, options: dict[str, Any]) -> tuple[int, ...] | None:
    one_hot = [bool(np.isin(part, (0.0, 1.0)).all()) for part in rows]
    if rng.random() < 0.6 or not any(one_hot):
        return None
    which = one_hot.index(True)
    limit = int(rng.integers(1, k + 1))
    options["max_per_category"] = limit if len(rows) == 1 else {"ab"[which]: limit}
    return tuple(limit if part is rows[which] else k for part in rows for _ in range(part.shape[1]))
