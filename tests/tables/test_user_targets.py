import datetime as dt
import re
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from excalibr import Band, Policy, Reranker, calibrate
from excalibr._problem import Status
from excalibr.errors import BatchWarning, InputError, InputTypeError
from excalibr.tables import Tables, read_items, read_wanted
from tests.tables.attributes import ATTRIBUTES, GENRES, Rows, items_of
from tests.tables.invented import CANDIDATES, EQUAL, ITEMS, RERANKER, Invented, invented_tables, rerank


def test_trade_off_and_k_may_be_each_users_own() -> None:
    tables = invented_tables(users=3)
    users = pa.table({"user_id": [101, 100], "trade_off": [None, 0.0], "k": [2, None]})
    slates = rerank(tables, users=users)
    assert slates["user_id"].value_counts().to_pylist() == [
        {"values": 100, "counts": 5},
        {"values": 101, "counts": 2},
        {"values": 102, "counts": 5},
    ]
    by_score = tables.candidates.slice(0, 25).sort_by([("score", "descending")])
    assert slates["score"][:5].to_pylist() == by_score["score"][:5].to_pylist()


def test_a_users_own_number_that_cannot_be_is_that_users_status() -> None:
    tables = invented_tables(users=3)
    users = pa.table({"user_id": [100, 101], "trade_off": [7.0, 0.5]})
    with pytest.warns(
        BatchWarning, match="1 of 3 users could not be calibrated and are ranked by relevance .1 bad trade off"
    ):
        assert len(rerank(tables, users=users)) == 15


def test_users_without_history_are_ranked_by_relevance() -> None:
    history = pa.table({"user_id": ["somebody else"], "item_id": [1]})
    with pytest.warns(BatchWarning, match="1 of 1 users could not be calibrated.*1 no target"):
        slates = Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history)
    assert slates["item_id"].to_pylist() == [1, 2]


def test_users_without_history_get_the_prior_if_there_is_one() -> None:
    history = pa.table({"user_id": ["somebody else"], "item_id": [1]})
    prior = {"b": 1.0}
    slates = Reranker(k=2, trade_off=0.9).rerank(CANDIDATES, ITEMS, history=history, prior=prior)
    assert slates["item_id"].to_pylist() == [3, 4]


def test_a_prior_with_a_strength_is_added_to_every_history() -> None:
    history = pa.table({"user_id": ["u"], "item_id": [1]})
    report = Reranker(k=1, trade_off=0.99).report(
        CANDIDATES, ITEMS, history=history, prior={"a": 0.0, "b": 1.0}, strength=3
    )
    assert report["deviation_before"][0].as_py() == pytest.approx(1.5)


def test_targets_may_come_from_a_table_or_be_one_for_all() -> None:
    by_user = pa.table({"user_id": ["u", "u"], "category": ["b", "no such"], "weight": [2.0, 5.0]})
    for_all = pa.table({"category": ["b"], "weight": [1.0]})
    for wanted in (by_user, for_all, {"b": 3}):
        slates = Reranker(k=2, trade_off=0.9).rerank(CANDIDATES, ITEMS, targets=wanted)
        assert slates["item_id"].to_pylist() == [3, 4]


@pytest.mark.parametrize(("first", "second"), [(1.5, 2.0), (1.0, 2.0), (True, False), (1990, 2000)])
def test_a_mapping_names_categories_that_are_numbers_as_the_items_do(first: Any, second: Any) -> None:
    items = pa.table({"item_id": [1, 2, 3, 4], "category": [first, first, second, second]})
    slates = Reranker(k=2, position_weights="uniform").rerank(CANDIDATES, items, targets={first: 0.5, second: 0.5})
    assert items_of(slates) == [1, 3]


def test_a_negative_weight_in_a_history_is_that_users_status() -> None:
    history = pa.table({"user_id": ["u", "u"], "item_id": [1, 3], "weight": [1.0, -1.0]})
    with pytest.warns(BatchWarning, match="1 bad target"):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history)


def test_the_history_counts_by_weight_and_by_age() -> None:
    history = {"user_id": ["u", "u"], "item_id": [1, 3], "weight": [1.0, 3.0], "timestamp": [0, 10]}
    asked: dict[str, Any] = {"k": 1, "trade_off": 0.99}
    weighed = Reranker(**asked).report(CANDIDATES, ITEMS, history=pa.table(history))
    assert weighed["deviation_before"][0].as_py() == pytest.approx(1.5)
    aged = Reranker(**asked).report(
        CANDIDATES, ITEMS, history=pa.table(history | {"weight": [1.0, 1.0]}), half_life=10.0
    )
    assert aged["deviation_before"][0].as_py() == pytest.approx(4 / 3)
    dates = pd.DataFrame(history | {"weight": 1.0, "timestamp": pd.to_datetime(["2030-01-01", "2030-01-02"])})
    daily = Reranker(**asked).report(CANDIDATES, ITEMS, history=dates, half_life=86400.0)
    assert daily["deviation_before"][0].as_py() == pytest.approx(4 / 3)


def four_years(relative: bool = True) -> tuple[Any, dict[str, Any], Reranker]:
    """Histories of four years whose weights halve every day."""
    random, users, items, day = np.random.default_rng(0), 40, 300, 86_400
    table = pa.table(
        {"item_id": np.arange(items), "category": [f"c{label:02d}" for label in random.integers(0, 20, items)]}
    )
    owners = np.repeat(np.arange(users), 50)
    chosen = np.concatenate([random.choice(items, 50, replace=False) for _ in range(users)])
    candidates = pa.table({"user_id": owners, "item_id": chosen, "score": random.random(len(owners))})
    had = np.repeat(np.arange(users), 30)
    moments = (1.7e9 - random.uniform(0, 1500, len(had)) * day).astype(np.int64)
    history = pa.table({"user_id": had, "item_id": random.integers(0, items, len(had)), "timestamp": moments})
    reranker = Reranker(k=10, trade_off=0.5, seed=1, relative=relative)
    return candidates, {"items": table, "history": history, "half_life": float(day)}, reranker


@pytest.mark.parametrize("weight", [-1.0, float("inf")])
@pytest.mark.parametrize("half_life", [None, 10.0])
def test_a_weight_that_cannot_be_is_told_with_or_without_a_moment(weight: float, half_life: float | None) -> None:
    history = pa.table({"user_id": ["u", "u"], "item_id": [1, 3], "weight": [1.0, weight], "timestamp": [1, None]})
    with pytest.warns(BatchWarning, match="1 bad target") as warned:
        Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history, half_life=half_life)
    assert len(warned) == 1


@pytest.mark.parametrize("wrong", [{"half_life": "30d"}, {"strength": "2"}, {"strength": None}])
def test_an_age_or_a_strength_that_is_no_number_is_told(wrong: dict[str, Any]) -> None:
    history = pa.table({"user_id": ["u"], "item_id": [1]})
    with pytest.raises(InputTypeError, match=f"{next(iter(wrong))}: is "):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history, prior={"a": 1.0}, **wrong)


def test_four_years_of_history_that_halve_every_day_leave_no_traces() -> None:
    candidates, tables, _ = four_years()
    results = Reranker(k=10, method="top-k").solve(candidates, **tables)
    targets = np.array([results.batch.edges(user)[0] for user in range(results.batch.users)])
    assert set(results.batch.statuses.tolist()) == {0}
    assert (targets.max(axis=1) > 0.01).all()
    assert ((targets == 0) | (targets > 1e-12)).all()
    assert (targets == 0).any(axis=1).all()
    assert targets.sum(axis=1) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.filterwarnings("ignore::excalibr.errors.BatchWarning")
def test_four_years_of_history_can_be_reranked_relative_to_the_target() -> None:
    candidates, tables, reranker = four_years()
    report = reranker.report(candidates, **tables)
    assert set(report["status"].to_pylist()) <= {"ok", "stopped early"}
    assert np.isfinite(report["gap"].to_numpy()).all()


def test_age_counts_from_the_newest_event_that_counts() -> None:
    """Events of items that nobody knows, or without a weight, would make all others weigh nothing."""
    history = pa.table(
        {
            "user_id": ["u"] * 4,
            "item_id": [1, 3, 999, 2],
            "timestamp": [-10_000, -10_010, 10**9, 10**9],
            "weight": [1.0, 1.0, 1.0, None],
        }
    )
    report = Reranker(k=1).report(CANDIDATES, ITEMS, history=history, half_life=10.0)
    assert report["status"].to_pylist() == ["ok"]
    assert report["deviation_before"].to_pylist() == pytest.approx([2 / 3])


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


@pytest.mark.parametrize("wrong", ["x", None, True, (0.1, 0.2), [1, 2, 3]])
def test_a_mapping_of_targets_has_numbers_or_pairs_of_them(wrong: Any) -> None:
    drama = re.escape(f"targets: has {wrong!r} for 'drama', must have a number for each category")
    with pytest.raises(InputError, match=drama):
        RERANKER.rerank(CANDIDATES, ITEMS, targets={"drama": wrong, "comedy": 0.5})


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


@pytest.mark.parametrize("attributes", [GENRES, ATTRIBUTES], ids=["one", "several"])
@pytest.mark.parametrize("strength", [None, 0.0, 2.5])
def test_targets_of_histories_have_the_bits_of_dense_tables(
    tables: Invented, attributes: dict[str, Any], strength: float | None
) -> None:
    history = tables.history.append_column("weight", pa.array(np.random.default_rng(3).random(len(tables.history))))
    options = Tables(history=history, **attributes)
    items = read_items(tables.items, options)
    users = pa.array([*range(95, 112)])  # the first five are nobody
    prior = None if strength is None else np.arange(1.0, items.rows.n_categories + 1.0)
    given = {} if prior is None else {"prior": _prior_of(items, prior), "strength": strength}
    wanted = read_wanted(users, items, Tables(history=history, **attributes, **given))
    rows, table = items.rows.dense(), history.to_pydict()
    place_of = {item: place for place, item in enumerate(items.ids.to_pylist())}
    for number, user in enumerate(users.to_pylist()):
        own = [at for at, each in enumerate(table["user_id"]) if each == user]
        events = sorted((place_of[table["item_id"][at]], table["weight"][at]) for at in own)
        target: list[float] = []
        for part in items.parts:
            sums = np.zeros(part.size)
            for place, weight in events:
                sums += weight * rows[place, part.columns]
            if prior is not None and strength is not None:
                share = prior[part.columns] / prior[part.columns].sum()
                sums = sums + (strength if events else max(strength, 1.0)) * share
            target += (sums / sums.sum()).tolist() if sums.any() else [1.0, *[0.0] * (part.size - 1)]
        assert wanted.targets.edges(number)[0].tolist() == target
        assert wanted.statuses[number] == (Status.OK if events or prior is not None else Status.NO_TARGET)


def _prior_of(items: Any, prior: Any) -> Any:
    """By attribute and category, as options have it."""
    parts = {
        each.name: dict(zip(items.categories[each.columns].to_pylist(), prior[each.columns].tolist(), strict=True))
        for each in items.parts
    }
    return parts if items.attributes else parts[""]


def test_nothing_of_many_sellers_is_as_large_as_users_times_categories() -> None:
    random = np.random.default_rng(4)
    users, n, sellers = 200, 20, 40_000
    items = pa.table({"item_id": np.arange(sellers), "seller": [f"seller {number}" for number in range(sellers)]})
    owners = np.repeat(np.arange(users), n)
    candidates = pa.table(
        {"user_id": owners, "item_id": random.integers(0, sellers, users * n), "score": random.random(users * n)}
    )
    history = pa.table({"user_id": owners, "item_id": random.integers(0, sellers, users * n)})
    reranker, read = Reranker(k=5, caps=0.5), read_items(items, Tables(targets={}, category="seller"))
    reranker.solve(candidates, read, history=history, category="seller")
    tracemalloc.start()
    results = reranker.solve(candidates, read, history=history, category="seller", keep=True, measured=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * users * sellers * 8
    assert results.report().num_rows == users
    assert (results.statuses == Status.OK).all()


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


def test_an_item_that_does_not_count_makes_the_others_no_older() -> None:
    history = pa.table({"user_id": ["u"] * 3, "item_id": [1, 3, 3], "weight": [1, 1, 0], "timestamp": [0.0, 10.0, 1e6]})
    one, other = (
        Reranker(k=1).report(CANDIDATES, ITEMS, history=each, half_life=10.0) for each in (history[:2], history)
    )
    assert one["deviation_before"][0].as_py() == pytest.approx(4 / 3)
    assert one.equals(other)


def test_bands_take_no_prior_with_a_strength() -> None:
    with pytest.raises(InputError, match="strength: is 2.0, must be 0 where targets are bands"):
        RERANKER.rerank(CANDIDATES, ITEMS, targets={"a": (0.1, 0.2)}, prior={"a": 1.0}, strength=2.0)


DAYS = [dt.datetime(2030, 1, 1), dt.datetime(2030, 1, 2)]
DAY = 86_400.0


@pytest.mark.parametrize(
    ("moments", "half_life"),
    [
        (pa.array(DAYS, pa.timestamp("s")), DAY),
        (pa.array(DAYS, pa.timestamp("ns", "Europe/Berlin")), DAY),
        (pa.array(DAYS, pa.timestamp("ms")).dictionary_encode(), DAY),
        (pa.array([day.date() for day in DAYS]), DAY),
        (pa.array([day.replace(year=1600) for day in DAYS]), DAY),
        (pa.array([day.replace(year=9999) for day in DAYS]), DAY),
        (pa.array([1_700_000_000 * 10**9, 1_700_086_400 * 10**9]), DAY * 1e9),
        (pa.array([0, 10], pa.decimal128(5, 0)), 10.0),
        (pa.array(["0", "10"]), 10.0),
    ],
)
def test_an_item_of_a_half_life_ago_counts_half_in_any_type_of_timestamp(moments: Any, half_life: float) -> None:
    history = pa.table({"user_id": ["u", "u"], "item_id": [1, 3], "timestamp": moments})
    report = Reranker(k=1, trade_off=0.99).report(CANDIDATES, ITEMS, history=history, half_life=half_life)
    assert report["deviation_before"][0].as_py() == pytest.approx(4 / 3)


@pytest.mark.parametrize("moments", [["2030-01-01", "2030-01-02"], [dt.timedelta(1), dt.timedelta(2)]])
def test_timestamps_of_another_type_are_told(moments: Any) -> None:
    history = pa.table({"user_id": ["u", "u"], "item_id": [1, 3], "timestamp": moments})
    with pytest.raises(InputTypeError, match="column 'timestamp' of history: .*, must have numbers, dates or times"):
        Reranker(k=1).rerank(CANDIDATES, ITEMS, history=history, half_life=DAY)


@pytest.mark.parametrize("budget", [{"relevance_loss": 0.1}, {"max_deviation": 0.1}])
def test_trade_offs_of_users_do_not_go_with_a_budget(budget: dict[str, Any]) -> None:
    name, reranker = next(iter(budget)), Reranker(k=2, **budget)
    users = pa.table({"user_id": ["u"], "trade_off": [1.0], "k": [1]})
    with pytest.raises(InputError, match=f"column 'trade_off' of users and {name}: are both given, must not go"):
        reranker.rerank(CANDIDATES, ITEMS, users=users, targets=EQUAL)
    nobodys = users.set_column(1, "trade_off", pa.nulls(1))
    assert len(reranker.rerank(CANDIDATES, ITEMS, users=nobodys, targets=EQUAL)) == 1


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        ({"a": float("nan"), "b": 1.0}, "targets: has nan for 'a', must have a number for each category"),
        ({"A": (0.2, 0.4)}, "targets: have no band of a category that an item has.*categories are .'a', 'b'"),
        (
            {"a": 1e308, "b": 1e308},
            "targets: have weights that add up to infinity, must have weights with a finite sum",
        ),
    ],
)
def test_one_target_for_all_that_says_nothing_is_an_error(targets: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, targets=targets)


def test_a_prior_has_no_bands() -> None:
    history = pa.table({"user_id": ["u"], "item_id": [1]})
    with pytest.raises(InputError, match="prior: has a low and a high, must have one weight for each category"):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history, prior={"a": (0.1, 0.9)})


@pytest.mark.parametrize("name", ["targets", "prior"])
def test_a_row_of_targets_or_prior_without_a_category_is_an_error(name: str) -> None:
    wanted = pa.table({"category": ["a", None], "weight": [1.0, 2.0]})
    with pytest.raises(InputError, match=f"{name}: row 1 has no category, must name one in each row. Hint: pandas"):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, **{name: wanted})


@pytest.mark.parametrize("column", ["user_id", "userId"])
def test_a_prior_of_single_users_is_an_error(column: str) -> None:
    prior = pa.table({column: ["u", "v"], "category": ["a", "b"], "weight": [1.0, 2.0]})
    with pytest.raises(InputError, match=f"prior: has the column '{column}', must be one for all users"):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, prior=prior)
