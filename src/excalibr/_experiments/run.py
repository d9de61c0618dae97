"""The experiment from data to results: prepare, work off the parts, time the methods, and gather what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from excalibr import __version__
from excalibr._experiments.choices import (
    RunChoices,
    chosen_trade_offs,
    fitted_to_time,
    measured_seconds,
    stored_plan,
    total_seconds,
)
from excalibr._experiments.curves import Curves
from excalibr._experiments.plan import Plan
from excalibr._experiments.processes import Progress, run_parts
from excalibr._experiments.runtimes import Runtimes, time_methods
from excalibr._experiments.scoring import FURTHER, check_memory, cost_of_fit, count_that_keeps
from excalibr._experiments.sources import Source
from excalibr._experiments.store import Store
from excalibr._experiments.study import Study, check_plan, from_scores, prepare
from excalibr._parallel import checked_threads
from excalibr._writing import beside

__all__ = ["ExperimentResults", "run_experiment"]


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentResults:
    """What an experiment found, for figures, tables and claims.

    Attributes
    ----------
    plan, study
        What was run, and on what.
    curves
        Means over users.
    runtimes
        None where nothing was timed.
    """

    plan: Plan
    study: Study
    curves: Curves
    runtimes: Runtimes | None


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

    Parameters
    ----------
    source
        From :func:`excalibr._experiments.movielens_source` or :func:`excalibr._experiments.table_source`.
    plan
        What to run.
    out
        The folder for its files: ``results.parquet`` (a row for each user, arm and trade-off), ``summary.parquet``
        (means and standard errors), ``runtimes.parquet``, ``choices.json``, and ``parts/``, from which it goes on
        when started again. Nothing is written there before everything that can be checked is.
    threads
        Processes to work on, by default one for each processor; the results do not depend on it.
    seconds
        The time that it may take: items, users and trade-offs are chosen to fit, once, and kept when it is started
        again.
    since
        When that time began, as :func:`time.monotonic` has it; by default now.
    progress
        Is told what is being done, how much is done and how much there is.
    said
        Is told in sentences what was chosen, and how long it will take.
    """
    tell, say, workers = progress or _silent, said or _silent, checked_threads(threads)
    until = None if seconds is None else (monotonic() if since is None else since) + seconds
    check_plan(source.often_liked(plan.min_item_count), plan)
    manifest = {"excalibr": __version__, "data": source.name, "fingerprint": source.fingerprint(), **plan.as_record()}
    manifest["seconds"] = seconds
    plan, further = _fitting(source, plan, Store(out), seconds, say)
    everything, source = len(source.liked.item_ids), source.often_liked(plan.min_item_count)
    if len(source.liked.item_ids) < everything:
        left = everything - len(source.liked.item_ids)
        say(
            f"left out: {left:,} items with fewer than {plan.min_item_count} positives; the catalogue is of the others."
        )
    check_plan(source, plan)
    store = Store.open(out, manifest)
    study = _study(source, plan, store, further, tell)
    choices = _choices(study, plan, store, workers, until, say)
    run_parts(study, choices.plan, store, choices.seconds, workers, tell)
    runtimes = _runtimes(study, choices.plan, store, tell)
    tell("gathering the results", 0.0, 1.0)
    store.gather(list(choices.seconds))
    curves = Curves.of(store.read_part(part) for part in choices.seconds)
    store.write_table("summary.parquet", curves.summary())
    tell("gathering the results", 1.0, 1.0)
    return ExperimentResults(choices.plan, study, curves, runtimes)


def _fitting(
    source: Source, plan: Plan, store: Store, seconds: float | None, say: Callable[[str], None]
) -> tuple[Plan, int]:
    """The plan with the items and regularisations that there is time for, and how many more of these may be tried.

    A fit that has no room in memory is refused.
    """
    stored = store.read_json("choices.json")
    if stored is not None or source.given is not None or store.study.is_file():
        return stored_plan(stored or {}, plan), 0
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


_FIT_SHARE = 4  # of the time, one part is for the model


def _choices(
    study: Study, plan: Plan, store: Store, threads: int, until: float | None, say: Callable[[str], None]
) -> RunChoices:
    """What was chosen when it was first started, or is now."""
    stored = store.read_json("choices.json")
    if stored is not None:
        plan = stored_plan(stored, plan)
    elif not plan.trade_offs:
        plan = replace(plan, trade_offs=chosen_trade_offs(study, plan))
    plan = replace(plan, users=min(plan.users, len(study)), **study.fitted)
    choices = RunChoices(plan, measured_seconds(study, plan, lambda part: store.path(part).is_file()))
    if until is not None and stored is None:
        choices = fitted_to_time(study, choices, threads, until - monotonic())
    store.write_json("choices.json", choices.as_record())
    left = _duration(total_seconds(study, choices, threads))
    say(f"{choices.plan.users} users at {len(choices.plan.trade_offs)} trade-offs: about {left} to go.")
    return choices


def _silent(*_: Any) -> None:
    """Nobody wants to know."""


def _study(source: Source, plan: Plan, store: Store, further: int, tell: Progress) -> Study:
    """The prepared data, stored so that the workers read it and a second start need not fit the model again."""
    if not store.study.is_file():
        made = prepare(source, plan, tell, further) if source.given is None else from_scores(source, plan)
        with beside(store.study) as path:
            made.save(path)
    return Study.load(store.study)


def _runtimes(study: Study, plan: Plan, store: Store, tell: Progress) -> Runtimes | None:
    if not plan.timed_users:
        return None
    if not (store.folder / "runtimes.parquet").is_file():
        store.write_table("runtimes.parquet", time_methods(study, plan, tell).columns())
    return Runtimes.from_columns(store.read_table("runtimes.parquet"))


def _duration(seconds: float) -> str:
    """Minutes, or seconds below two minutes.

    >>> _duration(40.0), _duration(310.0)
    ('40 s', '5 min')
    """
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"
