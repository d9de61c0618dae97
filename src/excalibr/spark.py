"""The same re-ranker on Spark: whole partitions as Arrow batches, items broadcast, one thread a task.

``repartition`` by user, ``sortWithinPartitions``, ``mapInArrow``: the last user of a batch is carried over to the next.
A task solves what a :class:`excalibr.Reranker` would solve for the same users, and so gives the same bits, however the
rows were partitioned. The extra ``spark`` brings pyspark; Spark itself needs a Java.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from excalibr._options import read_options, split_keywords
from excalibr.errors import InputError, explain
from excalibr.tables import Tables, review_items, warn_all
from excalibr.tables._arrow import pa, pc
from excalibr.tables._frames import read_frame
from excalibr.tables._options import Everyone
from excalibr.tables._reranker import Reranker, read_items_and_prices
from excalibr.tables._results import REPORT_COLUMNS
from excalibr.tables._users import UserStream

__all__ = ["SparkBalance", "balance", "lotteries", "report", "rerank"]

CHUNK_ROWS = 50_000
"""Rows that a task gathers before it solves them."""

TABLE = "excalibr_table"
BY_USER = ("history", "targets", "users", "pinned", "shown")


def rerank(candidates: Any, items: Any, *, day: Hashable = None, **options: Any) -> Any:
    """One ranking a user, as :meth:`excalibr.Reranker.rerank` draws it, as a Spark DataFrame.

    Parameters
    ----------
    candidates
        Spark DataFrame with ``user_id``, ``item_id``, ``score`` and any other columns, which are kept.
    items
        Spark DataFrame or any local table; it is sent to every worker, so it must fit in memory.
    day
        As for :meth:`excalibr.Reranker.rerank`.
    **options
        Those of :class:`excalibr.Reranker` (``k``, ``trade_off``, ``seed``, …, but for ``threads``) and those of its
        methods (``history``, ``targets``, ``separator``, column names, …). ``history``, ``targets``, ``users``,
        ``pinned`` and ``shown`` may be Spark DataFrames, which travel with the candidates of the same user, or local
        tables, which are sent to every worker.

    Returns
    -------
    DataFrame
        user, rank, item, score and the kept columns, in no particular order of users.
    """
    return _SparkRun.of(candidates, items, day, options).run("slates")


def lotteries(candidates: Any, items: Any, **options: Any) -> Any:
    """Every ranking with its probability, as :meth:`excalibr.Reranker.lotteries`; parameters as for :func:`rerank`."""
    return _SparkRun.of(candidates, items, None, options).run("lotteries")


def report(candidates: Any, items: Any, **options: Any) -> Any:
    """A row a user, as :meth:`excalibr.Reranker.report`; parameters as for :func:`rerank`."""
    return _SparkRun.of(candidates, items, None, options).run("report")


def balance(candidates: Any, items: Any, **options: Any) -> SparkBalance:
    """Prices for groups of items for everybody together, as :meth:`excalibr.Reranker.balance` finds them, bit for bit.

    The candidates are prepared and cached once; every pass is one job, whose tasks return sums by block of users (up
    to 20,000 users each is one), never their rows. Parameters as for :func:`rerank` and :meth:`Reranker.balance`.

    Returns
    -------
    SparkBalance
        With ``table``, for ``rerank(…, prices=…)`` here or anywhere, ``prices``, ``objective``, ``bound``, ``gap``.
    """
    asked, others = split_keywords(options, Everyone)
    everyone = read_options(Everyone, asked)
    return _balanced(_SparkRun.of(candidates, items, None, others), _local(items, "items"), everyone)


@dataclass(frozen=True, eq=False)
class SparkBalance:
    """What :func:`balance` found: Arrow tables ``table`` and ``prices``, and what was proven, as of ``Balance``."""

    table: Any
    prices: Any
    objective: float
    bound: float
    relative_gap: float
    passes: int

    @property
    def gap(self) -> float:
        """bound − objective, at least 0."""
        return max(self.bound - self.objective, 0.0)


def _balanced(plan: _SparkRun, items: Any, asked: Everyone) -> SparkBalance:
    from excalibr._crowd_on_spark import PartOfCrowd, SparkCrowd
    from excalibr._population import sample_share
    from excalibr.tables._search import PriceSearch, check_asked

    check_asked(plan.task.reranker, plan.names)
    search = PriceSearch.of(asked, items, plan.names)
    warn_all(search.notes, stacklevel=3)
    frame = plan.prepared().persist()
    users = plan.frames["candidates"].select(plan.task.user_id).distinct().count()
    n_blocks = search.n_blocks(users)
    known, local = plan.task.shared.value
    shared = frame.sparkSession.sparkContext.broadcast((known, search.rows, local))
    names = {name: plan.names.column("user_id", name, each.columns) for name, each in plan.frames.items()}
    part = PartOfCrowd(plan.task.reranker, plan.task.chunks, shared, n_blocks, names)
    try:
        crowd = SparkCrowd.of(frame, part, users, search.terms.n_groups, sample_share(users))
        outcome = search.run(crowd, n_blocks)
        before = crowd.run(np.zeros(crowd.n_groups)).group_shares
    finally:
        frame.unpersist()
    found = outcome.found
    proven = (found.objective, found.bound, found.relative_gap, len(found.history))
    return SparkBalance(pa.table(outcome.table), pa.table(outcome.summary(before)), *proven)


@dataclass(frozen=True, eq=False)
class _SparkRun:
    """What is sent where: the frames that travel by user, and the task that every partition runs."""

    frames: dict[str, Any]
    task: _Task
    names: Tables

    @classmethod
    def of(cls, candidates: Any, items: Any, day: Hashable, options: dict[str, Any]) -> _SparkRun:
        """The plan for these arguments of :func:`rerank`."""
        ranking, tables = split_keywords(options, Reranker)
        if "threads" in ranking:
            raise InputError(explain("threads", f"is {ranking['threads']!r}", "be left out: a task of Spark has one"))
        checked = read_options(Tables, tables)
        travelling = {name: tables[name] for name in BY_USER if _is_spark(tables.get(name))}
        local = {name: _local(value, name) for name, value in tables.items() if name not in travelling}
        known, _ = read_items_and_prices(_local(items, "items"), local.get("prices"), checked)
        context = candidates.sparkSession.sparkContext
        warn_all(review_items(known), stacklevel=3)
        for name, frame in {"candidates": candidates, **travelling}.items():
            checked.check(name, frame.columns)
        user_id = checked.column("user_id", "candidates", candidates.columns)
        frames = {"candidates": candidates.filter(candidates[user_id].isNotNull()), **travelling}
        reranker = read_options(Reranker, ranking | {"threads": 1})
        return cls(frames, _Task(reranker, context.broadcast((known, local)), day, user_id, tuple(frames)), checked)

    def run(self, what: str) -> Any:
        """The frame of the answers."""
        task = dataclasses.replace(self.task, what=what)
        return self.prepared().mapInArrow(lambda batches: task(batches), self._schema(what))

    def prepared(self) -> Any:
        """All rows, the users' together and in their order in each partition."""
        return self._united().repartition(self.task.user_id).sortWithinPartitions(self.task.user_id, TABLE)

    def _united(self) -> Any:
        """All frames under one another: the user, the number of the table, and a column of rows for each table."""
        from pyspark.sql import functions

        united = None
        for number, (name, frame) in enumerate(self.frames.items()):
            row = functions.struct(*(frame[column] for column in frame.columns))
            nothing = functions.lit(None)  # a schema is the type of a struct
            cells = {other: nothing.cast(rows.schema) for other, rows in self.frames.items()} | {name: row}
            columns = [cell.alias(_column(other)) for other, cell in cells.items()]
            user = self.names.column("user_id", name, frame.columns)
            part = frame.select(frame[user].alias(self.task.user_id), functions.lit(number).alias(TABLE), *columns)
            united = part if united is None else united.union(part)
        return united

    def _schema(self, what: str) -> Any:
        """The columns of the answers, found by answering for no candidates; the candidates' own keep their types."""
        from pyspark.sql import types

        candidates = self.frames["candidates"]
        given = {field.name: field for field in candidates.schema.fields}
        new = {"int64": types.LongType(), "double": types.DoubleType(), "string": types.StringType()}
        answer = self.task.answer_nothing(candidates.limit(0).toArrow(), what)
        written = self.task.columns_written(what)
        return types.StructType(
            [
                given[field.name]
                if field.name in given and field.name not in written
                else types.StructField(field.name, new[str(field.type)])
                for field in answer.schema
            ]
        )


@dataclass(frozen=True, eq=False)
class _Task:
    """What a worker does with a partition.

    ``shared`` is broadcast: what is known of the items, and the options with the tables that every worker has.
    """

    reranker: Reranker
    shared: Any
    day: Hashable
    user_id: str
    tables: tuple[str, ...]
    what: str = "slates"

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Answer for each user of the partition, a few thousand rows at a time."""
        for candidates, own in self.chunks(batches):
            yield from self.answer(candidates, own, self.what).to_batches()

    def chunks(self, batches: Iterator[Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The candidates of whole users, a few thousand rows at a time, with their rows of the other tables."""
        first = next(batches, None)
        if first is None:
            return
        pieces = (pa.Table.from_batches([batch]) for batch in chain([first], batches))
        for chunk in UserStream(pieces, first.schema, self.user_id).chunks(CHUNK_ROWS):
            own = {name: _rows_of(chunk, number, name) for number, name in enumerate(self.tables)}
            candidates = own.pop("candidates")
            if len(candidates):
                yield candidates, own

    def answer(self, candidates: Any, own: dict[str, Any], what: str) -> Any:
        """The table that was asked for, of some whole users."""
        items, shared = self.shared.value
        asked = {"keep": what == "lotteries", "measured": what == "report"}
        results = self.reranker.solve(
            candidates, items, day=self.day, advance=lambda _: None, **asked, **(shared | own)
        )
        return getattr(results, what)()

    def answer_nothing(self, candidates: Any, what: str) -> Any:
        """The same for no candidates, with any target: only its columns matter."""
        items, shared = self.shared.value
        names = {name: value for name, value in shared.items() if name not in (*BY_USER, "prior", "strength")}
        plain = dataclasses.replace(self, shared=_Value((items, names)))
        any_of = {each.name: {items.categories[each.start].as_py(): 1.0} for each in items.parts}
        return plain.answer(candidates, {"targets": any_of if items.attributes else any_of[""]}, what)

    def columns_written(self, what: str) -> set[str]:
        """The columns that are ours, whatever the candidates have under their names."""
        options = read_options(Tables, self.shared.value[1] | {"targets": {}, "history": None})
        if what == "report":
            return set(REPORT_COLUMNS)
        if what == "slates":
            return {options.rank, *(options.propensity_columns if options.propensities else ())}
        return {options.rank, options.ranking, options.probability}


@dataclass(frozen=True)
class _Value:
    """What a broadcast is to a task: something with a value."""

    value: Any


def _rows_of(chunk: Any, number: int, name: str) -> Any:
    """One of the tables that travelled together."""
    rows = chunk.filter(pc.equal(chunk.column(TABLE), number)).column(_column(name))
    return pa.Table.from_struct_array(rows.combine_chunks())


def _column(table: str) -> str:
    return f"excalibr_{table}_row"


def _is_spark(table: Any) -> bool:
    return hasattr(table, "sparkSession")


def _local(value: Any, name: str) -> Any:
    """A table as Arrow, from Spark or from here; other options as they are."""
    if _is_spark(value):
        return value.toArrow()
    if value is None or isinstance(value, (str, int, float, Mapping, list, tuple)):
        return value
    return read_frame(value, name).data.to_arrow()
