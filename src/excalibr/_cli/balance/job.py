"""One run of the command: passes over the files, each kept when it is done, then the prices, and slates if asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from excalibr._cli.balance.passes import KeptPasses
from excalibr._cli.options import WORDS, read_by_group
from excalibr._cli.rerank.feed import UserBlock
from excalibr._cli.rerank.inputs import Inputs, check_apart
from excalibr._cli.rerank.job import CHUNK_ROWS, Job, feed_of, read_job, run_job
from excalibr._cli.rerank.lock import locked
from excalibr._cli.rerank.parts import Run, StoredPart, fingerprint
from excalibr._cli.rerank.sources import TableSource, format_of
from excalibr._cli.rerank.streams import Scan
from excalibr._cli.signals import Stop
from excalibr._cli.speech import say, say_warning
from excalibr._messages import message_of
from excalibr._options import read_options
from excalibr._parallel import Advance, progress_bar
from excalibr._population import BatchCrowd, JoinedCrowd, Progress, sample_share
from excalibr._population.mixture import EVERY_BLOCK
from excalibr._population.scale import NO_STEP, Scale, Step
from excalibr.errors import InputError, explain
from excalibr.tables import ItemArrays, Tables, read_items
from excalibr.tables._options import Everyone
from excalibr.tables._results import Tally
from excalibr.tables._search import PriceSearch, check_asked, crowd_of, join_rows, sampled_rows

__all__ = ["run_balance"]

ALL = CHUNK_ROWS
"""Users of a chunk of the candidates: all of them."""


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
    step: Step = NO_STEP

    def parts(self) -> Iterator[BatchCrowd]:
        """The users of the files, some at a time; a bar on a terminal."""
        with self._bar("Balancing") as advance:
            for block in self._blocks():
                yield self._crowd(block.candidates, block.others, self.job.stop.checking(advance))

    def look(self, share: float) -> JoinedCrowd:
        """Go through the files once: count the users, measure their scores, and keep a share of them in memory."""
        users, scales, rows = 0, [], []
        sources = {"candidates": self.job.candidates, **self.job.by_user}
        names = {name: self.job.user_id(source) for name, source in sources.items()}
        with self._bar("Reading") as advance:
            for block in self._blocks():
                crowd = self._crowd(block.candidates, block.others)
                rows.append(sampled_rows(crowd, share, {"candidates": block.candidates, **block.others}, names))
                scales.append(crowd.scale)
                users += crowd.users
                advance(block.users)
        sample = join_rows(rows)
        sampled = self._crowd(sample.pop("candidates"), sample)
        return JoinedCrowd(self.parts, users, sampled.n_groups, Scale.join(scales), sampled.threads, sampled)

    def _blocks(self) -> Iterator[UserBlock]:
        feed = feed_of(self.job, self.run, self.scanned)
        while (block := feed.take(ALL)) is not None:
            self.job.stop.check()
            yield block

    def _crowd(self, candidates: Any, others: dict[str, Any], advance: Advance | None = None) -> BatchCrowd:
        options = read_options(Tables, self.job.options | self.for_all | others)
        how = {"n_blocks": self.n_blocks, "step": self.step, "advance": advance}
        return crowd_of(self.job.reranker, candidates, self.items, options, self.search.rows, **how)

    def _bar(self, what: str) -> Any:
        return progress_bar(what, self.scanned.users if self.scanned.is_sorted else None)


def run_balance(
    candidates: Path,
    items: Path,
    outputs: dict[str, Path | None],
    asked: dict[str, Any],
    day: str | None,
    options: dict[str, Any],
    stop: Stop,
    *,
    resume: bool,
) -> str:
    """Do it, or what is left of it, and say in a line what was found."""
    out, slates, report = outputs["out"], outputs["slates"], outputs["report"]
    assert out is not None
    if report is not None and slates is None:
        raise InputError(explain("--report", "is given without --slates", "go with --slates"))
    everyone, sources = _everyone(asked, stop)
    made = {"out": out} | ({"shares": outputs["shares"]} if outputs["shares"] is not None else {})
    for name, path in (("slates", slates), ("report", report)):
        if path is not None:
            format_of(path, name)
    job = read_job(candidates, items, made, None, options, stop)
    check_apart(made, [*job.sources, *sources])
    wanted = read_options(Everyone, everyone)
    check_asked(job.reranker, job.names)
    told = _prices(job, wanted, sources, asked, resume=resume)
    if slates is not None:
        named = {"slates": slates} | ({"report": report} if report is not None else {})
        told += " " + run_job(read_job(candidates, items, named, day, options | {"prices": out}, stop), resume=resume)
    return told


def _prices(job: Job, wanted: Everyone, sources: list[TableSource], asked: dict[str, Any], *, resume: bool) -> str:
    with locked(job.outputs.values()):
        inputs = Inputs.of([*job.sources, *sources])
        stamp = fingerprint({"job": job.stamp(inputs), "everyone": {name: str(value) for name, value in asked.items()}})
        run = Run(job.outputs, stamp, inputs)
        if resume and run.is_finished():
            run.clear()
            return "The prices are complete: nothing is left to do."
        run.begin(resume=resume)
        crowd, search, n_blocks = _crowd(job, run, wanted)
        outcome = search.run(crowd, n_blocks, _tell)
        tables = {"out": pa.table(outcome.table)}
        if "shares" in job.outputs:
            tables["shares"] = pa.table(outcome.summary(crowd.run(np.zeros(crowd.n_groups)).group_shares))
        run.keep(0, StoredPart(0, Tally()), tables)
        run.finish(1, job.stop.check)
    found = outcome.found
    proven = f"proven gap {100 * found.relative_gap:.3g} % after {len(found.history)} passes"
    return f"Prices of {len(search.labels):,} groups in {job.outputs['out']}: {proven}."


def _crowd(job: Job, run: Run, wanted: Everyone) -> tuple[JoinedCrowd, PriceSearch, int]:
    """The users of the files, what is searched for them, and in how many blocks; the run's folder keeps passes."""
    table = job.items.read()
    search = PriceSearch.of(wanted, table, job.names)
    for note in search.notes:
        say_warning(message_of(note.message, WORDS))
    scanned = job.scan_candidates()
    n_blocks = search.n_blocks(scanned.users)
    for_all = {name: source.read() for name, source in job.for_all.items()}
    work = _Work(job, run, read_items(table, job.names), search, for_all, n_blocks, scanned)
    crowd = work.look(sample_share(scanned.users))
    if n_blocks != EVERY_BLOCK:
        work = dataclasses.replace(work, step=crowd.scale.step(crowd.users))
        crowd = crowd.rounded(work.step, work.parts)
    kept = KeptPasses(run.folder, run.inputs.check)
    return dataclasses.replace(crowd, recall=kept.recall, keep=kept.keep), search, n_blocks


def _tell(progress: Progress) -> None:
    say(
        f"excalibr: pass {progress.number}: objective {progress.objective:.6g}, bound {progress.bound:.6g}, "
        f"gap {100 * progress.relative_gap:.3g} %"
    )


def _everyone(asked: dict[str, Any], stop: Stop) -> tuple[dict[str, Any], list[TableSource]]:
    """The keywords of :class:`Everyone`, with tables read, and the files that they came from."""
    sources, targets = [], {}
    for pair in asked["everyone"] or []:
        attribute, given, path = pair.partition("=")
        if not given:
            raise InputError(explain("--everyone", f"is {pair!r}", "be an attribute and a file: seller=targets.csv"))
        sources.append(TableSource(f"everyone {attribute}", Path(path), stop.check))
        targets[attribute] = sources[-1].read()
    read = {name: read_by_group(name, asked[name]) for name in ("everyone_weights", "everyone_floors", "everyone_caps")}
    start = None
    if asked["start"] is not None:
        sources.append(TableSource("start", asked["start"], stop.check))
        start = sources[-1].read()
    plain = {name: asked[name] for name in ("everyone_relative", "everyone_tolerance", "max_passes")}
    return {"everyone": targets or None, **read, **plain, "start": start}, sources
