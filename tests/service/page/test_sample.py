"""The sample's figures are those of ``Reranker.report`` and ``excalibr.metrics`` for the same users."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from excalibr import Reranker, metrics
from excalibr._many_users import calibrate_batch
from excalibr.tables import Tables, read_items
from tests.service.page.explored import PageClient, source_of
from tests.tables.invented import GENRE_COLUMNS

AIMS = [("trade_off", 0.0), ("trade_off", 0.3), ("trade_off", 1.0), ("relevance_loss", 0.05), ("max_deviation", 0.3)]
CHOICES: list[dict[str, Any]] = [
    {},
    {"divergence": "kl", "k": 4},
    {"draws": "single", "position_weights": "uniform"},
    {"draws": "even", "position_weights": "reciprocal"},
    {"floors": [{"category": "art", "amount": 0.2}], "caps": [{"category": "drama", "amount": 0.5}]},
]


def tables_of(client: PageClient) -> dict[str, Any]:
    page = client.service.page
    assert page is not None
    assert page.explored is not None
    return {name: pq.read_table(path) for name, path in page.explored.source.tables.items() if isinstance(path, Path)}


def report_of(client: PageClient, choices: dict[str, Any], kind: str, value: float) -> Any:
    tables = tables_of(client)
    limits: dict[str, Any] = {
        name: {each["category"]: each["amount"] for each in choices[name]}
        for name in ("floors", "caps")
        if name in choices
    }
    plain = {name: chosen for name, chosen in choices.items() if name not in limits}
    asked: dict[str, Any] = {"k": 6, **plain, **limits, kind: value}
    reranker = Reranker(**asked)
    return reranker.report(tables["candidates"], tables["items"], history=tables["history"], **GENRE_COLUMNS)


@pytest.mark.parametrize(("kind", "value"), AIMS)
@pytest.mark.parametrize("choices", CHOICES, ids=lambda choices: "-".join(choices) or "plain")
@pytest.mark.filterwarnings("ignore::excalibr.errors.BatchWarning")
def test_figures_are_those_of_the_report(tmp_path: Path, choices: dict[str, Any], kind: str, value: float) -> None:
    client = PageClient(source_of(tmp_path))
    found = client.sample(choices=client.choices | choices, aim={"kind": kind, "value": value}).json
    report = report_of(client, choices, kind, value)
    ok = np.array([status == "ok" for status in report["status"].to_pylist()])
    assert found["counted"] == ok.sum()
    for name in ("relevance_before", "deviation_before", "relevance", "deviation", "draw_deviation"):
        column = np.array(found["columns"][name], dtype=float)
        assert np.allclose(column[ok], report[name].to_numpy()[ok], rtol=0, atol=2e-9)
        assert np.isnan(column[~ok]).all()
    assert sum(each["users"] for each in found["refused"]) == (~ok).sum()


def test_the_sample_is_a_part_of_the_users_and_always_the_same(tmp_path: Path) -> None:
    one, other = (PageClient(source_of(tmp_path, sample=7)) for _ in range(2))
    assert len(one.about["sample"]) == 7
    assert one.about["sample"] == other.about["sample"] == sorted(one.about["sample"])
    report = report_of(one, {}, "trade_off", 0.5)
    assert np.allclose(one.sample().json["columns"]["deviation"], report["deviation"].to_numpy()[one.about["sample"]])


def test_the_edges_of_bands_are_those_of_the_targets(tmp_path: Path) -> None:
    bands = {"drama": (0.3, 0.5), "art": (0.1, 0.4)}
    rows = [{"category": name, "low": low, "high": high} for name, (low, high) in bands.items()]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "targets.parquet")
    source = source_of(tmp_path)
    tables = {name: path for name, path in source.tables.items() if name != "history"}
    client = PageClient(dataclasses.replace(source, tables=tables | {"targets": tmp_path / "targets.parquet"}))
    found, names = client.sample().json, client.about["attributes"][0]["categories"]
    assert found["counted"] == 24
    for edge, name in enumerate(["target", "target_high"]):
        means = dict(zip(names, np.array(found[name]) / 24, strict=True))
        assert [means[each] for each in bands] == pytest.approx([band[edge] for band in bands.values()])


def test_pieces_are_the_parts_of_the_whole(tmp_path: Path) -> None:
    client = PageClient(source_of(tmp_path))
    whole = client.sample().json
    parts = [client.sample(first=first, last=min(first + 5, 24)).json for first in range(0, 24, 5)]
    for name, values in whole["columns"].items():
        assert [value for part in parts for value in part["columns"][name]] == values
    for name in ("target", "target_high", "before", "after"):
        assert np.allclose(np.sum([part[name] for part in parts], axis=0), whole[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("draws", ["lottery", "single"])
def test_ndcg_and_recall_are_those_of_the_metrics(tmp_path: Path, draws: str) -> None:
    client = PageClient(source_of(tmp_path))
    found = client.sample(choices=client.choices | {"draws": draws}).json["columns"]
    tables = tables_of(client)
    reranker = Reranker(k=6, trade_off=0.5, draws=draws)
    options = Tables(history=tables["history"], **GENRE_COLUMNS)
    items = read_items(tables["items"], options)
    given, wanted, _ = reranker.read(tables["candidates"], items, options)
    targets = np.array([wanted.targets.edges(user)[0] for user in range(len(given.users))])
    policies = calibrate_batch(
        given.scores, given.starts, items.rows, targets, items=given.items, k=6, trade_off=0.5, draws=draws
    )
    truth = tables["truth"].to_pandas().drop_duplicates()
    for user, (policy, key) in enumerate(zip(policies, given.keys(), strict=True)):
        own = given.items[given.starts[user] : given.starts[user + 1]]
        liked = truth["item_id"][truth["user_id"] == key].to_numpy()
        held_out = metrics.HeldOut.of(np.flatnonzero(np.isin(own, liked)), n=len(own), total=len(liked))
        for name, metric in (("ndcg", metrics.ndcg), ("recall", metrics.recall)):
            for suffix, each in (("", policy), ("_before", policy.before)):
                value = found[f"{name}{suffix}"][user]
                assert value == pytest.approx(metric(each, held_out), abs=2e-9) if len(liked) else value is None


def test_kept_relevance_and_changes_are_those_of_each_policy(tmp_path: Path) -> None:
    client = PageClient(source_of(tmp_path))
    found = client.sample().json["columns"]
    for at, user in enumerate(client.about["sample"]):
        person = client.person(user).json
        assert found["kept"][at] == pytest.approx(person["kept"], abs=2e-9)
        new = sum(
            weight * len(set(ranking) - set(person["before"]))
            for weight, ranking in zip(person["weights"], person["rankings"], strict=True)
        )
        assert found["new_items"][at] == pytest.approx(new, abs=2e-9)
        assert found["changed"][at] == float(any(ranking != person["before"] for ranking in person["rankings"]))


def test_relevance_that_can_be_negative_is_kept_as_a_part_of_its_spread(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    path = source.tables["candidates"]
    assert isinstance(path, Path)
    table = pq.read_table(path)
    scores = np.asarray(table["score"]) - 0.5
    pq.write_table(table.set_column(2, "score", [scores]), path)
    client = PageClient(source)
    found = client.sample().json["columns"]["kept"]
    assert found == pytest.approx([client.person(user).json["kept"] for user in client.about["sample"]], abs=2e-9)


def test_an_impossible_floor_is_told_where_it_was_made_with_the_category_by_name(tmp_path: Path) -> None:
    client = PageClient(source_of(tmp_path))
    floors = [{"category": "epic", "amount": 1.0}]
    found = client.sample(choices=client.choices | {"floors": floors}).json
    assert found["counted"] == 0
    (refused,) = found["refused"]
    assert refused["field"] == "floors"
    assert refused["users"] == 24
    assert refused["message"].startswith("floors: category 'epic' cannot reach 1; the most that any policy shows")


def test_several_attributes_have_their_own_weights_and_limits(tmp_path: Path) -> None:
    columns = {"category": {"genre": "genres", "decade": "decade"}}
    client = PageClient(source_of(tmp_path, columns=columns))
    assert [each["name"] for each in client.about["attributes"]] == ["genre", "decade"]
    caps = [{"category": "1950s", "attribute": "decade", "amount": 0.1}]
    chosen = client.choices | {"attribute_weights": {"genre": 2.0, "decade": 0.5}, "caps": caps}
    found = client.sample(choices=chosen).json
    tables = tables_of(client)
    reranker = Reranker(
        k=6, trade_off=0.5, attribute_weights={"genre": 2.0, "decade": 0.5}, caps={"decade": {"1950s": 0.1}}
    )
    report = reranker.report(
        tables["candidates"], tables["items"], history=tables["history"], **GENRE_COLUMNS | columns
    )
    assert found["columns"]["deviation"] == pytest.approx(report["deviation"].to_pylist(), abs=2e-9)


def test_a_pinned_item_keeps_its_rank_for_those_who_have_it(tmp_path: Path) -> None:
    client = PageClient(source_of(tmp_path))
    chosen = client.choices | {"pinned": {"item": 4, "rank": 2}}
    having = 0
    for user in client.about["sample"]:
        person = client.person(user, choices=chosen).json
        items = {each["candidate"]: each["id"] for each in person["items"]}
        if "4" in items.values():
            having += 1
            assert {items[ranking[1]] for ranking in person["rankings"]} == {"4"}
    assert having > 0
