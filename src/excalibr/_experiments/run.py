"""The experiment from data to results: prepare, work off the parts, time the methods, and gather what was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from excalibr import __version__
from excalibr._experiments.curves import Curves
from excalibr._experiments.plan import Plan
from excalibr._experiments.processes import Progress, run_parts
from excalibr._experiments.runtimes import Runtimes, time_methods
from excalibr._experiments.sources import Source
from excalibr._experiments.store import Store
from excalibr._experiments.study import Study, prepare
from excalibr._writing import beside
from excalibr.errors import InputError, explain

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
    source: Source, plan: Plan, out: Path, *, threads: int = 1, progress: Progress | None = None
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
        (means and standard errors), ``runtimes.parquet``, and ``parts/``, from which it goes on when started again.
    threads
        Processes to work on; the results do not depend on it.
    progress
        Is told what is being done, how much is done and how much there is.
    """
    if threads < 1:
        raise InputError(explain("threads", f"is {threads}", "be at least 1"))
    tell = progress or _silent
    manifest = {"excalibr": __version__, "data": source.name, "fingerprint": source.fingerprint(), **plan.as_record()}
    store = Store.open(out, manifest)
    study = _study(source, plan, store, tell)
    parts = list(plan.parts(study.attributes))
    run_parts(study, plan, store, parts, threads, tell)
    runtimes = _runtimes(study, plan, store, tell)
    tell("gathering the results", 0.0, 1.0)
    store.gather(parts)
    curves = Curves.of(store.read_part(part) for part in parts)
    store.write_table("summary.parquet", curves.summary())
    tell("gathering the results", 1.0, 1.0)
    return ExperimentResults(plan, study, curves, runtimes)


def _silent(*_: Any) -> None:
    """Nobody wants to know."""


def _study(source: Source, plan: Plan, store: Store, tell: Progress) -> Study:
    """The prepared data, stored so that the workers read it and a second start need not fit the model again."""
    if not store.study.is_file():
        tell("fitting EASE", 0.0, 1.0)
        made = prepare(source, plan)
        with beside(store.study) as path:
            made.save(path)
        tell("fitting EASE", 1.0, 1.0)
    return Study.load(store.study)


def _runtimes(study: Study, plan: Plan, store: Store, tell: Progress) -> Runtimes | None:
    if not plan.timed_users:
        return None
    if not (store.folder / "runtimes.parquet").is_file():
        store.write_table("runtimes.parquet", time_methods(study, plan, tell).columns())
    return Runtimes.from_columns(store.read_table("runtimes.parquet"))
