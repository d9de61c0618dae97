"""One run of the command: passes over the files, each kept when it is done, then the prices, and slates if asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from excalibr._cli.lock import locked
from excalibr._cli.options import WORDS, read_by_group
from excalibr._cli.printing import print_line, print_warning
from excalibr._cli.rerank.inputs import Inputs, TableSource, check_apart, format_of
from excalibr._cli.rerank.job import CHUNK_ROWS, Job, blocks_of, read_job, run_job
from excalibr._cli.rerank.parts import Run, StoredPart, check_columns
from excalibr._cli.rerank.user_blocks import Scan, UserBlock
from excalibr._cli.signals import Stop
from excalibr._options import read_options, split_keywords
from excalibr._parallel import Advance, progress_bar
from excalibr._population import BatchPopulation, PartitionedPopulation, PassSums, Progress, sample_share
from excalibr._population.mixture import BLOCK_PER_USER
from excalibr._population.score_scale import NO_ROUNDING, RoundingStep, ScoreScale
from excalibr._sparse import build_rows
from excalibr._types import Floats
from excalibr._writing import atomic_write
from excalibr.errors import InputError
from excalibr.tables import ItemArrays, Tables, read_items
from excalibr.tables._options import Everyone
from excalibr.tables._results import Tally
from excalibr.tables._search import PriceSearch, check_asked, join_rows, population_of, sampled_rows

ALL = CHUNK_ROWS  # users of a chunk of the candidates: all of them


@dataclass(frozen=True, eq=False)
class _Work:
    """What every pass needs: the job, the items and their groups, and tables for all users."""

    job: Job
    run: Run
    items: ItemArrays
    search: PriceSearch
    for_all: dict[str, Any]
    n_blocks: int
    scanned: Scan
    rounding: RoundingStep = NO_ROUNDING

    def parts(self) -> Iterator[BatchPopulation]:
        """The users of the files, some at a time; a bar on a terminal."""
        with self._bar("Balancing") as advance:
            for block in self._blocks():
                yield self._population(block.candidates, block.others, self.job.stop.checking(advance))

    def look(self, share: float) -> PartitionedPopulation:
        """Go through the files once: count the users, measure their scores, and keep a share of them in memory."""
        users, scales, rows = 0, [], []
        sources = {"candidates": self.job.candidates, **self.job.by_user}
        names = {name: self.job.user_id(source) for name, source in sources.items()}
        with self._bar("Reading") as advance:
            for block in self._blocks():
                population = self._population(block.candidates, block.others)
                rows.append(sampled_rows(population, share, {"candidates": block.candidates, **block.others}, names))
                scales.append(population.scale)
                users += population.users
                advance(block.users)
        sample = join_rows(rows)
        sampled = self._population(sample.pop("candidates"), sample)
        return PartitionedPopulation(
            self.parts, users, sampled.n_groups, ScoreScale.join(scales), sampled.threads, sampled
        )

    def _blocks(self) -> Iterator[UserBlock]:
        blocks = blocks_of(self.job, self.run, self.scanned)
        while (block := blocks.take(ALL)) is not None:
            self.job.stop.check()
            yield block

    def _population(self, candidates: Any, others: dict[str, Any], advance: Advance | None = None) -> BatchPopulation:
        options = read_options(Tables, self.job.options | self.for_all | others)
        how = {"n_blocks": self.n_blocks, "rounding": self.rounding, "advance": advance}
        return population_of(self.job.reranker, candidates, self.items, options, self.search.rows, **how)

    def _bar(self, what: str) -> Any:
        return progress_bar(what, self.scanned.users if self.scanned.is_sorted else None)


def run_balance(
    candidates: Path,
    items: Path,
    outputs: dict[str, Path],
    day: str | None,
    typed: dict[str, Any],
    stop: Stop,
    *,
    resume: bool,
) -> str:
    """Do it, or what is left of it, and say in a line what was found."""
    asked, options = split_keywords(typed, Everyone)
    made = {name: path for name, path in outputs.items() if name in ("out", "shares")}
    named = {name: path for name, path in outputs.items() if name not in made}
    if list(named) == ["report"]:
        raise InputError("--report", "is given without --slates", "go with --slates")
    everyone, sources = _everyone(asked, stop)
    for name, path in named.items():
        format_of(path, name)
    job = read_job(candidates, items, made, None, options, stop)
    check_apart(outputs, [*job.sources, *sources])
    if "slates" in outputs:
        check_columns("slates", outputs["slates"], job.candidates.schema)
    wanted = read_options(Everyone, everyone)
    check_asked(job.reranker, job.names)
    with locked(job.outputs.values()):
        inputs = Inputs([*job.sources, *sources])
        run = Run(job.outputs, {**job.asked, **asked}, inputs)
        summary = _prices(job, run, wanted, resume=resume)
        if named:
            priced = options | {"prices": outputs["out"]}
            summary += " " + run_job(read_job(candidates, items, named, day, priced, stop), resume=resume)
        with suppress(OSError):
            run.clear()
    return summary


def _prices(job: Job, run: Run, wanted: Everyone, *, resume: bool) -> str:
    """Find the prices, and say in a line how good they are; the run's folder stays, and says that they are found."""
    if resume and run.is_finished():
        return "The prices are complete: nothing is left to do."
    run.begin(resume=resume)
    with run.cleared_if_wrong():
        population, search, n_blocks = _read_population(job, run, wanted)
        outcome = search.run(population, n_blocks, _print_progress)
    tables = {"out": pa.table(outcome.table)}
    if "shares" in job.outputs:
        tables["shares"] = pa.table(outcome.summary(population.run(np.zeros(population.n_groups)).group_shares))
    run.keep(0, StoredPart(0, Tally()), tables)
    run.finish(1, job.stop.check, keep_folder=True)
    for note in outcome.notes:
        print_warning(note.message, WORDS)
    found = outcome.found
    proven = f"proven gap {100 * found.relative_gap:.3g} % after {found.passes_text}"
    return f"Prices of {len(search.groups.labels):,} groups in {job.outputs['out']}: {proven}."


def _read_population(job: Job, run: Run, wanted: Everyone) -> tuple[PartitionedPopulation, PriceSearch, int]:
    """The users of the files, what is searched for them, and in how many blocks; the run's folder keeps passes."""
    table = job.items.read()
    search = PriceSearch.of(wanted, table, job.names)
    for note in search.notes:
        print_warning(note.message, WORDS)
    scanned = job.scan(job.candidates)
    n_blocks = search.n_blocks(scanned.users)
    for_all = {name: source.read() for name, source in job.for_all.items()}
    work = _Work(job, run, read_items(table, job.names), search, for_all, n_blocks, scanned)
    population = work.look(sample_share(scanned.users))
    if n_blocks != BLOCK_PER_USER:
        work = dataclasses.replace(work, rounding=population.scale.rounding())
        population = population.with_rounding(work.rounding, work.parts)
    kept = KeptPasses(run.folder, run.inputs.check)
    return dataclasses.replace(population, load=kept.load, store=kept.store), search, n_blocks


def _print_progress(progress: Progress) -> None:
    proven = f"bound {progress.bound:.6g}, gap {100 * progress.relative_gap:.3g} %"
    print_line(f"excalibr: pass {progress.number}: objective {progress.objective:.6g}, {proven}")


def _everyone(asked: dict[str, Any], stop: Stop) -> tuple[dict[str, Any], list[TableSource]]:
    """The keywords of :class:`Everyone`, with tables read, and the files that they came from."""
    sources, targets = [], {}
    for pair in asked["everyone"] or []:
        attribute, _, path = pair.partition("=")
        if not attribute or not path:
            raise InputError("--everyone", f"is {pair!r}", "be an attribute and a file: seller=targets.csv")
        if attribute in targets:
            raise InputError("--everyone", f"has {attribute!r} twice", "have one file for each attribute")
        sources.append(TableSource(f"--everyone {attribute}", Path(path), stop.check))
        targets[attribute] = sources[-1].read()
    read: dict[str, Any] = {"everyone": targets or None}
    for name in ("everyone_weights", "everyone_floors", "everyone_caps"):
        read[name] = read_by_group(name, asked[name])
    if not any(read[name] for name in ("everyone", "everyone_floors", "everyone_caps")):
        must = "be given, or --everyone-floors or --everyone-caps"
        hint = "--everyone seller=targets.csv, a table of category and weight, wants these shares of the sellers."
        raise InputError("--everyone", "is missing", must, hint)
    if asked["start"] is not None:
        sources.append(TableSource("start", asked["start"], stop.check))
        read["start"] = sources[-1].read()
    return asked | read, sources


@dataclass
class KeptPasses:
    """Passes kept in a run's folder: a search that begins again gets them back in place of running them.

    Each is one file, with its number and the prices that it is of.
    """

    folder: Path
    check: Callable[[], None]  # called before one is kept: an error where the inputs changed under it
    asked: int = 0

    def load(self, prices: Floats) -> PassSums | None:
        """The next pass, if it was made at these very prices before."""
        self.asked += 1
        try:
            with np.load(self._path(), allow_pickle=False) as stored:
                kept: dict[str, Any] = dict(stored)
        except (OSError, ValueError, KeyError, EOFError):
            return None
        if not np.array_equal(kept["prices"], prices):
            return None
        shares = build_rows(kept["values"], kept["columns"], kept["starts"], len(prices))
        return PassSums(kept["bounds"], kept["own"], shares, kept["weights"], kept["blocks"])

    def store(self, prices: Floats, found: PassSums) -> None:
        """Store the pass that was asked for last."""
        self.check()
        with atomic_write(self._path()) as path, path.open("wb") as file:
            np.savez(
                file,
                prices=prices,
                own=found.objectives,
                bounds=found.bounds,
                values=found.shares.data,
                columns=found.shares.indices,
                starts=found.shares.indptr,
                weights=found.weights,
                blocks=found.blocks,
            )

    def _path(self) -> Path:
        return self.folder / f"pass-{self.asked:06d}.npz"
