"""A profile with prices of groups answers with the slates of ``Reranker.rerank(prices=…)``, bit for bit."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from excalibr import Reranker
from excalibr._options import Options
from excalibr._population import Mixture
from excalibr._problem import Batch
from excalibr.errors import ExcalibrWarning, InputError
from excalibr.service._prices import ItemPrices
from tests.service.client import body_of, client_of
from tests.service.test_ranking import HISTORY, PROFILES, SHARED, USERS, same, slates, toml, written
from tests.tables.invented import GENRE_COLUMNS, Invented


def sellers() -> pa.Table:
    names = [["big", "small", "tiny"][at % 3] for at in range(len(SHARED.items))]
    return SHARED.items.append_column("seller", pa.array(names))


@pytest.mark.parametrize("asked", [{}, {"day": "2030-01-31"}, {"visit": 5}], ids=["plain", "day", "visit"])
@pytest.mark.parametrize("passes", ["one pass", "several passes", "as found", "written down"])
def test_prices_of_a_balance_give_the_slates_of_a_reranker(tmp_path: Path, passes: str, asked: dict[str, Any]) -> None:
    options, items = PROFILES["plain"], sellers()
    tables = Invented(SHARED.candidates, items, SHARED.history)
    by_pass = pa.table(
        {
            "pass": [1, 1, 2, 2],
            "probability": [0.7, 0.7, 0.3, 0.3],
            "attribute": ["seller"] * 4,
            "category": ["big", "tiny"] * 2,
            "price": [0.2, -0.1, 0.05, 0.0],
        }
    )
    written_down = {"seller": {"big": 0.2, "tiny": -0.1}}
    prices: Any = {"one pass": by_pass.slice(0, 2).drop(["pass", "probability"]), "several passes": by_pass}.get(passes)
    if passes == "as found":
        everyone = {"seller": {"big": 0.2, "small": 0.3, "tiny": 0.5}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExcalibrWarning)
            found = Reranker(**options).balance(
                SHARED.candidates, items, history=SHARED.history, everyone=everyone, **GENRE_COLUMNS
            )
        prices = found.table
    if prices is not None:
        pq.write_table(prices, tmp_path / "prices.parquet")
    line = f"prices = {toml(written_down)}" if prices is None else 'prices = "prices.parquet"'
    client = client_of(tmp_path, tables, f"{written(options)}\n{line}")
    expected = slates(Reranker(**options), tables, prices=written_down if prices is None else prices, **asked)
    plain = slates(Reranker(**options), tables, **asked)
    assert any(expected[user] != plain[user] for user in USERS)
    for user in USERS:
        same(client.post("/rank/films", body_of(SHARED.candidates, user, **asked)).json, expected[user])


def test_prices_take_pins_strangers_and_items_of_the_request(tmp_path: Path) -> None:
    tables = Invented(SHARED.candidates, sellers(), SHARED.history)
    line = "prices = { seller = { big = 0.2 } }\nprior = { drama = 1 }"
    client = client_of(tmp_path, tables, f"{written(PROFILES['plain'])}\n{line}")
    body = body_of(SHARED.candidates, USERS[0])
    body["items"][0] = 10**9
    own = {"categories": {str(10**9): ["drama"]}, "pinned": [{"item": 10**9, "rank": 2}], "shown": body["items"][1:3]}
    reply = client.post("/rank/films", {**body, **own})
    assert reply.code == 200
    assert reply.json["items"][1]["item"] == 10**9
    assert not {each["item"] for each in reply.json["items"]} & set(own["shown"])
    del body["user"]
    assert client.post("/rank/films", body).json["policy"]["status"] == "ok"
    assert client.post("/rank/films", {**body, "explain": True}).json["explain"]["items"]
    refused = client.post("/rank/films", {**body, "relevance_loss": 0.1})
    assert (refused.code, refused.path) == (422, "$.relevance_loss")
    assert refused.message.startswith("relevance_loss: is given with prices of items, must be left out")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('prices = "nothing.parquet"', r"prices: .*nothing.parquet does not exist, must be a file or a folder"),
        ("prices = 3", r"prices: is 3, must be the name of a file"),
        ("prices = { seller = { huge = 0.1 } }", r"prices: have 'huge' .*none of which an item has"),
        ("prices = { label = { big = 0.1 } }", r"column 'label' not found in items"),
        ('prices = { seller = { big = "dear" } }', r"prices: .*'dear'"),
        ("prices = { seller = 0.1 }", r"prices: "),
        (
            "trade_off = 0.5\nprices = { seller = { big = 0.1 } }".replace("trade_off", "max_deviation"),
            r"max_deviation: is given with prices of items, must be left out",
        ),
    ],
)
def test_prices_that_cannot_be_end_the_start_with_the_reason(tmp_path: Path, line: str, message: str) -> None:
    tables = Invented(SHARED.candidates, sellers(), SHARED.history)
    with pytest.raises(InputError, match=rf"profiles.toml: \[profiles.films\]: .*{message}"):
        client_of(tmp_path, tables, f"{HISTORY}\nk = 5\n{line}")


def test_an_item_that_only_the_request_knows_costs_nothing(tmp_path: Path) -> None:
    tables = Invented(SHARED.candidates, sellers(), SHARED.history)
    line = "prices = { seller = { big = 5.0, small = 5.0, tiny = 5.0 } }"
    client = client_of(tmp_path, tables, f"{HISTORY}\nk = 1\ntrade_off = 0.0\n{line}")
    own = {"items": [999, 1], "scores": [0.5, 0.9], "categories": {"999": ["drama"]}}
    assert [each["item"] for each in client.post("/rank/films", {"user": USERS[0], **own}).json["items"]] == [999]


def test_somebody_without_a_name_draws_the_passes_as_all_users_together_do() -> None:
    batch = Batch.of([0.9, 0.5], [0, 2], [[1.0], [1.0]], [1.0], options=Options(k=1, trade_off=0.0))
    everyone, ones = np.array([1.0, 0.0]), np.array([[0.0], [1.0]])  # the only block draws the second pass alone
    mixture = Mixture(np.zeros((2, 1)), everyone, 1, np.array([0]), ones)
    prices = ItemPrices(np.array([[0.0, 0.0], [0.8, 0.0]]), mixture)
    shown = {user: prices.solve(batch, np.array([0, 1]), user).rankings.tolist() for user in (None, "ada")}
    assert shown == {None: [[0]], "ada": [[1]]}
