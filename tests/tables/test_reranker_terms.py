"""Several attributes, bands, pinned and shown items in tables: each user gets what ``calibrate`` gives for the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from excalibr import Band, Policy, Reranker, Shown, calibrate
from excalibr._cli.application import application
from excalibr.errors import BatchWarning, InputError
from excalibr.positions import raw_weights
from tests.tables.invented import Invented, invented_tables

RERANKER = Reranker(k=5, trade_off=0.4, seed=3)
ATTRIBUTES: dict[str, Any] = {"category": ["genres", "decade"], "separator": "|"}
GENRES: dict[str, Any] = {"category": "genres", "separator": "|"}
DECADES = ("1980s", "1990s", "2000s")


@pytest.fixture
def tables() -> Invented:
    given = invented_tables(users=12)
    decades = [DECADES[number % 3] for number in range(len(given.items))]
    return Invented(given.candidates, given.items.append_column("decade", pa.array(decades)), given.history)


class Rows:
    """The tables as arrays, read without the code under test."""

    def __init__(self, tables: Invented) -> None:
        items = tables.items.to_pandas()
        dummies = items["genres"].str.get_dummies("|")
        self.genre_names = list(dummies.columns)
        self.genres = dummies.to_numpy(float) / dummies.to_numpy(float).sum(axis=1, keepdims=True)
        self.decades = items["decade"].str.get_dummies().to_numpy(float)
        self.candidates = tables.candidates.to_pandas().sort_values(["user_id", "item_id"])
        self.history = tables.history.to_pandas()

    def each(self, solve: Callable[[int, Any, Any], Policy]) -> list[int]:
        """The items of all users' slates, by user and rank; ``solve`` gets the user, the candidates, the history."""
        slates: list[int] = []
        for user, own in self.candidates.groupby("user_id"):
            seen = self.history.loc[self.history["user_id"] == user, "item_id"].sort_values()
            policy = solve(user, own, seen.to_numpy())
            slates += own["item_id"].to_numpy()[policy.sample(seed=3, key=user)].tolist()
        return slates


def items_of(slates: Any) -> list[int]:
    found: list[int] = slates["item_id"].to_pylist()
    return found


def test_several_columns_are_several_attributes(tables: Invented) -> None:
    rows = Rows(tables)

    def solve(user: int, own: Any, seen: Any) -> Policy:
        shares = {"genres": rows.genres, "decade": rows.decades}
        chosen = {name: table[own["item_id"]] for name, table in shares.items()}
        wanted = {name: table[seen].mean(axis=0) for name, table in shares.items()}
        return calibrate(own["score"], chosen, wanted, k=5, trade_off=0.4, attribute_weights={"decade": 0.5})

    reranker = Reranker(k=5, trade_off=0.4, seed=3, attribute_weights={"decade": 0.5})
    slates = reranker.rerank(tables.candidates, tables.items, history=tables.history, **ATTRIBUTES)
    assert items_of(slates) == rows.each(solve)


def test_attributes_may_have_names_of_their_own(tables: Invented) -> None:
    named: dict[str, Any] = {"category": {"topic": "genres", "age": "decade"}, "separator": "|"}
    given = (tables.candidates, tables.items)
    one = Reranker(k=5, seed=3, attribute_weights={"age": 2}).rerank(*given, history=tables.history, **named)
    other = Reranker(k=5, seed=3, attribute_weights={"decade": 2}).rerank(*given, history=tables.history, **ATTRIBUTES)
    assert one.equals(other)


def test_a_mapping_with_one_column_is_an_attribute_by_name(tables: Invented) -> None:
    given = (tables.candidates, tables.items)
    one = RERANKER.rerank(*given, history=tables.history, category=["genres"], separator="|")
    other = RERANKER.rerank(*given, history=tables.history, **GENRES)
    assert one.equals(other)


def test_targets_go_by_attribute_as_mappings_or_in_a_table(tables: Invented) -> None:
    genres, decades = {"drama": 0.5, "epic": 0.5}, {"1990s": 1.0}
    given = (tables.candidates, tables.items)
    by_name = RERANKER.rerank(*given, targets={"genres": genres, "decade": decades}, **ATTRIBUTES)
    table = pa.table(
        {
            "attribute": ["genres", "genres", "decade"],
            "category": ["drama", "epic", "1990s"],
            "weight": [5.0, 5.0, 1.0],
        }
    )
    assert RERANKER.rerank(*given, targets=table, **ATTRIBUTES).equals(by_name)
    users = pa.table({"user_id": np.repeat(np.arange(100, 112), 3)})
    for name in table.column_names:
        users = users.append_column(name, pa.array(table[name].to_pylist() * 12))
    assert RERANKER.rerank(*given, targets=users, **ATTRIBUTES).equals(by_name)


def test_options_by_category_go_by_attribute(tables: Invented) -> None:
    reranker = Reranker(k=5, trade_off=0.4, caps={"decade": {"1990s": 0.2}}, seed=3)
    options = {"history": tables.history, **ATTRIBUTES}
    lotteries = reranker.lotteries(tables.candidates, tables.items, **options).to_pandas()
    weights = 1 / np.log(np.arange(2, 7))
    nineties = tables.items["decade"].to_numpy(zero_copy_only=False)[lotteries["item_id"]] == "1990s"
    shown = lotteries["probability"] * nineties * (weights / weights.sum())[lotteries["rank"] - 1]
    assert shown.groupby(lotteries["user_id"]).sum().max() <= 0.2 + 1e-9


@pytest.mark.parametrize(
    ("ranking", "options", "message"),
    [
        ({"attribute_weights": {"decade": 1}}, GENRES, "attribute_weights: is .* must go with several attributes"),
        ({"attribute_weights": {"decades": 1}}, ATTRIBUTES, "did you mean 'decade'"),
        ({"floors": 0.1}, ATTRIBUTES, "floors: is 0.1, must be a mapping by attribute"),
        ({"floors": {"genres": {"dramas": 0.1}}}, ATTRIBUTES, "did you mean 'drama'"),
        ({}, {"category": [], "separator": "|"}, "category: is empty"),
        ({}, {"category": ["genres", "decades"]}, "column 'decades' not found in items"),
    ],
)
def test_attributes_that_do_not_fit_are_errors(
    tables: Invented, ranking: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Reranker(k=5, **ranking).rerank(tables.candidates, tables.items, history=tables.history, **options)


def test_targets_must_have_the_attributes_of_the_items(tables: Invented) -> None:
    with pytest.raises(InputError, match=r"targets: have \['genres'\], must have the attributes"):
        RERANKER.rerank(tables.candidates, tables.items, targets={"genres": {"drama": 1}}, **ATTRIBUTES)


def test_a_target_with_low_and_high_is_a_band(tables: Invented) -> None:
    rows = Rows(tables)
    low, high = np.zeros(5), np.ones(5)
    low[rows.genre_names.index("drama")], high[rows.genre_names.index("drama")] = 0.3, 0.5
    high[rows.genre_names.index("epic")] = 0.1

    def solve(user: int, own: Any, seen: Any) -> Policy:
        return calibrate(own["score"], rows.genres[own["item_id"]], Band(low, high), k=5, trade_off=0.4)

    bands = pa.table({"category": ["drama", "epic"], "low": [0.3, None], "high": [0.5, 0.1]})
    given = (tables.candidates, tables.items)
    assert items_of(RERANKER.rerank(*given, targets=bands, **GENRES)) == rows.each(solve)
    by_name = {"drama": (0.3, 0.5), "epic": (0.0, 0.1)}
    assert items_of(RERANKER.rerank(*given, targets=by_name, **GENRES)) == rows.each(solve)


def test_bands_may_be_each_users_own_and_others_get_the_prior(tables: Invented) -> None:
    bands = pa.table({"user_id": [100], "category": ["drama"], "low": [0.9], "high": [1.0]})
    given = (tables.candidates, tables.items)
    report = RERANKER.report(*given, targets=bands, prior={"epic": 1.0}, **GENRES).to_pandas()
    one = RERANKER.report(*given, targets={"drama": (0.9, 1.0)}, **GENRES).to_pandas()
    others = RERANKER.report(*given, targets={"epic": 1.0}, **GENRES).to_pandas()
    assert report["deviation"][0] == one["deviation"][0]
    assert report["deviation"][1:].to_numpy() == pytest.approx(others["deviation"][1:].to_numpy(), abs=1e-9)
    with pytest.warns(
        BatchWarning, match="11 of 12 users could not be calibrated and are ranked by relevance .11 no target"
    ):
        RERANKER.rerank(*given, targets=bands, **GENRES)


def test_a_band_that_cannot_be_is_the_users_status(tables: Invented) -> None:
    bands = pa.table({"user_id": np.arange(100, 112), "category": ["drama"] * 12, "low": [0.9] + [0.1] * 11})
    bands = bands.append_column("high", pa.array([0.5] * 12))
    with pytest.warns(BatchWarning, match="1 bad target"):
        report = RERANKER.report(tables.candidates, tables.items, targets=bands, **GENRES).to_pandas()
    assert report["status"].tolist() == ["bad target"] + ["ok"] * 11


def test_pinned_items_keep_their_ranks(tables: Invented) -> None:
    rows = Rows(tables)
    worst = rows.candidates.sort_values("score").groupby("user_id").first().reset_index()
    pinned = pa.table({"user_id": worst["user_id"], "rank": [2] * 12, "item_id": worst["item_id"]})

    def solve(user: int, own: Any, seen: Any) -> Policy:
        item = worst.loc[worst["user_id"] == user, "item_id"].iloc[0]
        place = int(np.flatnonzero(own["item_id"] == item)[0])
        wanted, chosen = rows.genres[seen].mean(axis=0), rows.genres[own["item_id"]]
        return calibrate(own["score"], chosen, wanted, k=5, trade_off=0.4, pinned={1: place})

    options = {"history": tables.history, "pinned": pinned, **GENRES}
    slates = RERANKER.rerank(tables.candidates, tables.items, **options)
    assert items_of(slates)[1::5] == worst["item_id"].tolist()
    assert items_of(slates) == rows.each(solve)


@pytest.mark.parametrize("pin", [(1, 10**6), (0, None), (1.5, None), (None, None)])
def test_a_pin_that_cannot_be_kept_is_the_users_status(tables: Invented, pin: tuple[Any, Any]) -> None:
    rank, item = pin
    own = tables.candidates["item_id"][0].as_py()
    pinned = pa.table({"user_id": [100], "rank": [rank], "item_id": [item or own]})
    options = {"history": tables.history, "pinned": pinned, **GENRES}
    with pytest.warns(
        BatchWarning, match="1 of 12 users could not be calibrated and are ranked by relevance .1 bad pin"
    ):
        report = RERANKER.report(tables.candidates, tables.items, **options).to_pandas()
    assert report["status"].tolist() == ["bad pin"] + ["ok"] * 11
    assert report["relevance"][0] == report["relevance_before"][0]


def test_a_pin_beyond_the_last_slot_is_the_users_status_with_the_reason(tables: Invented) -> None:
    pinned = tables.candidates.slice(0, 1).select(["user_id", "item_id"]).append_column("rank", pa.array([6]))
    options = {"history": tables.history, "pinned": pinned, **GENRES}
    with pytest.warns(BatchWarning, match="1 failed"):
        report = RERANKER.report(tables.candidates, tables.items, **options).to_pandas()
    assert report["status"][0] == "failed: pinned: has the slot 5, must be from 0 to 4."


def test_users_who_are_ranked_by_relevance_keep_their_pins(tables: Invented) -> None:
    own = tables.candidates["item_id"][3].as_py()
    pinned = pa.table({"user_id": [100], "rank": [3], "item_id": [own]})
    targets = pa.table({"user_id": [101], "category": ["drama"], "weight": [1.0]})
    with pytest.warns(BatchWarning, match="no target"):
        slates = RERANKER.rerank(tables.candidates, tables.items, targets=targets, pinned=pinned, **GENRES)
    assert items_of(slates)[2] == own
    assert len(set(items_of(slates)[:5])) == 5


def seen_before(tables: Invented) -> Any:
    """The first page that everyone got, and for each an item that is not among the candidates."""
    page = RERANKER.rerank(tables.candidates, tables.items, history=tables.history, **GENRES).to_pandas()
    own = tables.candidates.to_pandas().groupby("user_id")["item_id"]
    others = own.agg(lambda items: int(np.setdiff1d(np.arange(80), items)[0])).reset_index().assign(rank=1)
    columns = ["user_id", "item_id", "rank"]
    return pd.concat([page[columns], others[columns]]).sort_values(["user_id", "item_id"])


@pytest.mark.parametrize("attention", ["weight", "rank", "nothing"])
def test_shown_items_count_and_are_not_shown_again(tables: Invented, attention: str) -> None:
    rows, shown = Rows(tables), seen_before(tables)
    shown["weight"] = 0.25 * shown["rank"]
    weights = {"weight": shown["weight"], "rank": raw_weights("log", 5)[shown["rank"] - 1], "nothing": 1.0}
    table = shown[[name for name in ("user_id", "item_id", attention) if name in shown]]
    before = shown.assign(weight=weights[attention])
    pairs = pd.MultiIndex.from_frame(before[["user_id", "item_id"]])
    rows.candidates = rows.candidates[~rows.candidates.set_index(["user_id", "item_id"]).index.isin(pairs)]

    def solve(user: int, own: Any, seen: Any) -> Policy:
        mine = before[before["user_id"] == user]
        wanted, chosen = rows.genres[seen].mean(axis=0), rows.genres[own["item_id"]]
        page = Shown(categories=rows.genres[mine["item_id"]], position_weights=mine["weight"])
        return calibrate(own["score"], chosen, wanted, k=5, trade_off=0.4, shown=page)

    slates = RERANKER.rerank(tables.candidates, tables.items, history=tables.history, shown=table, **GENRES)
    assert items_of(slates) == rows.each(solve)


def test_who_has_seen_all_candidates_has_none_left(tables: Invented) -> None:
    own = tables.candidates.slice(0, 25).select(["user_id", "item_id"])
    options = {"history": tables.history, "shown": own, **GENRES}
    with pytest.warns(BatchWarning, match="1 no candidates"):
        report = RERANKER.report(tables.candidates, tables.items, **options).to_pandas()
    assert report["status"][0] == "no candidates"


def test_the_report_sums_the_deviations_of_attributes(tables: Invented) -> None:
    rows = Rows(tables)
    deviations = []

    def solve(user: int, own: Any, seen: Any) -> Policy:
        shares = {"genres": rows.genres, "decade": rows.decades}
        chosen = {name: table[own["item_id"]] for name, table in shares.items()}
        wanted = {name: table[seen].mean(axis=0) for name, table in shares.items()}
        policy = calibrate(own["score"], chosen, wanted, k=5, trade_off=0.4)
        deviations.append(sum(policy.deviation.values()))
        return policy

    rows.each(solve)
    report = RERANKER.report(tables.candidates, tables.items, history=tables.history, **ATTRIBUTES).to_pandas()
    assert report["deviation"].tolist() == pytest.approx(deviations, abs=1e-12)
    assert (report["deviation"] <= report["deviation_before"] + 1e-9).all()
    assert (report["status"] == "ok").all()


def test_the_order_of_rows_and_the_number_of_threads_change_nothing(tables: Invented) -> None:
    shown, pinned = pages(tables)
    options: dict[str, Any] = {"shown": shown, "pinned": pinned, **ATTRIBUTES}
    whole = RERANKER.rerank(tables.candidates, tables.items, history=tables.history, **options)
    mixed = tables.shuffled(1)
    options |= {name: options[name].take(list(range(len(options[name])))[::-1]) for name in ("shown", "pinned")}
    other = Reranker(k=5, trade_off=0.4, seed=3, threads=3)
    slates = other.rerank(mixed.candidates, mixed.items, history=mixed.history, **options)
    assert slates.select(["user_id", "rank", "item_id"]).equals(whole.select(["user_id", "rank", "item_id"]))


def test_users_may_be_answered_apart_or_together(tables: Invented) -> None:
    pinned = tables.candidates.slice(0, 1).select(["user_id", "item_id"]).append_column("rank", pa.array([1]))
    options: dict[str, Any] = {"history": tables.history, "pinned": pinned, **GENRES}
    whole = RERANKER.report(tables.candidates, tables.items, **options)
    parts = [
        RERANKER.report(tables.candidates.slice(first, 100), tables.items, **options) for first in range(0, 300, 100)
    ]
    assert pa.concat_tables(parts).to_pydict() == whole.to_pydict()


def pages(tables: Invented) -> tuple[Any, Any]:
    """What was shown to everyone, and an item for each that is pinned to the first rank."""
    first = tables.candidates.take(np.arange(0, 300, 25)).select(["user_id", "item_id"])
    second = tables.candidates.take(np.arange(1, 300, 25)).select(["user_id", "item_id"])
    return first, second.append_column("rank", pa.array([1] * 12))


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
