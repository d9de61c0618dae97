"""Wanted shares and prices that cannot be: each refused in the usual form; and what can be, with its edge cases."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import excalibr
from excalibr.errors import InfeasibleError, InputError, InputTypeError, TableWarning
from excalibr.positions import position_weights
from tests.population.tables import seller_shares, shop

WANTED = {"big": 0.4, "middle": 0.3, "new": 0.1, "small": 0.2}
RERANKER = excalibr.Reranker(k=5, trade_off=0.3, threads=1)
CANDIDATES, ITEMS, HISTORY = shop(users=40)


TWO_PASSES = {"pass": [1, 2], "attribute": ["seller"] * 2, "category": ["big"] * 2, "price": [0.1, 0.2]}


def table(**columns: Any) -> Any:
    return pa.table(columns)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"everyone": {"seller": {"big": "many", "small": 0.5}}}, r"everyone\['seller'\]: has 'many' for 'big'"),
        ({"everyone": {"seller": None}}, r"everyone\['seller'\]: is None, must be a mapping or a table"),
        ({"everyone": {"seller": {"big": np.nan, "small": 1.0}}}, "has nan for 'big', must have a number"),
        (
            {"everyone": {"seller": table(category=["big", "big", "small"], weight=[0.5, 0.2, 0.5])}},
            r"everyone\['seller'\]: has 'big' twice, must have each group once",
        ),
        ({"everyone": {"seller": WANTED}, "everyone_weights": {"shop": 1.0}}, "everyone_weights: is 'shop'"),
        ({"everyone": {"seller": WANTED}, "max_passes": 0}, "max_passes: is 0, must be a whole number of at least 1.$"),
        ({"everyone": {"seller": WANTED}, "prices": {"seller": {"big": 1.0}}}, "prices: are given, must be left out"),
        (
            {"everyone": {"seller": WANTED}, "everyone_weights": 1e13},
            r"make a unit of deviation cost 1e\+13, must make it cost at most 1.25e\+12 with these scores",
        ),
        (
            {"everyone": {"seller": WANTED}, "users": table(user_id=CANDIDATES["user_id"][:1], weight=[1e31])},
            r"column 'weight' of users: row 0 is 1e\+31, must be finite and at least 0, and at most 1e\+30",
        ),
        (
            {"everyone_floors": {"seller": {"big": 0.1}}, "everyone_weights": {"seller": 2.0}},
            "everyone_weights: is given without everyone, must go with wanted shares",
        ),
        ({"everyone_floors": {"seller": 0.1}}, "everyone_floors: is {'seller': 0.1}, must be a mapping by attribute"),
        ({"everyone_caps": "seller"}, "everyone_caps: is 'seller', must be a mapping by attribute"),
        (
            {"everyone_floors": {"seller": {"big": 0.5}}, "everyone_caps": {"seller": {"big": 0.4}}},
            "everyone_floors: of 'big' is 0.5, above its cap 0.4",
        ),
        ({"everyone_caps": {"seller": {"big": 0.5, " big": 0.4}}}, "everyone_caps: has 'big' twice"),
        (
            {"everyone": {"seller": table(category=["big", None], weight=[0.5, 0.5])}},
            "row 1 has no category, must name one in each row. Hint: pandas reads a name such as NA as",
        ),
        ({"everyone": {"seller": table(category=["big"], weight=[2.0])}}, "has 2 for 'big', must have shares from 0"),
        ({"everyone": {"seller": table(category=["big"], low=[0.5], high=[2.0])}}, "has 0.5 to 2 for 'big', must have"),
    ],
)
def test_shares_that_cannot_be_are_refused(asked: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, **asked)


@pytest.mark.parametrize(
    ("everyone", "says"),
    [
        ("equal", "everyone: is a str, must be a mapping by attribute, a table of pandas"),
        ({"seller": ["big"]}, r"everyone\['seller'\]: is a list, must be a mapping of shares, a table of pandas"),
    ],
)
def test_shares_that_are_neither_mapping_nor_table_are_refused(everyone: Any, says: str) -> None:
    with pytest.raises(InputTypeError, match=says):
        RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, everyone=everyone)


@pytest.mark.parametrize(
    ("option", "wrong"), [("max_passes", True), ("everyone_relative", "yes"), ("everyone_tolerance", "tight")]
)
def test_a_wrong_type_is_refused_as_of_every_option(option: str, wrong: Any) -> None:
    with pytest.raises(InputTypeError, match=f"{option}: is {wrong!r}"):
        RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, everyone={"seller": WANTED}, **{option: wrong})


def test_an_attribute_that_is_no_column_of_the_items_is_told_with_the_nearest() -> None:
    says = "column 'sller' not found in items. Hint: .* columns are .*'seller'.*; did you mean 'seller'?"
    for asked in ({"everyone": {"sller": WANTED}}, {"everyone_floors": {"sller": {"big": 0.1}}}):
        with pytest.raises(InputError, match=says):
            RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, **asked)


def test_nobody_cannot_be_balanced() -> None:
    with pytest.raises(InputError, match="candidates: have no users, must have at least one"):
        RERANKER.balance(CANDIDATES.slice(0, 0), ITEMS, history=HISTORY, everyone={"seller": WANTED})


def test_a_user_who_cannot_be_calibrated_stops_a_balance_where_that_is_asked() -> None:
    strict = excalibr.Reranker(k=5, trade_off=0.3, fallback="error")
    with pytest.raises(InputError, match="user 'u0000' has no target, must have only users who can be calibrated"):
        strict.balance(CANDIDATES, ITEMS, history=HISTORY.slice(5), everyone={"seller": WANTED})


def test_a_table_may_call_its_groups_as_the_items_do() -> None:
    shares = list(WANTED.values())
    usual, own = (table(**{name: list(WANTED), "weight": shares}) for name in ("category", "seller"))
    found = [RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, everyone={"seller": each}) for each in (usual, own)]
    assert found[0].table.equals(found[1].table)


def test_pairs_of_low_and_high_are_a_band_as_two_columns_are() -> None:
    bands = {"big": (0.0, 0.4), "small": (0.2, 0.5)}
    low, high = zip(*bands.values(), strict=True)
    columns = table(category=list(bands), low=low, high=high)
    found = [
        RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, everyone={"seller": each}) for each in (bands, columns)
    ]
    assert found[0].table.equals(found[1].table)
    assert found[0].prices["high"].to_pylist()[0] == 0.4


def test_deviation_budgets_are_refused() -> None:
    with pytest.raises(InputError, match="max_deviation: is given, must be left out of a balance"):
        excalibr.Reranker(k=5, max_deviation=0.1).balance(
            CANDIDATES, ITEMS, history=HISTORY, everyone={"seller": WANTED}
        )


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            {"everyone_floors": {"seller": {"big": 0.6, "small": 0.6}}},
            "floor 0.6 of seller 'small'.*floor 0.6 of seller 'big'",
        ),
        ({"everyone_caps": {"seller": dict.fromkeys(WANTED, 0.2)}}, "cap 0.2 of seller"),
    ],
)
def test_limits_that_leave_no_room_are_named_with_the_nearest(asked: Any, says: str) -> None:
    with pytest.raises(InfeasibleError, match=f"{says}.* The nearest miss them by 0.2 in all"):
        RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, **asked)


def with_a_ghost() -> Any:
    """The items and one more of a seller that nobody can show."""
    ghost = pa.table({"item_id": [10_000], "category": ["drama"], "seller": ["ghost"]})
    return pa.concat_tables([ITEMS, ghost.cast(ITEMS.schema)])


def test_a_group_that_nobody_can_show_stays_at_nothing() -> None:
    wanted = {"big": 0.4, "middle": 0.2, "new": 0.1, "small": 0.2, "ghost": 0.1}
    balance = RERANKER.balance(CANDIDATES, with_a_ghost(), history=HISTORY, everyone={"seller": wanted})
    row = next(row for row in balance.prices.to_pylist() if row["category"] == "ghost")
    assert row["share_after"] == 0.0
    assert balance.relative_gap <= 1e-3


def test_a_floor_of_a_group_that_nobody_can_show_is_refused() -> None:
    with pytest.raises(InfeasibleError, match=r"floor 0.1 of seller 'ghost' \(nearest 0\)"):
        RERANKER.balance(CANDIDATES, with_a_ghost(), history=HISTORY, everyone_floors={"seller": {"ghost": 0.1}})


def test_limits_of_an_attribute_that_is_called_by_a_number_count() -> None:
    items = ITEMS.rename_columns(["7" if name == "seller" else name for name in ITEMS.column_names])
    with pytest.raises(InfeasibleError, match="floor 0.9 of 7 'new'"):
        RERANKER.balance(CANDIDATES, items, history=HISTORY, everyone_floors={7: {"new": 0.9}})


def test_users_without_candidates_do_not_count() -> None:
    asked = {"everyone": {"seller": WANTED}}
    others = pa.concat_tables([HISTORY, pa.table({"user_id": ["nobody"], "item_id": [1]}).cast(HISTORY.schema)])
    users = pa.table({"user_id": ["nobody"], "weight": [1000.0]})
    alone = RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, **asked)
    beside = RERANKER.balance(CANDIDATES, ITEMS, history=others, users=users, **asked)
    assert beside.table.equals(alone.table)


def test_pinned_items_stay_and_count() -> None:
    first = CANDIDATES.group_by("user_id", use_threads=False).aggregate([("item_id", "min")])
    pinned = pa.table({"user_id": first["user_id"], "item_id": first["item_id_min"], "rank": [2] * len(first)})
    balance = RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, pinned=pinned, everyone={"seller": WANTED})
    slates = {(row["user_id"], row["rank"]): row["item_id"] for row in balance.slates().to_pylist()}
    assert all(slates[row["user_id"], 2] == row["item_id"] for row in pinned.to_pylist())
    found = seller_shares(balance.lotteries(), ITEMS, 5, position_weights("log", 5))
    np.testing.assert_allclose(found, balance.shares, atol=1e-9)
    assert balance.relative_gap <= 1e-3


@pytest.mark.parametrize("how", [{"normalise": "range"}, {"divergence": "kl"}, {"draws": "single"}])
def test_the_gap_is_of_the_lotteries_that_are_drawn(how: Any) -> None:
    reranker = excalibr.Reranker(k=5, trade_off=0.3, threads=1, **how)
    asked = {"everyone": {"seller": WANTED}, "everyone_tolerance": 0.05}
    balance = reranker.balance(CANDIDATES, ITEMS, history=HISTORY, **asked)
    found = seller_shares(balance.lotteries(), ITEMS, 5, position_weights("log", 5))
    np.testing.assert_allclose(found, balance.shares, atol=1e-9)
    assert balance.objective <= balance.bound


def test_small_groups_count_as_much_where_deviation_is_relative() -> None:
    asked = {"everyone": {"seller": WANTED}, "everyone_weights": {"seller": 0.005}}
    plain = RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, **asked)
    relative = RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, everyone_relative=True, **asked)
    at = sorted(WANTED).index("new")
    assert abs(relative.shares[at] - 0.1) <= abs(plain.shares[at] - 0.1)


@pytest.mark.parametrize(
    ("prices", "says"),
    [
        ({"seller": {"big": "x"}}, "prices: have 'x' for 'big' of 'seller', must have finite numbers"),
        ({"seller": {"big": np.inf}}, "prices: have inf for 'big'"),
        ({"seller": 1.0}, "prices: have 1.0 for 'seller', must have a price for each category"),
        ({}, "prices: are empty"),
        (table(attribute=["seller"] * 2, category=["big"] * 2, price=[0.1, 0.2]), "have a group twice in a pass"),
        ({"seller": {"big": 0.1, " big": 0.2}}, r"prices\['seller'\]: has 'big' twice, must have each name once"),
        (
            table(attribute=["seller"] * 2, category=["big", None], price=[0.1, 0.2]),
            "column 'category' of prices: row 1 has a price and no category.*keep_default_na=False",
        ),
        (table(attribute=[None], category=["big"], price=[0.1]), "row 0 has a price and no attribute"),
        (
            table(
                **{"pass": [1, 2]},
                probability=[-0.5, 1.5],
                attribute=["seller"] * 2,
                category=["big"] * 2,
                price=[0.1, 0.2],
            ),
            "column 'probability' of prices: row 0 is -0.5, must be at least 0",
        ),
        (
            table(attribute=["seller"], category=["big"], cost=[0.1]),
            r"prices: have no column 'price', but \['attribute', 'category', 'cost'\], must have attribute, category",
        ),
        (
            table(**{"pass": [None]}, probability=[1.0], attribute=["seller"], category=["big"], price=[0.1]),
            "column 'pass' of prices",
        ),
        (
            table(
                attribute=["seller", "", ""], category=["big", "", ""], price=[0.1, 0.0, 0.0], block=["", "1/9", "1/8"]
            ),
            "prices: mix blocks of several balances, must be the table of one balance",
        ),
        (
            table(attribute=["seller", ""], category=["big", ""], price=[0.1, 0.0], block=["", "9/9"]),
            "column 'block' of prices: has '9/9', must have texts such as '519/1000'",
        ),
    ],
)
def test_prices_that_cannot_be_are_refused(prices: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        RERANKER.rerank(CANDIDATES, ITEMS, history=HISTORY, prices=prices)


@pytest.mark.parametrize(
    ("start", "says"),
    [
        (
            {"seller": {"nobody": 0.1, "somebody": 0.2}},
            "start: has prices of 'nobody' of 'seller' and 1 more, all of them unknown here, must be of groups of "
            "this balance, such as 'big' of 'seller'. Hint: leave it out",
        ),
        ({"category": {"drama": 0.1}}, "start: has prices of 'drama' of 'category', all of them unknown here"),
        ({"seller": {"big": np.inf}}, "start: have inf for 'big' of 'seller', must have finite numbers"),
        (table(attribute=["seller"], category=["big"], cost=[0.1]), "start: have no column 'price'"),
        ("yesterday", "start: is a str, must be a mapping by attribute, a table"),
    ],
)
def test_a_start_with_prices_of_something_else_is_refused(start: Any, says: str) -> None:
    with pytest.raises((InputError, InputTypeError), match=says):
        RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, everyone={"seller": WANTED}, start=start)


def test_prices_of_groups_that_are_gone_are_told_and_not_used() -> None:
    asked = {"everyone": {"seller": WANTED}}
    known = {"seller": {"big": 0.1, "small": -0.1}}
    with_gone = {"seller": {"big": 0.1, "gone": 0.3, "small": -0.1}}
    plain = RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, start=known, **asked)
    with pytest.warns(TableWarning, match="start: has prices of 'gone' of 'seller', which are not used"):
        found = RERANKER.balance(CANDIDATES, ITEMS, history=HISTORY, start=with_gone, **asked)
    assert found.table.equals(plain.table)
