"""On a real cluster of two executor processes; skipped, in one line, where there is no pyspark or no Java."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from excalibr import Reranker
from excalibr.errors import GapWarning, InputError, InputTypeError
from tests import golden
from tests.cli.reranking import run, write
from tests.cluster import SECOND_PASS, cluster, with_a_kill
from tests.population.tables import SELLERS, shop
from tests.tables.invented import GENRE_COLUMNS, Invented, invented_tables, one_by_one

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'excalibr[spark]'")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("there is no Java for Spark: install openjdk-17-jre-headless", allow_module_level=True)

from excalibr import spark as on_spark

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

OPTIONS: dict[str, Any] = {"k": 5, "trade_off": 0.4, "seed": 3, **GENRE_COLUMNS}
PLAIN: dict[str, Any] = {"k": 5, "trade_off": 0.4, "seed": 3}
LOCAL = Reranker(k=5, trade_off=0.4, seed=3)


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    settings = {
        "spark.sql.shuffle.partitions": 4,
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": 7,
    }
    with cluster(settings) as started:
        yield started


@pytest.fixture(scope="module")
def tables() -> Invented:
    return invented_tables(users=60, text_ids=True)


def in_order(frame: Any, *columns: str) -> Any:
    return frame.toArrow().sort_by([(column, "ascending") for column in ("user_id", *columns)])


def frames(session: Any, tables: Invented, partitions: int = 3) -> tuple[Any, Any]:
    """Candidates and history in any order, in so many partitions."""
    mixed = tables.shuffled(partitions)
    given = (session.createDataFrame(table).repartition(partitions) for table in (mixed.candidates, mixed.history))
    candidates, history = given
    return candidates, history


def test_spark_draws_the_visits_that_a_local_reranker_draws(session: Any, tables: Invented) -> None:
    candidates, history = frames(session, tables)
    users = pa.table({"user_id": tables.candidates["user_id"].unique().to_pylist()[:3], "visit": [2, 0, 70]})
    asked = {"visit": 3, "propensities": True}
    slates = on_spark.rerank(
        candidates, tables.items, history=history, users=session.createDataFrame(users), **asked, **OPTIONS
    )
    local = LOCAL.rerank(tables.candidates, tables.items, history=tables.history, users=users, **asked, **GENRE_COLUMNS)
    assert in_order(slates, "rank").to_pydict() == local.to_pydict()


@pytest.mark.parametrize("partitions", [1, 5])
def test_spark_gives_what_a_local_reranker_gives_to_the_bit(session: Any, tables: Invented, partitions: int) -> None:
    candidates, history = frames(session, tables, partitions)
    slates = on_spark.rerank(candidates, tables.items, history=history, **OPTIONS)
    local = LOCAL.rerank(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
    assert in_order(slates, "rank").to_pydict() == local.to_pydict()
    assert slates.columns == local.column_names


def test_one_by_one_threads_the_command_line_and_spark_agree(session: Any, tables: Invented, tmp_path: Path) -> None:
    alone = one_by_one(tables, k=5, trade_off=0.4, seed=3)
    by_threads = [
        replace(LOCAL, threads=threads).rerank(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
        for threads in (1, 2)
    ]
    assert run(write(tmp_path, tables)).exit_code == 0
    candidates, history = frames(session, tables)
    by_spark = in_order(on_spark.rerank(candidates, tables.items, history=history, **OPTIONS), "rank")
    for slates in (*by_threads, pq.read_table(tmp_path / "slates.parquet"), by_spark):
        assert slates.to_pydict() == by_threads[0].to_pydict()
    assert by_spark.column("item_id").to_pylist() == [item for user in sorted(alone) for item in alone[user]]


def test_items_and_history_may_be_local_or_on_spark(session: Any, tables: Invented) -> None:
    candidates, history = frames(session, tables)
    items = session.createDataFrame(tables.items)
    one = on_spark.rerank(candidates, items, history=tables.history.to_pandas(), day="2030-01-31", **OPTIONS)
    other = on_spark.rerank(candidates, tables.items, history=history, day="2030-01-31", **OPTIONS)
    assert in_order(one, "rank").equals(in_order(other, "rank"))


def test_lotteries_and_reports_are_those_of_a_local_reranker(session: Any, tables: Invented) -> None:
    candidates, history = frames(session, tables)
    given = (tables.candidates, tables.items)
    lotteries = on_spark.lotteries(candidates, tables.items, history=history, **OPTIONS)
    assert in_order(lotteries, "ranking", "rank").to_pydict() == (
        LOCAL.lotteries(*given, history=tables.history, **GENRE_COLUMNS).to_pydict()
    )
    report = on_spark.report(candidates, tables.items, history=history, **OPTIONS)
    assert in_order(report).to_pydict() == LOCAL.report(*given, history=tables.history, **GENRE_COLUMNS).to_pydict()


def test_slates_lotteries_and_reports_are_what_they_were(session: Any) -> None:
    made = golden.tables()
    found: dict[str, str] = {}
    candidates, history = frames(session, made)
    for name, options in golden.SETTINGS.items():
        asked: dict[str, Any] = {"history": history, **golden.COMMON, **options, **GENRE_COLUMNS}
        answers = {
            "slates": in_order(on_spark.rerank(candidates, made.items, propensities=True, **asked), "rank"),
            "lotteries": in_order(on_spark.lotteries(candidates, made.items, **asked), "ranking", "rank"),
            "report": in_order(on_spark.report(candidates, made.items, **asked)),
        }
        found |= {f"{name}: {what}": golden.of_table(each, golden.ROUNDED.get(name)) for what, each in answers.items()}
    assert golden.changed(found) == []


def test_an_executor_that_is_killed_loses_and_doubles_nothing(session: Any, tables: Invented) -> None:
    candidates, history = frames(session, tables)
    slates = on_spark.rerank(candidates, tables.items, history=history, **OPTIONS)
    killed = with_a_kill(session, lambda: in_order(slates, "rank"))
    local = LOCAL.rerank(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
    assert killed.answer.to_pydict() == local.to_pydict()


def test_a_mistyped_option_is_answered_before_anything_runs(session: Any, tables: Invented) -> None:
    candidates, history = frames(session, tables)
    with pytest.raises(ValueError, match="option: is 'trade_of'"):
        on_spark.rerank(candidates, tables.items, history=history, trade_of=0.5)


def test_attributes_pinned_and_shown_items_are_those_of_a_local_reranker(session: Any, tables: Invented) -> None:
    decades = pa.array([("1980s", "1990s")[number % 2] for number in range(len(tables.items))])
    items = tables.items.append_column("decade", decades)
    shown = tables.candidates.take(list(range(0, 1500, 25))).select(["user_id", "item_id"])
    pinned = tables.candidates.take(list(range(1, 1500, 25))).select(["user_id", "item_id"])
    pinned = pinned.append_column("rank", pa.array([1] * 60))
    asked: dict[str, Any] = {"category": ["genres", "decade"], "separator": "|", "attribute_weights": {"decade": 0.5}}
    candidates, history = frames(session, tables)
    beside = {"history": history, "shown": session.createDataFrame(shown), "pinned": pinned}
    slates = on_spark.rerank(candidates, items, **beside, k=5, trade_off=0.4, seed=3, **asked)
    local = Reranker(k=5, trade_off=0.4, seed=3, attribute_weights=asked.pop("attribute_weights"))
    expected = local.rerank(tables.candidates, items, history=tables.history, shown=shown, pinned=pinned, **asked)
    assert in_order(slates, "rank").to_pydict() == expected.to_pydict()


BALANCED: dict[str, Any] = {
    "everyone": {"seller": dict(zip(SELLERS, (0.4, 0.3, 0.1, 0.2), strict=True))},
    "everyone_weights": {"seller": 0.5},
}


@pytest.mark.parametrize("own_blocks", [20_000, 50])
def test_prices_for_everybody_are_those_of_one_machine_to_the_bit(
    session: Any, own_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excalibr.tables._search.OWN_BLOCKS", own_blocks)
    candidates, items, history = shop(users=700, n=8)
    local = LOCAL.balance(candidates, items, history=history, **BALANCED)
    for partitions in (1, 3):
        frame = session.createDataFrame(candidates).repartition(partitions, "item_id")
        found = on_spark.balance(frame, items, history=session.createDataFrame(history), **PLAIN, **BALANCED)
        assert found.table.equals(local.table)
        assert (found.objective, found.bound) == (local.objective, local.bound)
        assert found.prices["share_before"].to_pylist() == pytest.approx(local.shares_before.tolist(), abs=1e-12)


def test_an_executor_that_is_killed_changes_no_price(session: Any) -> None:
    candidates, items, history = shop(users=120)
    local = LOCAL.balance(candidates, items, history=history, **BALANCED)
    frame = session.createDataFrame(candidates)

    def balance() -> Any:
        return on_spark.balance(frame, items, history=history, **PLAIN, **BALANCED)

    killed = with_a_kill(session, balance, job=SECOND_PASS)
    assert killed.answer.table.equals(local.table)


def test_slates_on_spark_take_the_prices(session: Any) -> None:
    candidates, items, history = shop(users=60)
    balance = LOCAL.balance(candidates, items, history=history, **BALANCED)
    frame = session.createDataFrame(candidates)
    slates = on_spark.rerank(frame, items, history=history, prices=balance.table, **PLAIN)
    assert in_order(slates, "rank").to_pydict() == balance.slates().to_pydict()


def test_few_passes_end_with_a_warning_of_the_gap(session: Any) -> None:
    candidates, items, history = shop(users=60)
    few: dict[str, Any] = {**PLAIN, **BALANCED, "max_passes": 1, "everyone_tolerance": 1e-9}
    with pytest.warns(GapWarning, match="stopped after 1 pass at a gap of"):
        found = on_spark.balance(session.createDataFrame(candidates), items, history=history, **few)
    assert found.passes == 1


def test_columns_may_have_any_name_that_spark_can_write(session: Any, tables: Invented) -> None:
    candidates, history = frames(session, tables)
    named = candidates.withColumnsRenamed({"user_id": "the.user", "source": "a `source`"})
    slates = on_spark.rerank(named, tables.items, history=history, user_id="the.user", **OPTIONS)
    local = LOCAL.rerank(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
    found = slates.toArrow().sort_by([("the.user", "ascending"), ("rank", "ascending")])
    assert found.column_names == ["the.user", "rank", "item_id", "score", "a `source`"]
    assert found.rename_columns(local.column_names).to_pydict() == local.to_pydict()


def test_targets_for_all_may_be_on_spark_alone_or_by_attribute(session: Any, tables: Invented) -> None:
    candidates, _ = frames(session, tables)
    wanted = pa.table({"category": ["drama", "epic"], "weight": [1.0, 3.0]})
    local = LOCAL.rerank(tables.candidates, tables.items, targets=wanted, **GENRE_COLUMNS)
    frame = session.createDataFrame(wanted)
    for targets, columns in ((frame, {}), ({"genres": frame}, {"category": ["genres"]})):
        slates = on_spark.rerank(candidates, tables.items, targets=targets, **OPTIONS | columns)
        assert in_order(slates, "rank").to_pydict() == local.to_pydict()


def test_what_cannot_travel_together_is_told_before_anything_runs(session: Any, tables: Invented) -> None:
    candidates, history = frames(session, tables)
    numbered = history.withColumn("user_id", history["item_id"])
    with pytest.raises(InputTypeError, match="user_id: is text in candidates and bigint in history, must be of one"):
        on_spark.rerank(candidates, tables.items, history=numbered, **OPTIONS)
    with pytest.raises(InputError, match="candidates: has the column 'score' twice"):
        on_spark.rerank(candidates.withColumnRenamed("source", "score"), tables.items, history=history, **OPTIONS)
    with pytest.raises(
        InputTypeError, match="candidates: is a pyarrow.*, must be a Spark DataFrame. Hint: excalibr.Re"
    ):
        on_spark.rerank(tables.candidates, tables.items, history=history, **OPTIONS)
    with pytest.raises(InputTypeError, match="day: is 1j, must be a string"):
        on_spark.rerank(candidates, tables.items, history=history, day=1j, **OPTIONS)


def test_what_everybody_is_to_get_may_be_on_spark(session: Any) -> None:
    candidates, items, history = shop(users=20)
    wanted = {"category": list(SELLERS), "weight": [0.4, 0.3, 0.1, 0.2]}
    frame, shares = session.createDataFrame(candidates), session.createDataFrame(pa.table(wanted))
    asked: dict[str, Any] = {"history": history, **PLAIN, "max_passes": 2, "everyone_tolerance": 0.5}
    found = on_spark.balance(frame, items, everyone={"seller": shares}, **asked)
    mapping = on_spark.balance(frame, items, everyone=BALANCED["everyone"], **asked)
    assert found.table.equals(mapping.table)
    assert repr(found).startswith("SparkBalance(4 groups: objective 0.")


def test_a_column_that_nobody_asks_for_may_have_values_that_spark_cannot_hold(session: Any, tables: Invented) -> None:
    candidates, _ = frames(session, tables)
    history = tables.history.to_pandas()
    odd = history.assign(note=[1, "a"] * (len(history) // 2))
    slates = on_spark.rerank(candidates, tables.items.to_pandas().assign(note=[1, "a"] * 40), history=odd, **OPTIONS)
    local = LOCAL.rerank(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
    assert in_order(slates, "rank").to_pydict() == local.to_pydict()
