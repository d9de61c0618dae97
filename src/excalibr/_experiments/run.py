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
from excalibr._experiments.scoring import check_memory, cost_of_fit
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
        The time that it may take: users are chosen to fit, once, and kept when it is started again.
    progress
        Is told what is being done, how much is done and how much there is.
    said
        Is told in sentences what was chosen, and how long it will take.
    """
    tell, say, workers, started = progress or _silent, said or _silent, checked_threads(threads), monotonic()
    check_plan(source, plan)
    manifest = {"excalibr": __version__, "data": source.name, "fingerprint": source.fingerprint(), **plan.as_record()}
    manifest["seconds"] = seconds
    plan = _fitting(source, plan, seconds, say) if source.given is None else plan
    store = Store.open(out, manifest)
    study = _study(source, plan, store, tell)
    choices = _choices(study, plan, store, workers, seconds and seconds - (monotonic() - started), say)
    run_parts(study, choices.plan, store, choices.seconds, workers, tell)
    runtimes = _runtimes(study, choices.plan, store, tell)
    tell("gathering the results", 0.0, 1.0)
    store.gather(list(choices.seconds))
    curves = Curves.of(store.read_part(part) for part in choices.seconds)
    store.write_table("summary.parquet", curves.summary())
    tell("gathering the results", 1.0, 1.0)
    return ExperimentResults(choices.plan, study, curves, runtimes)


def _fitting(source: Source, plan: Plan, seconds: float | None, say: Callable[[str], None]) -> Plan:
    """The plan with as many regularisations as there is time for; a fit that has no room in memory is refused."""
    cost = cost_of_fit(len(source.liked.item_ids))
    check_memory(cost, source.liked.counts)
    say(f"{cost}, {len(plan.regularisations)} of them or more.")
    if seconds is not None and cost.seconds * (len(plan.regularisations) + 1) > seconds / 3:
        return replace(plan, regularisations=(plan.regularisations[len(plan.regularisations) // 2],))
    return plan


def _choices(
    study: Study, plan: Plan, store: Store, threads: int, seconds: float | None, say: Callable[[str], None]
) -> RunChoices:
    """What was chosen when it was first started, or is now."""
    stored = store.read_json("choices.json")
    if stored is not None:
        plan = stored_plan(stored, plan)
    elif not plan.trade_offs:
        plan = replace(plan, trade_offs=chosen_trade_offs(study, plan))
    plan = replace(plan, users=min(plan.users, len(study)))
    choices = RunChoices(plan, measured_seconds(study, plan, lambda part: store.path(part).is_file()))
    if seconds is not None and stored is None:
        choices = fitted_to_time(study, choices, threads, seconds)
    store.write_json("choices.json", choices.as_record())
    minutes = total_seconds(study, choices, threads) / 60
    say(f"{choices.plan.users} users at {len(choices.plan.trade_offs)} trade-offs: about {minutes:.0f} min to go.")
    return choices


def _silent(*_: Any) -> None:
    """Nobody wants to know."""


def _study(source: Source, plan: Plan, store: Store, tell: Progress) -> Study:
    """The prepared data, stored so that the workers read it and a second start need not fit the model again."""
    if not store.study.is_file():
        made = prepare(source, plan, tell) if source.given is None else from_scores(source, plan)
        with beside(store.study) as path:
            made.save(path)
    return Study.load(store.study)


def _runtimes(study: Study, plan: Plan, store: Store, tell: Progress) -> Runtimes | None:
    if not plan.timed_users:
        return None
    if not (store.folder / "runtimes.parquet").is_file():
        store.write_table("runtimes.parquet", time_methods(study, plan, tell).columns())
    return Runtimes.from_columns(store.read_table("runtimes.parquet"))
