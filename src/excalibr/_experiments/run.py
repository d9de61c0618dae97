"""The experiment from data to results: prepare, choose, work off the parts, time the methods, gather what was found.

What a run chooses for itself, items, trade-offs along users' own curves and users that fit into a time, it chooses
once: it is stored with the results, reused when it is started again, and printed as the options that repeat it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from excalibr import __version__
from excalibr._experiments.arms import ARMS, answer
from excalibr._experiments.curves import Curves
from excalibr._experiments.plan import Plan, PlanPart
from excalibr._experiments.processes import measure_users, run_parts
from excalibr._experiments.runtimes import Runtimes, time_methods
from excalibr._experiments.scoring import FURTHER, Progress, check_memory, cost_of_fit, count_that_keeps
from excalibr._experiments.sources import Source
from excalibr._experiments.store import Store, readable
from excalibr._experiments.study import Study, check_plan, prepare
from excalibr._parallel import checked_threads, one_blas_thread
from excalibr._types import Floats
from excalibr._writing import atomic_write

_CHOSEN = ("min_item_count", "users", "sample", "mip_users", "timed_users", "trade_offs", "regularisations")
_CURVE_USERS = 24
_WIDE = np.linspace(-10.0, 7.0, 35)  # λ ÷ (1 − λ) from 5e-5 to 1,100 of the scores' spread, as logarithms
_ENDS = (9.0, 99.0)  # λ = 0.9 and 0.99, or more where scores spread more than 1
_TIMED_CALL = 4.0  # seconds of the paper's stack for a user at a trade-off, all attributes together
_SLOW_TAIL = 1.5  # branch and bound takes much longer for some users than for most
_FEWEST, _FEWEST_SLOW, _FEWEST_POINTS = 20, 5, 6
_FIT_SHARE = 4  # of the time, one part is for the model


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentResults:
    """What an experiment found, for figures, tables and claims."""

    plan: Plan
    study: Study
    curves: Curves  # means over users
    runtimes: Runtimes | None  # None where nothing was timed


def run_experiment(
    source: Source,
    plan: Plan,
    out: Path,
    *,
    threads: int | None = None,
    seconds: float | None = None,
    since: float | None = None,
    progress: Progress | None = None,
    said: Callable[[str], None] | None = None,
) -> ExperimentResults:
    """Run an experiment, or go on with one that was interrupted, and store its results.

    ``out`` has ``results.parquet`` (a row for each user, arm and trade-off), ``summary.parquet`` (means and standard
    errors), ``runtimes.parquet``, ``choices.json``, and ``parts/``, from which it goes on when started again. Nothing
    is written there before everything that can be checked is. ``threads`` are processes, by default one for each
    processor; the results do not depend on it. Items, users and trade-offs are chosen to fit into ``seconds``, once;
    these began at ``since``, as :func:`time.monotonic` has it, by default now. ``progress`` is told what is being done,
    how much is done and how much there is; ``said``, in sentences, what was chosen and how long it will take.
    """
    report, say, workers = progress or (lambda *_: None), said or (lambda _: None), checked_threads(threads)
    until = None if seconds is None else (monotonic() if since is None else since) + seconds
    check_plan(source.often_liked(plan.min_item_count), plan)
    fingerprint = source.fingerprint(by_time=plan.split == "time")
    manifest = {"excalibr": __version__, "data": source.name, "fingerprint": fingerprint, **plan.as_record()}
    manifest["seconds"] = seconds
    plan, further = _fitting(source, plan, Store(out), seconds, say)
    everything, source = len(source.liked.item_ids), source.often_liked(plan.min_item_count)
    if left := everything - len(source.liked.item_ids):
        few = f"items with fewer than {plan.min_item_count} positives"
        say(f"left out: {left:,} {few}; the catalogue is of the others.")
    check_plan(source, plan)
    store = Store.open(out, manifest)
    study = _study(source, plan, store, further, report)
    choices = _choices(study, plan, store, workers, until, say)
    run_parts(study, choices.plan, store, choices.seconds, workers, report)
    runtimes = _runtimes(study, choices.plan, store, report)
    report("gathering the results", 0.0, 1.0)
    store.gather(list(choices.seconds))
    curves = Curves.of(store.read_part(part) for part in choices.seconds)
    store.write_table("summary.parquet", curves.summary())
    report("gathering the results", 1.0, 1.0)
    return ExperimentResults(choices.plan, study, curves, runtimes)


def _study(source: Source, plan: Plan, store: Store, further: int, report: Progress) -> Study:
    """The prepared data, stored so that the workers read it and a second start need not fit the model again."""
    if not store.study.is_file():
        made = prepare(source, plan, report, further)
        with atomic_write(store.study) as path:
            made.save(path)
    with readable(store.study):
        return Study.load(store.study)


def _runtimes(study: Study, plan: Plan, store: Store, report: Progress) -> Runtimes | None:
    if not plan.timed_users:
        return None
    if not (store.folder / "runtimes.parquet").is_file():
        store.write_table("runtimes.parquet", time_methods(study, plan, report).columns())
    return Runtimes.from_columns(store.read_table("runtimes.parquet"))


@dataclass(frozen=True, slots=True)
class RunChoices:
    """A plan with everything chosen, and the seconds that a user takes in each of its parts."""

    plan: Plan
    seconds: dict[PlanPart, float]


def _stored_plan(store: Store, asked: Plan) -> Plan | None:
    """The plan that was asked, with what ``choices.json`` stored; None where nothing was chosen yet."""
    record = store.read_json("choices.json")
    if record is None:
        return None
    with readable(store.folder / "choices.json"):
        kept: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in record.items()}
        return replace(asked, **kept)


def _fitting(
    source: Source, plan: Plan, store: Store, seconds: float | None, say: Callable[[str], None]
) -> tuple[Plan, int]:
    """The plan with the items and regularisations that there is time for, and how many more of these may be tried.

    A fit that has no room in memory is refused.
    """
    stored = _stored_plan(store, plan)
    if stored is not None or source.given is not None or store.study.is_file():
        return stored or plan, 0
    counts = source.often_liked(plan.min_item_count).liked.counts
    cost = cost_of_fit(len(counts))
    if seconds is not None and cost.seconds > seconds / _FIT_SHARE:
        least = count_that_keeps(counts, cost.items_within(seconds / _FIT_SHARE))
        plan = replace(plan, min_item_count=least)
        say(f"{cost}, too long for {_duration(seconds)}.")
        counts = source.often_liked(least).liked.counts
        cost = cost.of_items(len(counts))
    check_memory(cost, counts)
    fits = FURTHER + len(plan.regularisations)
    if seconds is not None:
        fits = min(fits, max(1, int(seconds / _FIT_SHARE / cost.seconds)))
    if fits < len(plan.regularisations):
        plan = replace(plan, regularisations=(plan.regularisations[len(plan.regularisations) // 2],))
    say(f"{cost}, {len(plan.regularisations)} of them or more.")
    return plan, max(fits - len(plan.regularisations), 0)


def _choices(
    study: Study, plan: Plan, store: Store, threads: int, until: float | None, say: Callable[[str], None]
) -> RunChoices:
    """What was chosen when it was first started, or is now."""
    stored = _stored_plan(store, plan)
    plan = stored or plan
    if not plan.trade_offs:
        plan = replace(plan, trade_offs=chosen_trade_offs(study, plan))
    plan = replace(plan, users=min(plan.users, len(study)), **study.fitted)
    choices = RunChoices(plan, _measured_seconds(study, plan, store))
    if until is not None and stored is None:
        choices = fitted_to_time(study, choices, threads, until - monotonic())
    chosen = choices.plan.as_record()
    store.write_json("choices.json", {name: chosen[name] for name in _CHOSEN})
    left = _duration(total_seconds(study, choices, threads))
    say(f"{choices.plan.users} users at {len(choices.plan.trade_offs)} trade-offs: about {left} to go.")
    return choices


def chosen_trade_offs(study: Study, plan: Plan) -> tuple[float, ...]:
    """Trade-offs spread along the curves of relevance and deviation, whatever the scale of the scores.

    The curves are those of a few users by the exact methods, with both axes as shares of their range; labels are not
    looked at. A step counts as far as it goes on the curve on which it goes farthest, so that none has a wide gap. The
    most calibrated end is always there: methods with other scales of score need it.
    """
    setting = plan.settings[0]
    spread = float(np.ptp(study.scores[:, : setting.candidates], axis=1).mean()) or 1.0
    odds = spread * np.exp(_WIDE)
    steps = np.max(_steps_along_curves(study, plan, odds), axis=0)
    wanted = np.linspace(0.0, steps.sum(), plan.points)[1:-1]
    between = np.exp(np.interp(wanted, np.cumsum(steps), np.log(odds)))
    found = [_rounded_trade_off(each) for each in (*between.tolist(), *(max(spread, 1.0) * end for end in _ENDS))]
    return tuple(sorted(set(found)))


def _steps_along_curves(study: Study, plan: Plan, odds: Floats) -> list[Floats]:
    """Shares of the way from relevance only on, for every attribute by the L1 and the KL lottery."""
    found = []
    setting, sweep = plan.settings[0], [0.0, *(odds / (1.0 + odds)).tolist()]
    with one_blas_thread():
        for name, arm in product(study.attributes, ("excalibr", "excalibr-kl")):
            policies = [
                answer(ARMS[arm], study.question(user, name, setting), plan.weightings[:1], sweep)[0]
                for user in study.sample(_CURVE_USERS).tolist()
            ]
            relevance = np.mean([[each.relevance for each in own] for own in policies], axis=0)
            deviation = np.mean([[each.cost for each in own] for own in policies], axis=0)
            across, up = (np.diff(values) / (float(np.ptp(values)) or 1.0) for values in (deviation, relevance))
            lengths = np.hypot(across, up)
            found.append(lengths / (lengths.sum() or 1.0))
    return found


def _rounded_trade_off(odds: float) -> float:
    """λ from λ ÷ (1 − λ), to two digits of it, or of 1 − λ where that is smaller.

    >>> _rounded_trade_off(0.001234), _rounded_trade_off(99.0), _rounded_trade_off(123456.0)
    (0.0012, 0.99, 0.9999919)
    """
    if odds < 1.0:
        return float(f"{odds / (1.0 + odds):.2g}")
    rest = f"{1.0 / (1.0 + odds):.2g}"
    return round(1.0 - float(rest), 12)


def _measured_seconds(study: Study, plan: Plan, store: Store) -> dict[PlanPart, float]:
    """What a user takes in each part that is not done: two users at three trade-offs are tried."""
    count, users = len(plan.trade_offs), study.sample(2).tolist()
    ends_and_middle = sorted({0, count // 2, count - 1})
    some = replace(plan, trade_offs=tuple(plan.trade_offs[at] for at in ends_and_middle))
    found = dict.fromkeys(plan.parts(study.attributes), 0.0)
    with one_blas_thread():
        for part in (part for part in found if not store.path(part).is_file()):
            scale = count / len(some.trade_offs) if ARMS[part.arm].sweeps else 1.0
            tail = _SLOW_TAIL if part.arm == "mip-greedy" and not study.attributes[part.attribute].one_hot else 1.0
            started = perf_counter()
            measure_users(study, some, part, users)
            found[part] = tail * scale * (perf_counter() - started) / len(users)
    return found


def total_seconds(study: Study, choices: RunChoices, threads: int) -> float:
    """How long the parts and the runtime tables take."""
    plan = choices.plan
    work = sum(seconds * len(study.users_of(plan, part)) for part, seconds in choices.seconds.items())
    return work / threads + plan.timed_users * len(plan.trade_offs) * _TIMED_CALL * len(study.attributes) / 3


def fitted_to_time(study: Study, choices: RunChoices, threads: int, seconds: float) -> RunChoices:
    """Fewer users, of every kind in proportion, until it fits, and then fewer trade-offs.

    Some of the time is kept for figures and report.
    """
    plan, taken, left = choices.plan, choices.seconds, 0.85 * seconds - 10.0
    if total_seconds(study, choices, threads) > left:
        plan = replace(plan, timed_users=max(0, min(plan.timed_users, int(left / 900))))
    while (ratio := left / max(total_seconds(study, RunChoices(plan, taken), threads), 1e-9)) < 1.0:
        fewer: dict[str, Any] = {
            name: max(least, int(min(ratio, 0.95) * min(getattr(plan, name), len(study))))
            for name, least in (("users", _FEWEST), ("sample", _FEWEST_SLOW), ("mip_users", _FEWEST_SLOW))
        }
        if plan.users <= _FEWEST or fewer == {name: getattr(plan, name) for name in fewer}:
            break
        plan = replace(plan, **fewer)
    every = plan.trade_offs
    points = max(_FEWEST_POINTS, int(ratio * len(every)))
    if points >= len(every):
        return RunChoices(plan, taken)
    kept = tuple(every[round(place)] for place in np.linspace(0, len(every) - 1, points))
    scales = {part: len(kept) / len(every) if ARMS[part.arm].sweeps else 1.0 for part in taken}
    return RunChoices(replace(plan, trade_offs=kept), {part: scales[part] * each for part, each in taken.items()})


def _duration(seconds: float) -> str:
    """Minutes, or seconds below two minutes.

    >>> _duration(40.0), _duration(310.0)
    ('40 s', '5 min')
    """
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"
