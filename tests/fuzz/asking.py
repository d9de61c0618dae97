"""Asks the library a question by its public functions, and keeps all that it says: figures, warnings, errors, time."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import excalibr
from tests.fuzz.questions import Floats, Question


@dataclass(frozen=True, eq=False)
class Told:
    """What a policy says of itself; arrays by attribute one after the other."""

    trade_off: float
    rankings: Floats
    weights: Floats
    gap: float
    prices: Floats | None
    shares: Floats
    deviations: Floats
    relevance: float
    cost: float
    objective: float
    how: str = ""
    """The engine and the status."""


@dataclass(frozen=True, eq=False)
class Curve:
    """What a frontier says of itself."""

    relevance: Floats
    deviation: Floats
    trade_offs: Floats
    error: float


@dataclass(frozen=True, eq=False)
class Answer:
    """Policies, or the error; the warnings that came; processor seconds."""

    policies: list[Told]
    curve: Curve | None = None
    error: Exception | None = None
    where: str = ""
    warnings: tuple[warnings.WarningMessage, ...] = ()
    seconds: float = 0.0

    def warned(self, category: type[Warning]) -> bool:
        return any(issubclass(each.category, category) for each in self.warnings)


def ask(question: Question) -> Answer:
    """The library's answer; whatever it raises is part of it."""
    policies, curve, error, where = [], None, None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()  # of this process: the machine may be busy with others
        try:
            found = _CALLS[question.call](question)
            curve = _curve(found) if question.call == "frontier" else None
            policies = [told(policy) for policy in (found.policies if curve is not None else found)]
        except Exception as raised:
            error, where = raised, traceback.format_exc(limit=-3)
        seconds = time.process_time() - start
    return Answer(policies, curve, error, where, tuple(caught), seconds)


def alone(question: Question, trade_off: float) -> Question:
    """The same page asked of ``calibrate`` at one trade-off."""
    others = {"trade_offs", "tolerance", "max_vertices", "relevance_loss", "max_deviation"}
    options = {name: value for name, value in question.options.items() if name not in others}
    return replace(question, call="calibrate", options=options | {"trade_off": trade_off})


def told(policy: excalibr.Policy) -> Told:
    """All figures of a policy, read once."""
    deviation = policy.deviation
    return Told(
        trade_off=policy.problem.trade_off,
        rankings=np.asarray(policy.rankings),
        weights=np.asarray(policy.weights),
        gap=float(policy.gap),
        prices=None if policy.prices is None else _flat(policy.prices),
        shares=_flat(policy.distribution),
        deviations=np.array(list(deviation.values()) if isinstance(deviation, dict) else [deviation]),
        relevance=policy.relevance,
        cost=policy.cost,
        objective=policy.objective,
        how="" if policy.info is None else f"{policy.info.engine}, {policy.info.status}",
    )


def _flat(by_attribute: Any) -> Floats:
    return np.concatenate(list(by_attribute.values())) if isinstance(by_attribute, dict) else np.asarray(by_attribute)


def _curve(frontier: Any) -> Curve:
    return Curve(frontier.relevance, frontier.deviation, frontier.trade_offs, frontier.error)


def _calibrate(question: Question) -> Any:
    return [excalibr.calibrate(question.scores, question.categories, question.target, **question.options)]


def _calibrate_path(question: Question) -> Any:
    return excalibr.calibrate_path(question.scores, question.categories, question.target, **question.options)


def _frontier(question: Question) -> Any:
    return excalibr.frontier(question.scores, question.categories, question.target, **question.options)


def _calibrate_batch(question: Question) -> Any:
    """The question as the second of three users; the others have the scores the other way round, and half the rows."""
    n = len(question.scores)
    half = max(1, n // 2)
    rows = sp.csr_array(question.categories)
    policies = excalibr.calibrate_batch(
        np.concatenate((question.scores[::-1], question.scores, question.scores[:half])),
        np.array([0, n, 2 * n, 2 * n + half]),
        sp.vstack((rows, rows, rows[:half])).tocsr(),
        question.target,
        threads=1,
        **question.options,
    )
    return [policies[1]]


_CALLS: dict[str, Callable[[Question], Any]] = {
    "calibrate": _calibrate,
    "calibrate_path": _calibrate_path,
    "frontier": _frontier,
    "calibrate_batch": _calibrate_batch,
}
