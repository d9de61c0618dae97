"""What a run chooses for itself, once, and keeps: trade-offs along users' own curves, and users that fit into a time.

They are stored with the results. Started again it reuses them, and it prints them as the options that repeat them.
"""

from __future__ import annotations

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

CHOSEN = ("min_item_count", "users", "sample", "mip_users", "timed_users", "trade_offs", "regularisations")
"""The fields of a plan that a run may choose."""

_CURVE_USERS = 24
_WIDE = np.linspace(-10.0, 7.0, 35)  # λ ÷ (1 − λ) from 5e-5 to 1,100 of the scores' spread, as logarithms
_ENDS = (9.0, 99.0)  # λ = 0.9 and 0.99, or more where scores spread more than 1
_TIMED_CALL = 4.0  # seconds of the paper's stack for a user at a trade-off, all attributes together
_SLOW_TAIL = 1.5  # branch and bound takes much longer for some users than for most
_FEWEST, _FEWEST_SLOW, _FEWEST_POINTS = 20, 5, 6


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
    """Trade-offs spread along the curves of relevance and deviation, whatever the scale of the scores.

    The curves are those of a few users by the exact methods, with both axes as shares of their range; labels are not
    looked at. A step counts as far as it goes on the curve on which it goes farthest, so that none has a wide gap. The
    most calibrated end is always there: methods with other scales of score need it.
    """
    setting = plan.settings[0]
    spread = float(np.ptp(study.scores[:, : setting.candidates], axis=1).mean()) or 1.0
    odds = spread * np.exp(_WIDE)
    steps = np.max([np.diff(_along(curve)) for curve in _curves(study, plan, odds)], axis=0)
    wanted = np.linspace(0.0, steps.sum(), plan.points)[1:-1]
    between = np.exp(np.interp(wanted, np.cumsum(steps), np.log(odds)))
    found = [_rounded_trade_off(each) for each in (*between.tolist(), *(max(spread, 1.0) * end for end in _ENDS))]
    return tuple(sorted(set(found)))


def _rounded_trade_off(odds: float) -> float:
    """λ from λ ÷ (1 − λ), to two digits of it, or of 1 − λ where that is smaller.

    >>> _rounded_trade_off(0.001234), _rounded_trade_off(99.0), _rounded_trade_off(123456.0)
    (0.0012, 0.99, 0.9999919)
    """
    if odds < 1.0:
        return float(f"{odds / (1.0 + odds):.2g}")
    rest = f"{1.0 / (1.0 + odds):.2g}"
    return round(1.0 - float(rest), 12)


def measured_seconds(study: Study, plan: Plan, done: Callable[[PlanPart], bool]) -> dict[PlanPart, float]:
    """What a user takes in each part that is not done: two users at three trade-offs are tried."""
    count = len(plan.trade_offs)
    ends_and_middle = sorted({0, count // 2, count - 1})
    some = replace(plan, trade_offs=tuple(plan.trade_offs[at] for at in ends_and_middle))
    found = {}
    with one_blas_thread():
        for part in plan.parts(study.attributes):
            if done(part):
                found[part] = 0.0
                continue
            scale = count / len(some.trade_offs) if ARMS[part.arm].sweeps else 1.0
            users = study.sample(2).tolist()
            started = perf_counter()
            measure_users(study, some, part, users)
            tail = _SLOW_TAIL if part.arm == "mip-greedy" and not study.attributes[part.attribute].one_hot else 1.0
            found[part] = tail * scale * (perf_counter() - started) / len(users)
    return found


def total_seconds(study: Study, choices: RunChoices, threads: int) -> float:
    """How long the parts and the runtime tables take."""
    plan = choices.plan
    work = sum(seconds * len(users_of(study, plan, part)) for part, seconds in choices.seconds.items())
    return work / threads + plan.timed_users * len(plan.trade_offs) * _TIMED_CALL * len(study.attributes) / 3


def fitted_to_time(study: Study, choices: RunChoices, threads: int, seconds: float) -> RunChoices:
    """Fewer users, of every kind in proportion, until it fits, and then fewer trade-offs.

    Some of the time is kept for figures and report.
    """
    now, left = choices, 0.85 * seconds - 10.0
    if total_seconds(study, now, threads) > left:
        now = replace(now, plan=replace(now.plan, timed_users=min(now.plan.timed_users, int(left / 900))))
    while (ratio := left / max(total_seconds(study, now, threads), 1e-9)) < 1.0 and now.plan.users > _FEWEST:
        share = min(ratio, 0.95)
        fewer: dict[str, Any] = {
            name: max(least, int(share * min(getattr(now.plan, name), len(study))))
            for name, least in (("users", _FEWEST), ("sample", _FEWEST_SLOW), ("mip_users", _FEWEST_SLOW))
        }
        if fewer == {name: getattr(now.plan, name) for name in fewer}:
            break
        now = replace(now, plan=replace(now.plan, **fewer))
    ratio = left / max(total_seconds(study, now, threads), 1e-9)
    return now if ratio >= 1.0 else _with_fewer_points(now, max(_FEWEST_POINTS, int(ratio * len(now.plan.trade_offs))))


def _with_fewer_points(choices: RunChoices, points: int) -> RunChoices:
    """So many of the trade-offs, from end to end, with the seconds that they take."""
    every = choices.plan.trade_offs
    if points >= len(every):
        return choices
    kept = tuple(every[round(place)] for place in np.linspace(0, len(every) - 1, points))
    seconds = {
        part: taken * (len(kept) / len(every) if ARMS[part.arm].sweeps else 1.0)
        for part, taken in choices.seconds.items()
    }
    return RunChoices(replace(choices.plan, trade_offs=kept), seconds)


def _curves(study: Study, plan: Plan, odds: Floats) -> list[tuple[Floats, Floats]]:
    """(relevance, deviation) from relevance only on, for every attribute by the L1 and the KL lottery."""
    found = []
    setting, sweep = plan.settings[0], [0.0, *(odds / (1.0 + odds)).tolist()]
    with one_blas_thread():
        for name in study.attributes:
            for arm in ("excalibr", "excalibr-kl"):
                policies = [
                    answer(ARMS[arm], study.question(user, name, setting), plan.weightings[:1], sweep)[0]
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
