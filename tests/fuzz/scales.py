"""The largest gap that every option leaves at scores of every scale, as a table for the documentation.

python -m tests.fuzz.scales > table.md
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import excalibr
from tests.fuzz.questions import Floats

SCALES = (1e-12, 1e-6, 1.0, 1e6, 1e12)
PROBLEMS = 40
N, K, R = 40, 10, 6

Generator = np.random.Generator


def plain(random: Generator, scale: float) -> dict[str, Any]:
    """Gamma scores of a scale, one category or two each, a Dirichlet target; λ that weighs both aims alike."""
    rows = np.eye(R)[random.integers(0, R, N)]
    rows = (rows + np.eye(R)[random.integers(0, R, N)]) / 2 if random.random() < 0.5 else rows
    return {
        "scores": random.gamma(2.0, size=N) * scale,
        "categories": rows,
        "target": random.dirichlet(np.ones(R)),
        "k": K,
        "trade_off": float(scale / (1 + scale)),
    }


def _with(**more: Any) -> Callable[[Generator, dict[str, Any]], dict[str, Any]]:
    return lambda random, asked: asked | more


def _band(random: Generator, asked: dict[str, Any]) -> dict[str, Any]:
    target = asked["target"]
    return asked | {"target": excalibr.Band(0.8 * target, 1.2 * target)}


def _attributes(random: Generator, asked: dict[str, Any]) -> dict[str, Any]:
    other = np.eye(3)[random.integers(0, 3, N)]
    return asked | {
        "categories": {"genre": asked["categories"], "age": other},
        "target": {"genre": asked["target"], "age": random.dirichlet(np.ones(3))},
        "attribute_weights": {"genre": 1.0, "age": 0.5},
    }


def _groups(random: Generator, asked: dict[str, Any]) -> dict[str, Any]:
    return asked | {"categories": np.eye(R)[random.integers(0, R, N)], "max_per_category": 4}


def _weights(random: Generator, asked: dict[str, Any]) -> dict[str, Any]:
    return asked | {"category_weights": random.uniform(0.1, 3.0, R)}


def _floors(random: Generator, asked: dict[str, Any]) -> dict[str, Any]:
    common = int(np.argmax(asked["categories"].sum(axis=0)))
    return asked | {"floors": {common: 0.05}, "caps": {common: 0.6}}


def _seen(random: Generator, asked: dict[str, Any]) -> dict[str, Any]:
    return asked | {"shown": excalibr.Shown([1, 2, 3]), "pinned": {2: 0}}


def _budget(name: str, amount: float) -> Callable[[Generator, dict[str, Any]], dict[str, Any]]:
    def asked_within(random: Generator, asked: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in asked.items() if key != "trade_off"} | {name: amount}

    return asked_within


OPTIONS: dict[str, Callable[[Generator, dict[str, Any]], dict[str, Any]]] = {
    "plain": _with(),
    "bands": _band,
    "`category_weights`": _weights,
    "`relative`": _with(relative=True),
    "two attributes": _attributes,
    "`floors` and `caps`": _floors,
    "`max_per_category`": _groups,
    "`shown` and `pinned`": _seen,
    "`relevance_loss`": _budget("relevance_loss", 0.05),
    "`max_deviation`": _budget("max_deviation", 0.4),
    "`normalise` at λ = 0.5": _with(normalise="range", trade_off=0.5),
    "plain at λ = 0.5": _with(trade_off=0.5),
}


def relative_gap(asked: dict[str, Any]) -> float | None:
    """The gap over (1 − λ)·(range of the scores); None where no policy keeps the limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            policy = excalibr.calibrate(**asked)
        except excalibr.errors.InfeasibleError:
            return None
    spread = float(np.ptp(policy.problem.scores)) * (1 - policy.problem.trade_off)
    return policy.gap / spread if spread > 0 else policy.gap


def largest(change: Callable[[Generator, dict[str, Any]], dict[str, Any]], scale: float, divergence: str) -> float:
    """The largest relative gap of so many problems, the same ones in every run."""
    random = np.random.default_rng(20_240)
    asked = [change(random, plain(random, scale)) | {"divergence": divergence} for _ in range(PROBLEMS)]
    found: Floats = np.array([gap for each in asked if (gap := relative_gap(each)) is not None])
    return float(found.max(initial=0.0))


def main() -> int:
    print("| option | divergence | " + " | ".join(f"{scale:g}" for scale in SCALES) + " |")
    print("|---|---|" + "---|" * len(SCALES))
    for name, change in OPTIONS.items():
        for divergence in ("l1", "kl"):
            gaps = [f"{largest(change, scale, divergence):.0e}" for scale in SCALES]
            print(f"| {name} | {divergence.upper()} | " + " | ".join(gaps) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
