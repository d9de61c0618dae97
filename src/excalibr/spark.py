"""The same re-ranker on Spark: whole partitions as Arrow batches, items broadcast, one thread per task.

``repartition`` by user, ``sortWithinPartitions``, ``mapInArrow``: the last user of a batch is carried over to the next.
A task solves what a :class:`excalibr.Reranker` would solve for the same users, and so gives the same bits, however the
rows were partitioned. The extra ``spark`` brings pyspark; Spark itself needs a Java.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from excalibr._messages import counted
from excalibr._options import read_options, split_keywords
from excalibr.errors import InputError, InputTypeError
from excalibr.tables import Tables, review_items, warn_all
from excalibr.tables._arrow import pa, pc
from excalibr.tables._frames import check_columns_once, read_frame, type_name
from excalibr.tables._options import Everyone, read_tables
from excalibr.tables._reranker import Reranker, read_items_and_prices
from excalibr.tables._results import REPORT_COLUMNS, check_day
from excalibr.tables._users import UserStream

__all__ = ["SparkBalance", "balance", "lotteries", "report", "rerank"]

CHUNK_ROWS = 50_000
"""Rows that a task gathers before it solves them."""

USER, TABLE = "excalibr_user", "excalibr_table"
BY_USER = ("history", "targets", "users", "pinned", "shown")
FOR_ALL = ("prior", "prices", "everyone", "start")


def rerank(candidates: Any, items: Any, *, day: Hashable = None, **options: Any) -> Any:
    """One ranking per user, drawn as :meth:`excalibr.Reranker.rerank` does, as a Spark DataFrame.

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
        tables, which are sent to every worker, as one target for all and ``prior`` are.

    Returns
    -------
    DataFrame
        user, rank, item, score and the kept columns, in no particular order of users.
    """
    return _SparkRun.of(candidates, items, day, options, "slates").run()


def lotteries(candidates: Any, items: Any, **options: Any) -> Any:
    """Every ranking with its probability, as :meth:`excalibr.Reranker.lotteries`; parameters as for :func:`rerank`."""
    return _SparkRun.of(candidates, items, None, options, "lotteries").run()


def report(candidates: Any, items: Any, **options: Any) -> Any:
    """One row per user, as from :meth:`excalibr.Reranker.report`; parameters as for :func:`rerank`."""
    return _SparkRun.of(candidates, items, None, options, "report").run()


def balance(candidates: Any, items: Any, **options: Any) -> SparkBalance:
    """Prices for groups of items for everybody together, as :meth:`excalibr.Reranker.balance` finds them, bit for bit.

    The candidates are prepared and cached once; every pass is one job, whose tasks return sums by block of users (up
    to 20,000 users each is one), never their rows. Parameters as for :func:`rerank` and :meth:`Reranker.balance`.

    Returns
    -------
    SparkBalance
        With ``table``, for ``rerank(…, prices=…)`` here or anywhere, ``prices``, ``objective``, ``bound``, ``gap``.
    """
    from excalibr._population import sample_share
    from excalibr._spark_population import PartitionTask, SparkPopulation
    from excalibr.tables._search import PriceSearch, check_asked

    asked, others = split_keywords(options, Everyone)
    everyone = read_options(Everyone, {name: _local(value, name) for name, value in asked.items()})
    plan = _SparkRun.of(candidates, items, None, others, "slates")
    check_asked(plan.task.reranker, plan.names)
    search = PriceSearch.of(everyone, _collected(items), plan.names)
    warn_all(search.notes, stacklevel=2)
    frame = plan.prepared().persist()
    users = plan.frames["candidates"].select(_quoted(plan.user_ids["candidates"])).distinct().count()
    n_blocks = search.n_blocks(users)
    known, local = plan.task.shared.value
    shared = frame.sparkSession.sparkContext.broadcast((known, search.rows, local))
    part = PartitionTask(plan.task.reranker, plan.task.chunks, shared, n_blocks, plan.user_ids)
    try:
        population = SparkPopulation.of(frame, part, users, search.terms.n_groups, sample_share(users))
        outcome = search.run(population, n_blocks)
        before = population.run(np.zeros(population.n_groups)).group_shares
    finally:
        frame.unpersist()
    warn_all(outcome.notes, stacklevel=2)
    found = outcome.found
    proven = (found.objective, found.bound, found.relative_gap, len(found.history))
    return SparkBalance(pa.table(outcome.table), pa.table(outcome.summary(before)), *proven)


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        groups, passes = counted(len(self.prices), "group"), counted(self.passes, "pass", "passes")
        return (
            f"SparkBalance({groups}: objective {self.objective:.6g}, bound {self.bound:.6g}, "
            f"gap {100 * self.relative_gap:.3g} % after {passes})"
        )


@dataclass(frozen=True, eq=False)
class _SparkRun:
    """What is sent where: the frames that travel by user, and the task that every partition runs."""

    frames: dict[str, Any]
    user_ids: dict[str, str]
    task: _Task
    names: Tables

    @classmethod
    def of(cls, candidates: Any, items: Any, day: Hashable, options: dict[str, Any], what: str) -> _SparkRun:
        """The plan for these arguments of :func:`rerank`."""
        check_day(day)
        ranking, tables = split_keywords(options, Reranker)
        if "threads" in ranking:
            raise InputError("threads", f"is {ranking['threads']!r}", "be left out: a task of Spark has one")
        checked = read_tables(tables, Reranker, Everyone)
        travelling = {name: tables[name] for name in BY_USER if _is_by_user(name, tables.get(name), checked)}
        local = {name: _local(value, name) for name, value in tables.items() if name not in travelling}
        known, _ = read_items_and_prices(_collected(items), local.get("prices"), checked)
        if not _is_spark(candidates):
            hint = "excalibr.Reranker takes tables of this machine."
            raise InputTypeError("candidates", f"is a {type_name(candidates)}", "be a Spark DataFrame", hint)
        warn_all(review_items(known), stacklevel=3)
        user_ids = _user_columns({"candidates": candidates, **travelling}, checked)
        users = candidates[_quoted(user_ids["candidates"])]
        frames = {"candidates": candidates.filter(users.isNotNull()), **travelling}
        reranker = read_options(Reranker, ranking | {"threads": 1})
        shared = candidates.sparkSession.sparkContext.broadcast((known, local))
        return cls(frames, user_ids, _Task(reranker, shared, day, tuple(frames), what), checked)

    def run(self) -> Any:
        """The frame of the answers."""
        task = self.task
        return self.prepared().mapInArrow(lambda batches: task(batches), self._schema())

    def prepared(self) -> Any:
        """All rows, the users' together and in their order in each partition.

        The frames stand under one another: the user, the number of the table, and a column of rows for each table.
        """
        from pyspark.sql import functions

        parts = []
        for number, (name, frame) in enumerate(self.frames.items()):
            row = functions.struct(*(frame[_quoted(column)] for column in frame.columns))
            nothing = functions.lit(None)  # a schema is the type of a struct
            cells = {other: nothing.cast(rows.schema) for other, rows in self.frames.items()} | {name: row}
            columns = [cell.alias(_column(other)) for other, cell in cells.items()]
            keys = (frame[_quoted(self.user_ids[name])].alias(USER), functions.lit(number).alias(TABLE))
            parts.append(frame.select(*keys, *columns))
        united = reduce(lambda above, below: above.union(below), parts)
        return united.repartition(USER).sortWithinPartitions(USER, TABLE)

    def _schema(self) -> Any:
        """The columns of the answers, found by answering for no candidates; the candidates' own keep their types."""
        from pyspark.sql import types

        candidates, names = self.frames["candidates"], self.names
        written = {
            "slates": (names.rank, *(names.propensity_columns if names.propensities else ())),
            "lotteries": (names.rank, names.ranking, names.probability),
            "report": REPORT_COLUMNS,
        }[self.task.what]
        kept = {field.name: field for field in candidates.schema.fields if field.name not in written}
        new = {"int64": types.LongType(), "double": types.DoubleType(), "string": types.StringType()}
        found = {field.name: str(field.type) for field in self._empty_answer().schema}
        return types.StructType(
            [kept[name] if name in kept else types.StructField(name, new[kind]) for name, kind in found.items()]
        )

    def _empty_answer(self) -> Any:
        """The answer for no candidates, with any target: only its columns matter."""
        items, shared = self.task.shared.value
        any_of = {each.name: {items.categories[each.start].as_py(): 1.0} for each in items.parts}
        tables = {name: value for name, value in shared.items() if name not in (*BY_USER, "prior", "strength")}
        tables["targets"] = any_of if items.attributes else any_of[""]
        return self.task.answer(self.frames["candidates"].limit(0).toArrow(), tables)


@dataclass(frozen=True, eq=False)
class _Task:
    """What a worker does with a partition.

    ``shared`` is broadcast: what is known of the items, and the options with the tables that every worker has.
    """

    reranker: Reranker
    shared: Any
    day: Hashable
    tables: tuple[str, ...]
    what: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Answer for each user of the partition, a few thousand rows at a time."""
        for candidates, own in self.chunks(batches):
            yield from self.answer(candidates, self.shared.value[1] | own).to_batches()

    def chunks(self, batches: Iterator[Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The candidates of whole users, a few thousand rows at a time, with their rows of the other tables."""
        first = next(batches, None)
        if first is None:
            return
        pieces = (pa.Table.from_batches([batch]) for batch in chain([first], batches))
        for chunk in UserStream(pieces, first.schema, USER).chunks(CHUNK_ROWS):
            own = {name: _rows_of(chunk, number, name) for number, name in enumerate(self.tables)}
            candidates = own.pop("candidates")
            if len(candidates):
                yield candidates, own

    def answer(self, candidates: Any, tables: dict[str, Any]) -> Any:
        """The table that was asked for, of some whole users."""
        items, _ = self.shared.value
        asked = {"keep": self.what == "lotteries", "measured": self.what == "report"}
        results = self.reranker.solve(candidates, items, day=self.day, advance=lambda _: None, **asked, **tables)
        return getattr(results, self.what)()


def _rows_of(chunk: Any, number: int, name: str) -> Any:
    """One of the tables that travelled together."""
    rows = chunk.filter(pc.equal(chunk.column(TABLE), number)).column(_column(name))
    return pa.Table.from_struct_array(rows.combine_chunks())


def _column(table: str) -> str:
    return f"excalibr_{table}_row"


def _quoted(column: str) -> str:
    """A column's name as Spark must be given it, for which a dot is a path into a struct."""
    return f"`{column.replace('`', '``')}`"


def _user_columns(frames: Mapping[str, Any], names: Tables) -> dict[str, str]:
    """The column of users in each frame; where frames cannot travel together, an error says why."""
    from pyspark.sql.types import StringType

    users, kinds = {}, {}
    for name, frame in frames.items():
        names.check(name, frame.columns)
        check_columns_once(frame.columns, name)
        users[name] = names.column("user_id", name, frame.columns)
        kind = frame.schema[users[name]].dataType
        kinds[name] = "text" if isinstance(kind, StringType) else kind.simpleString()
        if (kinds[name] == "text") != (kinds["candidates"] == "text"):  # Spark would cast one of them
            found = f"is {kinds['candidates']} in candidates and {kinds[name]} in {name}"
            raise InputTypeError("user_id", found, "be of one type", "cast one of them.")
    return users


def _is_spark(table: Any) -> bool:
    return hasattr(table, "sparkSession")


def _is_by_user(name: str, table: Any, names: Tables) -> bool:
    """Whether it is a Spark DataFrame with rows of users, and not one target for all."""
    if not _is_spark(table):
        return False
    return name != "targets" or names.find("user_id", name, table.columns) is not None


def _collected(table: Any) -> Any:
    """A table of this machine."""
    return table.toArrow() if _is_spark(table) else table


def _local(value: Any, name: str) -> Any:
    """A table of this machine that can be sent, or a mapping of such tables; other options as they are."""
    if name not in (*BY_USER, *FOR_ALL) or value is None:
        return value
    if isinstance(value, Mapping):
        return {key: _collected(own) for key, own in value.items()}
    frame = read_frame(_collected(value), name)
    try:
        return frame.data.to_arrow()
    except (pa.ArrowException, TypeError):  # of columns that nobody asks for
        return frame.data.to_native()
