from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from excalibr import Reranker
from excalibr._cli.application import application
from excalibr.errors import BatchWarning, InputError
from tests.tables.attributes import ATTRIBUTES, GENRES, pages
from tests.tables.invented import GENRE_COLUMNS, RERANKER, Invented, invented_tables, one_by_one, rerank


def test_each_user_gets_what_calibrate_and_sample_give() -> None:
    tables = invented_tables(text_ids=True)
    slates = rerank(tables).to_pandas()
    for user, drawn in one_by_one(tables, k=5, trade_off=0.4, seed=3).items():
        assert slates["item_id"][slates["user_id"] == user].tolist() == drawn


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    tables = invented_tables()
    assert rerank(tables.shuffled(seed)).to_pydict() == rerank(tables).to_pydict()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    tables = invented_tables(users=200)
    slates = rerank(tables, Reranker(k=5, trade_off=0.4, seed=3, threads=threads))
    assert slates.equals(rerank(tables))


def test_users_can_be_ranked_apart_or_together() -> None:
    tables = invented_tables()
    ids = tables.candidates["user_id"]
    parts = [tables.candidates.filter(pa.compute.equal(ids, user)) for user in ids.unique()]
    alone = [rerank(Invented(part, tables.items, tables.history)) for part in parts]
    assert pa.concat_tables(alone).equals(rerank(tables))


@pytest.mark.parametrize("method", ["greedy", "top-k"])
def test_other_methods_are_asked_for_in_the_same_words(method: str) -> None:
    tables = invented_tables(users=5)
    slates = rerank(tables, Reranker(k=5, method=method))
    assert len(slates) == 25


def test_a_relevance_budget_takes_the_place_of_a_trade_off() -> None:
    tables = invented_tables(users=5)
    report = (
        Reranker(k=5, relevance_loss=0.05)
        .report(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
        .to_pandas()
    )
    assert (report["relevance"] >= 0.95 * report["relevance_before"] - 1e-9).all()
    assert (report["deviation"] < report["deviation_before"]).all()


@pytest.mark.parametrize("wrong", [{"fallback": "none"}, {"threads": 0}, {"k": 0}])
def test_a_reranker_is_checked_when_it_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Reranker(**wrong)


def test_with_every_table_the_order_of_rows_and_the_number_of_threads_change_nothing(tables: Invented) -> None:
    shown, pinned = pages(tables)
    options: dict[str, Any] = {"shown": shown, "pinned": pinned, **ATTRIBUTES}
    whole = RERANKER.rerank(tables.candidates, tables.items, history=tables.history, **options)
    mixed = tables.shuffled(1)
    options |= {name: options[name].take(list(range(len(options[name])))[::-1]) for name in ("shown", "pinned")}
    other = Reranker(k=5, trade_off=0.4, seed=3, threads=3)
    slates = other.rerank(mixed.candidates, mixed.items, history=mixed.history, **options)
    assert slates.select(["user_id", "rank", "item_id"]).equals(whole.select(["user_id", "rank", "item_id"]))


def test_with_every_table_users_may_be_answered_apart_or_together(tables: Invented) -> None:
    pinned = tables.candidates.slice(0, 1).select(["user_id", "item_id"]).append_column("rank", pa.array([1]))
    options: dict[str, Any] = {"history": tables.history, "pinned": pinned, **GENRES}
    whole = RERANKER.report(tables.candidates, tables.items, **options)
    parts = [
        RERANKER.report(tables.candidates.slice(first, 100), tables.items, **options) for first in range(0, 300, 100)
    ]
    assert pa.concat_tables(parts).to_pydict() == whole.to_pydict()


def test_the_command_takes_all_of_it_in_the_same_words(tmp_path: Path, tables: Invented) -> None:
    shown, pinned = pages(tables)
    targets = pa.table(
        {"attribute": ["genres", "decade"], "category": ["drama", "1990s"], "low": [0.3, 0.2], "high": [0.6, None]}
    )
    files = {"candidates": tables.candidates, "items": tables.items, "targets": targets}
    files |= {"shown": shown, "pinned": pinned}
    for name, table in files.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    given = ["rerank", str(tmp_path / "candidates.parquet"), "-k", "5", "--trade-off", "0.4", "--seed", "3"]
    for name in ("items", "targets", "shown", "pinned"):
        given += [f"--{name}", str(tmp_path / f"{name}.parquet")]
    given += ["--category", "genres,decade", "--separator", "|", "--attribute-weights", "genres=1,decade=0.5"]
    given += ["--caps", "decade:1980s=0.5", "-o", str(tmp_path / "slates.parquet")]
    result = CliRunner().invoke(application, given)
    assert result.exit_code == 0, result.output
    ranking: dict[str, Any] = {"attribute_weights": {"genres": 1, "decade": 0.5}, "caps": {"decade": {"1980s": 0.5}}}
    local = Reranker(k=5, trade_off=0.4, seed=3, **ranking).rerank(
        tables.candidates, tables.items, targets=targets, shown=shown, pinned=pinned, **ATTRIBUTES
    )
    assert pq.read_table(tmp_path / "slates.parquet").equals(local)


def test_users_whose_limits_cannot_be_kept_are_ranked_by_relevance_beside_those_whose_can() -> None:
    candidates = pa.table(
        {
            "user_id": ["ada"] * 3 + ["bob"] * 3 + ["eve"] * 3,
            "item_id": [1, 2, 3, 1, 2, 4, 1, 3, 4],
            "score": [0.9, 0.8, 0.7] * 3,
        }
    )
    items = pa.table({"item_id": [1, 2, 3, 4], "category": ["a", "a", "b", "a"]})
    options = {"targets": {"a": 0.5, "b": 0.5}, "propensities": True}
    with pytest.warns(BatchWarning, match="1 of 3 users could not be calibrated and are ranked by relevance"):
        slates = Reranker(k=2, floors={"b": 0.3}, threads=1).rerank(candidates, items, **options).to_pylist()
    assert [row["item_id"] for row in slates if row["user_id"] == "bob"] == [1, 2]
    assert [row["propensity"] for row in slates if row["user_id"] == "bob"] == [1.0, 1.0]
    for user, best in (("ada", {1, 3}), ("eve", {1, 3})):
        assert {row["item_id"] for row in slates if row["user_id"] == user} == best
