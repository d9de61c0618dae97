"""What a run chooses for itself, once, and keeps: trade-offs along users' own curves, and users that fit into a time.

They are stored with the results. Started again it reuses them, and it prints them as the options that repeat them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from excalibr._experiments.arms import ARMS, answer
from excalibr._experiments.plan import Plan, PlanPart
from excalibr._experiments.processes import measure_users, users_of
from excalibr._experiments.study import Study
from excalibr._parallel import one_blas_thread
from excalibr._types import Floats

__all__ = ["CHOSEN", "RunChoices", "chosen_trade_offs", "fitted_to_time", "measured_seconds", "stored_plan"]
__all__ += ["total_seconds"]

CHOSEN = ("users", "sample", "mip_users", "timed_users", "trade_offs", "regularisations")
"""The fields of a plan that a run may choose."""

_CURVE_USERS = 24
_WIDE = 1.0 / (1.0 + np.exp(-np.linspace(-13.0, 6.0, 39)))  # λ from 2e-6 to 0.9975: any scale of scores
_TIMED_CALL = 4.0  # seconds of the paper's stack for a user at a trade-off, all attributes together
_FEWEST = 20


@dataclass(frozen=True, slots=True)
class RunChoices:
    """A plan with everything chosen, and the seconds that a user takes in each of its parts."""

    plan: Plan
    seconds: dict[PlanPart, float]

    def as_record(self) -> dict[str, Any]:
        """What was chosen, as JSON has it."""
        record = self.plan.as_record()
        return {name: record[name] for name in CHOSEN}


def stored_plan(record: Mapping[str, Any], asked: Plan) -> Plan:
    """The plan that was asked, with what :meth:`RunChoices.as_record` stored."""
    kept: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in record.items()}
    return replace(asked, **kept)


def chosen_trade_offs(study: Study, plan: Plan) -> tuple[float, ...]:
    """Trade-offs at equal distances along the mean curve of relevance and deviation, whatever the scale of the scores.

    The curve is that of a few users by the exact methods, with both axes as shares of their range; labels are not
    looked at. The most calibrated end is always there: methods with other scales of score need it.
    """
    along = np.mean([_along(curve) for curve in _curves(study, plan)], axis=0)
    wanted = np.linspace(0.0, along[-1], plan.points)[1:-1]
    between = np.interp(wanted, along, np.log(_WIDE / (1 - _WIDE)))
    found = [float(f"{1.0 / (1.0 + math.exp(-each)):.2g}") for each in between]
    return tuple(sorted({*found, 0.9, 0.99}))


def measured_seconds(study: Study, plan: Plan, done: Callable[[PlanPart], bool]) -> dict[PlanPart, float]:
    """What a user takes in each part that is not done: two users at three trade-offs are tried."""
    some = replace(plan, trade_offs=tuple(plan.trade_offs[at] for at in _ends_and_middle(len(plan.trade_offs))))
    found = {}
    with one_blas_thread():
        for part in plan.parts(study.attributes):
            if done(part):
                found[part] = 0.0
                continue
            scale = len(plan.trade_offs) / len(some.trade_offs) if ARMS[part.arm].sweeps else 1.0
            users = study.sample(2).tolist()
            started = perf_counter()
            measure_users(study, some, part, users)
            found[part] = scale * (perf_counter() - started) / len(users)
    return found


def total_seconds(study: Study, choices: RunChoices, threads: int) -> float:
    """How long the parts and the runtime tables take."""
    plan = choices.plan
    work = sum(seconds * len(users_of(study, plan, part)) for part, seconds in choices.seconds.items())
    return work / threads + plan.timed_users * len(plan.trade_offs) * _TIMED_CALL * len(study.attributes) / 3


def fitted_to_time(study: Study, choices: RunChoices, threads: int, seconds: float) -> RunChoices:
    """Fewer users, of every kind in proportion, until it fits; a tenth of the time is kept for figures and report."""
    now, left = choices, 0.9 * seconds
    if total_seconds(study, now, threads) > left:
        now = replace(now, plan=replace(now.plan, timed_users=min(now.plan.timed_users, int(left / 900))))
    while (ratio := left / max(total_seconds(study, now, threads), 1e-9)) < 1.0 and now.plan.users > _FEWEST:
        share = min(ratio, 0.95)
        fewer: dict[str, Any] = {
            name: max(_FEWEST, int(share * min(getattr(now.plan, name), len(study))))
            for name in ("users", "sample", "mip_users")
        }
        if fewer == {name: getattr(now.plan, name) for name in fewer}:
            break
        now = replace(now, plan=replace(now.plan, **fewer))
    return now


def _curves(study: Study, plan: Plan) -> list[tuple[Floats, Floats]]:
    """(relevance, deviation) along the wide sweep, for every attribute by the L1 and the KL lottery."""
    found = []
    setting = plan.settings[0]
    with one_blas_thread():
        for name in study.attributes:
            for arm in ("excalibr", "excalibr-kl"):
                policies = [
                    answer(ARMS[arm], study.question(user, name, setting), plan.weightings[:1], _WIDE.tolist())[0]
                    for user in study.sample(_CURVE_USERS).tolist()
                ]
                relevance = np.mean([[each.relevance for each in own] for own in policies], axis=0)
                deviation = np.mean([[each.cost for each in own] for own in policies], axis=0)
                found.append((relevance, deviation))
    return found


def _along(curve: tuple[Floats, Floats]) -> Floats:
    """How far along a curve each of its points is, from 0 to 1."""
    steps = [np.abs(np.diff(values)) / (float(np.ptp(values)) or 1.0) for values in curve]
    lengths = np.concatenate(([0.0], np.cumsum(np.hypot(*steps))))
    return np.asarray(lengths / (lengths[-1] or 1.0))


def _ends_and_middle(size: int) -> list[int]:
    return sorted({0, size // 2, size - 1})
