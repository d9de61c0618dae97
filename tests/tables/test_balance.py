"""``Reranker.balance`` and ``rerank(prices=…)``: tables in, certified prices out, the same lotteries again."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import excalibr
from excalibr import Reranker
from excalibr.errors import GapWarning, InfeasibleError, InputError
from excalibr.positions import position_weights
from excalibr.tables._prices import read_prices
from tests.population.tables import SELLERS, seller_shares, shop

WANTED = {"big": 0.4, "middle": 0.3, "new": 0.1, "small": 0.2}
ASKED = {"everyone": {"seller": WANTED}, "everyone_weights": {"seller": 0.5}}


@pytest.fixture(scope="module")
def tables() -> Any:
    return shop()


@pytest.fixture(scope="module")
def reranker() -> Any:
    return excalibr.Reranker(k=5, trade_off=0.3, threads=1)


@pytest.fixture(scope="module")
def balance(tables: Any, reranker: Any) -> Any:
    candidates, items, history = tables
    return reranker.balance(candidates, items, history=history, **ASKED)


def test_the_gap_is_as_small_as_asked(balance: Any) -> None:
    assert 0.0 <= balance.relative_gap <= 1e-3
    assert balance.objective <= balance.bound


def test_the_shares_told_are_those_of_the_lotteries(balance: Any, tables: Any) -> None:
    found = seller_shares(balance.lotteries(), tables[1], 5, position_weights("log", 5))
    np.testing.assert_allclose(found, balance.shares, atol=1e-9)
    assert np.abs(found - [WANTED[seller] for seller in SELLERS]).sum() < 0.02


def test_the_objective_told_is_reached_by_the_lotteries(balance: Any) -> None:
    report = balance.report().to_pydict()
    own = 0.7 * np.mean(report["relevance"]) - 0.3 * np.mean(report["deviation"])
    cost = 0.5 * np.abs(balance.shares - [WANTED[seller] for seller in SELLERS]).sum()
    assert balance.objective - 1e-9 <= own - cost <= balance.bound + 1e-9


def test_users_have_their_relevance_and_deviation_before_and_after(balance: Any, tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    before = reranker.report(candidates, items, history=history).to_pydict()
    after = balance.report().to_pydict()
    assert balance.relevance_before == pytest.approx(np.mean(before["relevance"]), abs=1e-12)
    assert balance.deviation_before == pytest.approx(np.mean(before["deviation"]), abs=1e-12)
    assert balance.relevance == pytest.approx(np.mean(after["relevance"]), abs=1e-12)
    assert balance.deviation == pytest.approx(np.mean(after["deviation"]), abs=1e-12)
    assert balance.relevance < balance.relevance_before


def test_users_means_go_by_their_weights_and_leave_out_who_has_no_target(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    few = history.filter(pa.compute.not_equal(history["user_id"], "u0000"))
    users = pa.table({"user_id": ["u0000", "u0001"], "weight": [60.0, 40.0]})
    rest = pa.table({"user_id": [f"u{number:04d}" for number in range(2, 60)], "weight": [0.0] * 58})
    users = pa.concat_tables([users, rest])
    balance = reranker.balance(candidates, items, history=few, users=users, **ASKED)
    rows = {row["user_id"]: row for row in balance.report().to_pylist()}
    mean = 0.6 * rows["u0000"]["relevance"] + 0.4 * rows["u0001"]["relevance"]
    assert balance.relevance == pytest.approx(mean, abs=1e-12)
    assert balance.deviation == pytest.approx(rows["u0001"]["deviation"], abs=1e-12)


def test_rerank_with_the_table_draws_the_same_slates(balance: Any, tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    again = reranker.rerank(candidates, items, history=history, prices=balance.table)
    assert again.equals(balance.slates())
    other_day = reranker.rerank(candidates, items, history=history, prices=balance.table, day="2030-01-31")
    assert other_day.equals(balance.slates(day="2030-01-31"))


def test_stored_lotteries_draw_the_same_slates(balance: Any, reranker: Any) -> None:
    drawn = reranker.draw(balance.lotteries())
    assert drawn.equals(balance.slates())


def test_the_table_survives_pandas_polars_and_text(balance: Any, tables: Any, reranker: Any, tmp_path: Any) -> None:
    import pyarrow.csv

    candidates, items, history = tables
    pyarrow.csv.write_csv(balance.table, tmp_path / "prices.csv")
    for prices in (balance.table.to_pandas(), pyarrow.csv.read_csv(tmp_path / "prices.csv")):
        again = reranker.rerank(candidates, items, history=history, prices=prices)
        assert again.equals(balance.slates())


def test_a_table_of_groups_that_are_numbers_survives_a_csv_file_and_pandas(tmp_path: Any) -> None:
    candidates = pd.DataFrame({"user_id": ["ada"] * 2, "item_id": [1, 2], "score": [0.9, 0.8]})
    items = pd.DataFrame({"item_id": [1, 2], "category": ["drama", "comedy"], "decade": [1990, 2000]})
    targets, reranker = {"drama": 0.5, "comedy": 0.5}, Reranker(k=1, trade_off=0.0)
    balance = reranker.balance(candidates, items, targets=targets, everyone={"decade": {1990: 0.25, 2000: 0.75}})
    balance.table.to_csv(tmp_path / "prices.csv", index=False)
    prices = pd.read_csv(tmp_path / "prices.csv")  # with decades such as 1990.0, for want of one in rows of blocks
    assert reranker.rerank(candidates, items, targets=targets, prices=prices).equals(balance.slates())


def test_prices_have_a_row_a_group(balance: Any) -> None:
    rows = balance.prices.to_pylist()
    assert [row["category"] for row in rows] == list(SELLERS)
    before = np.array([row["share_before"] for row in rows])
    after = np.array([row["share_after"] for row in rows])
    wanted = np.array([row["low"] for row in rows])
    assert np.abs(after - wanted).sum() < 0.2 * np.abs(before - wanted).sum()
    dearest = max(rows, key=lambda row: row["price"])
    assert dearest["share_before"] > dearest["low"]


def test_simple_prices_do_what_is_told_of_them(balance: Any, tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    lotteries = reranker.lotteries(candidates, items, history=history, prices=balance.simple)
    found = seller_shares(lotteries, items, 5, position_weights("log", 5))
    np.testing.assert_allclose(found, balance.simple_shares, atol=1e-9)


def test_order_of_rows_and_threads_do_not_matter(balance: Any, tables: Any) -> None:
    candidates, items, history = tables
    mixed = candidates.take(np.random.default_rng(1).permutation(len(candidates)))
    again = excalibr.Reranker(k=5, trade_off=0.3, threads=2).balance(mixed, items, history=history, **ASKED)
    assert again.table.equals(balance.table)


def test_floors_and_caps_are_kept(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    limits = {"everyone_floors": {"seller": {"new": 0.08}}, "everyone_caps": {"seller": {"big": 0.5}}}
    balance = reranker.balance(candidates, items, history=history, **limits)
    shares = dict(zip(SELLERS, balance.shares, strict=True))
    assert shares["new"] >= 0.08 - 1e-4
    assert shares["big"] <= 0.5 + 1e-4
    assert balance.relative_gap <= 1e-3


def test_limits_that_conflict_are_named(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    with pytest.raises(InfeasibleError, match=r"no lotteries .* floor 0.9 of seller 'new' \(nearest 0\.\d+\)"):
        reranker.balance(candidates, items, history=history, everyone_floors={"seller": {"new": 0.9}})


def test_bands_and_a_table_of_several_attributes(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    wanted = pa.table(
        {
            "attribute": ["seller", "seller", "category"],
            "category": ["small", "new", "horror"],
            "low": [0.15, 0.05, 0.2],
            "high": [0.3, 0.2, 0.4],
        }
    )
    balance = reranker.balance(candidates, items, history=history, everyone=wanted)
    shares = dict(zip([label for _, label in balance.groups], balance.shares, strict=True))
    assert 0.15 - 1e-3 <= shares["small"] <= 0.3
    assert balance.relative_gap <= 1e-3


def test_of_two_weights_of_a_user_the_smaller_counts_in_any_order_of_rows(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    twice, once = ["u0000", "u0000", "u0001"], ["u0000", "u0001"]
    given = [(twice, [1.0, 500.0, 3.0]), (twice, [500.0, 1.0, 3.0]), (once, [1.0, 3.0])]
    users = [pa.table({"user_id": ids, "weight": weights}) for ids, weights in given]
    found = [reranker.balance(candidates, items, history=history, users=each, **ASKED).table for each in users]
    assert found[0].equals(found[2])
    assert found[1].equals(found[2])


def test_users_count_by_their_weight(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    users = pa.table({"user_id": ["u0000", "u0001"], "weight": [1000.0, 0.0]})
    balance = reranker.balance(candidates, items, history=history, users=users, **ASKED)
    lotteries = balance.lotteries()
    first = lotteries.filter(pa.compute.equal(lotteries["user_id"], "u0000"))
    alone = seller_shares(first, items, 5, position_weights("log", 5))
    assert np.abs(alone - balance.shares).sum() < 0.15


def test_users_who_fall_back_count_with_what_they_are_shown(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    few = history.filter(pa.compute.greater(history["user_id"], "u0030"))
    balance = reranker.balance(candidates, items, history=few, **ASKED)
    found = seller_shares(balance.lotteries(), items, 5, position_weights("log", 5))
    np.testing.assert_allclose(found, balance.shares, atol=1e-9)
    assert balance.relative_gap <= 1e-3


def test_a_balance_starts_from_yesterdays_prices(tables: Any, reranker: Any, balance: Any) -> None:
    candidates, items, history = tables
    again = reranker.balance(candidates, items, history=history, start=balance.simple, **ASKED)
    assert again.relative_gap <= 1e-3
    assert again.work <= balance.work


def test_few_passes_end_with_what_was_proven(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    with pytest.warns(GapWarning, match=r"stopped after 1 pass at a gap of .* Hint: raise max_passes\."):
        balance = reranker.balance(candidates, items, history=history, max_passes=1, everyone_tolerance=1e-9, **ASKED)
    assert balance.passes == 1
    assert balance.gap > 0.0


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({}, "everyone: is missing"),
        ({"everyone": {"seller": {"big": 1.0, "small": 1.0}}}, r"everyone\['seller'\]: sums to 2, must sum to 1"),
        ({"everyone": {"seller": {"nobody": 1.0}}}, "is 'nobody', must be one of"),
        ({"everyone": {"shop": {"big": 1.0}}}, "column 'shop' not found in items"),
        ({"everyone": {"seller": WANTED}, "everyone_tolerance": 0.0}, "everyone_tolerance: is 0.0"),
        ({"everyone_floors": {"seller": {"big": 2.0}}}, "everyone_floors: has 2.0 for 'big'"),
        ({"everyone_floors": {"seller": {"nobody": 0.1}}}, "is 'nobody', must be one of"),
        ({"everyone": {"seller": WANTED}, "everyone_weights": {"seller": -1}}, "everyone_weights: has -1"),
    ],
)
def test_bad_targets_are_refused(tables: Any, reranker: Any, asked: Any, says: Any) -> None:
    candidates, items, history = tables
    with pytest.raises(InputError, match=says):
        reranker.balance(candidates, items, history=history, **asked)


def test_methods_and_budgets_without_a_bound_are_refused(tables: Any) -> None:
    candidates, items, history = tables
    for options, says in (({"method": "greedy"}, "method: is 'greedy'"), ({"relevance_loss": 0.1}, "relevance_loss")):
        with pytest.raises(InputError, match=says):
            excalibr.Reranker(k=5, **options).balance(candidates, items, history=history, **ASKED)


@pytest.mark.parametrize(
    ("prices", "says"),
    [
        ({"seller": {"somebody": 1.0}}, "none of which an item has"),
        ({"shop": {"big": 1.0}}, "column 'shop' not found in items"),
    ],
)
def test_prices_of_other_items_are_refused(tables: Any, reranker: Any, prices: Any, says: Any) -> None:
    candidates, items, history = tables
    with pytest.raises(InputError, match=says):
        reranker.rerank(candidates, items, history=history, prices=prices)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"probability": [0.5]}, "sum to 0.5 over 1 pass,"),
        ({"block": ["7"]}, "have no row with an attribute|has '7'"),
        ({"price": [np.nan]}, "column 'price' of prices: row 0 is nan, must be finite"),
    ],
)
def test_broken_tables_of_prices_are_refused(change: Any, says: Any) -> None:
    row = {
        "pass": [1],
        "probability": [1.0],
        "attribute": ["seller"],
        "category": ["big"],
        "price": [0.1],
        "block": [""],
    }
    with pytest.raises(InputError, match=says):
        read_prices(pa.table({**row, **change}))


def test_prices_as_a_mapping_move_the_exposure(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    plain = reranker.lotteries(candidates, items, history=history)
    dear = reranker.lotteries(candidates, items, history=history, prices={"seller": {"big": 1.0}})
    weights = position_weights("log", 5)
    assert seller_shares(dear, items, 5, weights)[0] < seller_shares(plain, items, 5, weights)[0] - 0.2


def test_a_mapping_of_prices_names_groups_that_are_numbers_as_the_items_do() -> None:
    candidates = pa.table({"user_id": ["ada"] * 2, "item_id": [1, 2], "score": [0.9, 0.8]})
    items = pa.table({"item_id": [1, 2], "category": ["drama", "comedy"], "stars": [2.0, 4.5]})
    prices = {"stars": {2.0: 1.0, 4.5: 0.0}}
    dear = Reranker(k=1, trade_off=0.0).rerank(candidates, items, targets={"drama": 1.0}, prices=prices)
    assert dear["item_id"].to_pylist() == [2]


def test_report_has_relevance_of_the_scores_as_they_are(tables: Any, reranker: Any) -> None:
    candidates, items, history = tables
    report = reranker.report(candidates, items, history=history, prices={"seller": {"big": 5.0}}).to_pydict()
    assert min(report["relevance"]) > 0.0
    assert np.mean(report["relevance"]) < np.mean(report["relevance_before"])


def test_a_balance_shows_wanted_and_reached_shares_and_hostile_names_as_text() -> None:
    titles = ["Harbour", "Orchard", "Letter", "Wedding", "Lodger"]
    candidates = pd.DataFrame({"user_id": "ada", "item_id": titles, "score": [0.95, 0.92, 0.90, 0.80, 0.74]})
    items = pd.DataFrame({"item_id": titles, "category": ["drama"] * 3 + ["comedy"] * 2})
    items["seller"] = ["<b>big", "<b>big", "small", "<b>big", "small"]
    history = pd.DataFrame({"user_id": "ada", "item_id": ["Letter", "Letter", "Lodger"]})
    wanted = {"seller": {"<b>big": 0.6, "small": 0.4}}
    html = (
        Reranker(k=3, trade_off=0.5, seed=1).balance(candidates, items, history=history, everyone=wanted)._repr_html_()
    )
    assert "&lt;b&gt;big" in html
    assert "<b>big" not in html
    assert html.count(">0.600<") == 2  # wanted and reached
    assert ">1.000<" in html  # before
