"""A request's slate is what a Reranker gives the same user, for every option that both know."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import ExcalibrWarning
from tests.service.client import Client, body_of, client_of
from tests.tables.invented import GENRE_COLUMNS, Invented, invented_tables

SHARED = invented_tables(users=8)
USERS = sorted(set(SHARED.candidates["user_id"].to_pylist()))
HISTORY = 'history = "history.parquet"'

PROFILES: dict[str, dict[str, Any]] = {
    "plain": {"k": 5, "trade_off": 0.4, "seed": 3},
    "every slot": {"trade_off": 0.4},
    "relevance only": {"k": 5, "trade_off": 0.0},
    "calibration only": {"k": 5, "trade_off": 1.0},
    "kl": {"k": 5, "trade_off": 0.4, "divergence": "kl"},
    "a budget of relevance": {"k": 5, "relevance_loss": 0.05},
    "a budget of deviation": {"k": 5, "max_deviation": 0.2},
    "a budget that nothing meets": {"k": 5, "max_deviation": 0.0},
    "single": {"k": 5, "trade_off": 0.6, "draws": "single"},
    "even": {"k": 5, "trade_off": 0.6, "draws": "even"},
    "weights": {"k": 5, "trade_off": 0.4, "category_weights": {"drama": 2.0}},
    "relative": {"k": 5, "trade_off": 0.4, "relative": True},
    "floors": {"k": 5, "trade_off": 0.4, "floors": {"drama": 0.1}},
    "a floor that nothing meets": {"k": 5, "trade_off": 0.4, "floors": {"drama": 0.99}},
    "normalised": {"k": 5, "trade_off": 0.4, "normalise": "range"},
    "greedy": {"k": 5, "trade_off": 0.4, "method": "greedy"},
    "weights of slots": {"k": 5, "trade_off": 0.4, "position_weights": [1.0, 3.0, 2.0, 1.0, 1.0]},
    "few sorts": {"k": 5, "trade_off": 0.4, "max_sorts": 3},
}


def slates(reranker: Reranker, tables: Invented = SHARED, **options: Any) -> dict[Any, list[dict[str, Any]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)
        asked = {"history": tables.history, **GENRE_COLUMNS, "propensities": True, **options}
        asked = {name: value for name, value in asked.items() if value is not None}
        rows = reranker.rerank(tables.candidates, tables.items, **asked).to_pylist()
    return {user: [row for row in rows if row["user_id"] == user] for user in USERS}


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + " }"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def written(options: dict[str, Any]) -> str:
    return "\n".join([HISTORY, *(f"{name} = {toml(value)}" for name, value in options.items())])


def same(answer: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    assert [each["item"] for each in answer["items"]] == [row["item_id"] for row in rows]
    assert [each["rank"] for each in answer["items"]] == [row["rank"] for row in rows]
    assert [each["score"] for each in answer["items"]] == [row["score"] for row in rows]
    assert [each["propensity"] for each in answer["items"]] == [row["propensity"] for row in rows]
    if rows:
        assert answer["policy"]["probability"] == rows[0]["probability"]


@pytest.mark.parametrize("name", PROFILES)
def test_a_slate_is_what_a_reranker_gives_bit_for_bit(tmp_path: Path, name: str) -> None:
    options = PROFILES[name]
    client = client_of(tmp_path, SHARED, written(options))
    expected = slates(Reranker(**options))
    for user in USERS:
        reply = client.post("/rank/films", body_of(SHARED.candidates, user))
        assert reply.code == 200
        same(reply.json, expected[user])


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return client_of(tmp_path, SHARED, written(PROFILES["plain"]))


@pytest.mark.parametrize(
    "own",
    [
        {"k": 3},
        {"k": 1000},
        {"trade_off": 0.9},
        {"relevance_loss": 0.1},
        {"max_deviation": 0.3},
        {"divergence": "kl"},
        {"draws": "single"},
        {"max_sorts": 1},
        {"seed": 11},
    ],
)
def test_a_request_may_ask_otherwise_than_its_profile(client: Client, own: dict[str, Any]) -> None:
    aims = {"trade_off": None} if set(own) & {"relevance_loss", "max_deviation"} else {}
    expected = slates(Reranker(**(PROFILES["plain"] | aims | own)))
    for user in USERS:
        same(client.post("/rank/films", body_of(SHARED.candidates, user, **own)).json, expected[user])


@pytest.mark.parametrize(
    "asked", [{"day": "2030-01-31"}, {"visit": 0}, {"visit": 70}, {"day": "2030-02-01", "visit": 3}]
)
def test_days_and_visits_draw_what_a_reranker_draws(client: Client, asked: dict[str, Any]) -> None:
    expected = slates(Reranker(**PROFILES["plain"]), **asked)
    for user in USERS:
        same(client.post("/rank/films", body_of(SHARED.candidates, user, **asked)).json, expected[user])


def test_metaranks_body_gives_the_same_slate(client: Client) -> None:
    columnar = body_of(SHARED.candidates, USERS[0])
    pairs = list(zip(columnar["items"], columnar["scores"], strict=True))
    event = {"event": "ranking", "id": "id1", "timestamp": "1599391467000", "session": "s1", "user": USERS[0]}
    tags = {"name": "tags", "value": [{"a": [1]}, "b"]}
    scored = {**event, "items": [{"id": item, "score": score} for item, score in pairs]}
    fields = {
        **event,
        "fields": [{"name": "query", "value": "cat"}, {"name": "filters", "value": {"genre": ["drama"]}}],
        "items": [{"id": item, "fields": [tags, {"name": "relevancy", "value": score}]} for item, score in pairs],
    }
    answers = [client.post("/rank/films", body).json for body in (columnar, scored, fields)]
    assert answers[0]["items"] == answers[1]["items"] == answers[2]["items"]
    assert answers[1]["id"] == "id1"


@pytest.mark.parametrize(
    "name", ["plain", "every slot", "kl", "a budget of relevance", "even", "normalised", "few sorts"]
)
def test_both_ways_to_a_slate_give_the_same_answer(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(tmp_path, SHARED, written(PROFILES[name]) + '\nunknown = "append"')
    bodies = [body_of(SHARED.candidates, user, id=f"r{user}") for user in USERS]
    bodies += [{**body, "items": [*body["items"], 10**9], "scores": [*body["scores"], 0.25]} for body in bodies]
    at_once = [client.post("/rank/films", body).json for body in bodies]
    monkeypatch.setattr("excalibr.service._application.fast_slate", lambda *_, **__: None)
    for body, one in zip(bodies, at_once, strict=True):
        other = client.post("/rank/films", body).json
        assert (list(one), list(one["policy"])) == (list(other), list(other["policy"]))
        for answer in (one, other):
            del answer["took"]
        assert one == other


def test_most_requests_are_answered_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("excalibr.service._application.rank")
    for user in USERS:
        assert client.post("/rank/films", body_of(SHARED.candidates, user)).code == 200
    assert client.post("/rank/films", body_of(SHARED.candidates, USERS[0], lottery=True)).code == 500


def test_ids_are_brought_to_the_type_of_the_table(client: Client) -> None:
    body = body_of(SHARED.candidates, USERS[0])
    as_text = {**body, "user": str(body["user"]), "items": [str(item) for item in body["items"]]}
    numbers, texts = (client.post("/rank/films", each).json for each in (body, as_text))
    assert [str(each["item"]) for each in numbers["items"]] == [each["item"] for each in texts["items"]]
    assert numbers["policy"] == texts["policy"]


def test_the_order_of_candidates_does_not_matter(client: Client) -> None:
    body = body_of(SHARED.candidates, USERS[1])
    order = np.random.default_rng(1).permutation(len(body["items"])).tolist()
    mixed = {**body, "items": [body["items"][at] for at in order], "scores": [body["scores"][at] for at in order]}
    assert client.post("/rank/films", mixed).json["items"] == client.post("/rank/films", body).json["items"]


def test_a_target_of_the_request_comes_first(client: Client) -> None:
    target = {"drama": 3, "comedy": 1}
    expected = slates(Reranker(**PROFILES["plain"]), history=None, targets=target)
    for user in USERS:
        same(client.post("/rank/films", body_of(SHARED.candidates, user, target=target)).json, expected[user])


@pytest.mark.parametrize("aged", [False, True])
def test_a_history_of_the_request_comes_before_that_of_the_table(tmp_path: Path, aged: bool) -> None:
    rng = np.random.default_rng(5)
    had = rng.choice(SHARED.items["item_id"].to_numpy(), 9, replace=False).tolist()
    weights, times = rng.random(9).tolist(), rng.integers(0, 100, 9).astype(float).tolist()
    past = [
        {"item": item, "weight": weight, "timestamp": time}
        for item, weight, time in zip(had, weights, times, strict=True)
    ]
    options = {"half_life": 20.0} if aged else {}
    client = client_of(tmp_path, SHARED, written({**PROFILES["plain"], **options}).replace(HISTORY, ""))
    for user in USERS[:3]:
        own = pa.table({"user_id": [user] * 9, "item_id": had, "weight": weights, "timestamp": times})
        tables = Invented(
            SHARED.candidates.filter(pa.compute.equal(SHARED.candidates["user_id"], user)), SHARED.items, own
        )
        expected = slates(Reranker(**PROFILES["plain"]), tables, **options)
        same(client.post("/rank/films", body_of(SHARED.candidates, user, history=past)).json, expected[user])


@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_a_prior_serves_whom_the_tables_do_not_know(tmp_path: Path, strength: float) -> None:
    prior = {"drama": 0.5, "comedy": 0.5}
    options = {**PROFILES["plain"], "prior": prior, "strength": strength}
    client = client_of(tmp_path, SHARED, written(options))
    expected = slates(Reranker(**PROFILES["plain"]), prior=prior, strength=strength)
    for user in USERS:
        same(client.post("/rank/films", body_of(SHARED.candidates, user)).json, expected[user])
    stranger = {**body_of(SHARED.candidates, USERS[0]), "user": 10**6}
    moved = SHARED.candidates.filter(pa.compute.equal(SHARED.candidates["user_id"], USERS[0]))
    moved = moved.set_column(0, "user_id", pa.array([10**6] * len(moved), moved["user_id"].type))
    tables = Invented(moved, SHARED.items, SHARED.history)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)
        rows = (
            Reranker(**PROFILES["plain"])
            .rerank(
                tables.candidates,
                tables.items,
                history=tables.history,
                prior=prior,
                strength=strength,
                propensities=True,
                **GENRE_COLUMNS,
            )
            .to_pylist()
        )
    same(client.post("/rank/films", stranger).json, rows)


def test_without_any_target_the_order_is_that_of_the_scores(client: Client) -> None:
    reply = client.post("/rank/films", {**body_of(SHARED.candidates, USERS[0]), "user": 10**6}).json
    assert reply["policy"]["status"] == "no target"
    scores = [each["score"] for each in reply["items"]]
    assert scores == sorted(scores, reverse=True)
    assert {each["propensity"] for each in reply["items"]} == {1.0}


@pytest.mark.parametrize("rank", [10**9, 10**15, 10**300])
def test_a_shown_item_may_have_been_at_any_rank(client: Client, rank: int) -> None:
    body = body_of(SHARED.candidates, USERS[0])
    reply = client.post("/rank/films", body | {"shown": [{"item": body["items"][0], "rank": rank}]})
    assert reply.code == 200, reply.json
    assert body["items"][0] not in [each["item"] for each in reply.json["items"]]


def test_shown_and_pinned_items_count_as_they_do_in_tables(client: Client) -> None:
    for user in USERS:
        body = body_of(SHARED.candidates, user)
        seen, pinned = body["items"][:3], body["items"][5]
        shown = pa.table({"user_id": [user] * 3, "item_id": seen, "rank": [1, 2, 3]})
        pins = pa.table({"user_id": [user], "item_id": [pinned], "rank": [2]})
        tables = Invented(
            SHARED.candidates.filter(pa.compute.equal(SHARED.candidates["user_id"], user)), SHARED.items, SHARED.history
        )
        expected = slates(Reranker(**PROFILES["plain"]), tables, shown=shown, pinned=pins)
        own = {
            "shown": [{"item": item, "rank": rank} for rank, item in enumerate(seen, 1)],
            "pinned": [{"item": pinned, "rank": 2}],
        }
        same(client.post("/rank/films", {**body, **own}).json, expected[user])


def test_an_item_of_the_request_ranks_as_if_it_stood_in_the_table(tmp_path: Path) -> None:
    body = body_of(SHARED.candidates, USERS[2])
    missing = body["items"][7]
    row = next(row for row in SHARED.items.to_pylist() if row["item_id"] == missing)
    fewer = SHARED.items.filter(pa.compute.not_equal(SHARED.items["item_id"], missing))
    options = written({**PROFILES["plain"], "targets": {"drama": 0.5, "comedy": 0.5}}).replace(HISTORY, "")
    whole = client_of(tmp_path, SHARED, options)
    told = whole.post("/rank/films", body).json
    without = client_of(tmp_path, Invented(SHARED.candidates, fewer, SHARED.history), options)
    labels = row["genres"].split("|") if row["genres"] else ["(none)"]
    again = without.post("/rank/films", {**body, "categories": {str(missing): labels}}).json
    assert again["items"] == told["items"]
    assert again["policy"]["left_out"] == {"unknown": 0, "repeated": 0}


def test_several_attributes_and_bands_are_ranked_as_in_tables(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rng = np.random.default_rng(2)
    ids = SHARED.items["item_id"].to_pylist()
    items = pa.table(
        {
            "item_id": ids,
            "genre": [["drama", "comedy", "war"][int(at)] for at in rng.integers(0, 3, len(ids))],
            "age": [["old", "new"][int(at)] for at in rng.integers(0, 2, len(ids))],
        }
    )
    pq.write_table(items, tmp_path / "items.parquet")
    path = tmp_path / "profiles.toml"
    targets = {"genre": {"drama": [0.2, 0.4], "comedy": [0.3, 0.5], "war": [0.1, 0.3]}, "age": {"old": 0.5, "new": 0.5}}
    path.write_text(
        '[profiles.films]\nitems = "items.parquet"\ncategory = ["genre", "age"]\nk = 5\ntrade_off = 0.6\n'
        "[profiles.films.targets]\nage = { old = 0.5, new = 0.5 }\n"
        "genre = { drama = [0.2, 0.4], comedy = [0.3, 0.5], war = [0.1, 0.3] }\n",
        encoding="utf-8",
    )
    from excalibr.service import application

    client = Client(application(path))
    rows = (
        Reranker(k=5, trade_off=0.6)
        .rerank(SHARED.candidates, items, category=["genre", "age"], targets=targets, propensities=True)
        .to_pylist()
    )
    for user in USERS:
        reply = client.post("/rank/films", body_of(SHARED.candidates, user))
        same(reply.json, [row for row in rows if row["user_id"] == user])
        assert set(reply.json["policy"]["deviation"]) == {"genre", "age"}


def test_the_policy_of_an_answer_is_that_of_the_report(client: Client) -> None:
    report = Reranker(**PROFILES["plain"]).report(
        SHARED.candidates, SHARED.items, history=SHARED.history, **GENRE_COLUMNS
    )
    for row in report.to_pylist():
        told = client.post("/rank/films", body_of(SHARED.candidates, row["user_id"])).json["policy"]
        for name in ("relevance", "deviation", "gap"):
            assert told[name] == pytest.approx(row[name], rel=1e-12, abs=1e-15)
        assert told["status"] == row["status"]


def test_a_lottery_and_an_explanation_come_on_request(client: Client) -> None:
    body = body_of(SHARED.candidates, USERS[0])
    answer = client.post("/rank/films", {**body, "lottery": True, "explain": True}).json
    assert sum(each["probability"] for each in answer["lottery"]) == pytest.approx(1.0)
    assert [each["item"] for each in answer["items"]] in [each["items"] for each in answer["lottery"]]
    assert set(answer["explain"]["items"]["label"]) >= {str(each["item"]) for each in answer["items"]}
    assert 0 < answer["explain"]["relevance_kept"] <= 1
    plain = client.post("/rank/films", body).json
    assert "lottery" not in plain
    assert "explain" not in plain


def test_unknown_and_repeated_items_are_left_out_and_counted(client: Client) -> None:
    body = body_of(SHARED.candidates, USERS[0])
    more = {**body, "items": [*body["items"], 10**9, body["items"][0]], "scores": [*body["scores"], 9.0, -5.0]}
    answer, plain = client.post("/rank/films", more).json, client.post("/rank/films", body).json
    assert answer["policy"]["left_out"] == {"unknown": 1, "repeated": 1}
    assert answer["items"] == plain["items"]


def test_unknown_items_follow_the_slate_where_the_profile_says_so(tmp_path: Path) -> None:
    client = client_of(tmp_path, SHARED, written({**PROFILES["plain"], "unknown": "append"}))
    body = body_of(SHARED.candidates, USERS[0])
    more = {**body, "items": [10**9, *body["items"], 10**9 + 1], "scores": [9.0, *body["scores"], 0.5]}
    items = client.post("/rank/films", more).json["items"]
    assert [(each["item"], each["rank"], each["score"]) for each in items[5:]] == [(10**9, 6, 9.0), (10**9 + 1, 7, 0.5)]


@pytest.mark.parametrize(("fallback", "code", "count"), [("nothing", 200, 0), ("error", 422, None)])
def test_the_fallback_is_the_profiles(tmp_path: Path, fallback: str, code: int, count: int | None) -> None:
    client = client_of(tmp_path, SHARED, written({**PROFILES["plain"], "fallback": fallback}))
    reply = client.post("/rank/films", {**body_of(SHARED.candidates, USERS[0]), "user": 10**6})
    assert reply.code == code
    if count is not None:
        assert len(reply.json["items"]) == count


def test_a_reason_names_the_category(tmp_path: Path) -> None:
    client = client_of(tmp_path, SHARED, written(PROFILES["a floor that nothing meets"]))
    told = client.post("/rank/films", body_of(SHARED.candidates, USERS[0])).json["policy"]
    assert (told["status"], told["reason"][:41]) == ("failed", "floors: category 'drama' cannot reach 0.9")


def test_no_candidates_are_no_error(client: Client) -> None:
    answer = client.post("/rank/films", {"items": [], "scores": [], "user": USERS[0]}).json
    assert (answer["items"], answer["policy"]["status"]) == ([], "no candidates")


def test_a_batch_answers_each_by_itself_and_a_bad_one_spoils_none(client: Client) -> None:
    good = [body_of(SHARED.candidates, user) for user in USERS[:3]]
    bad = [{"items": [1], "scores": ["x"]}, {"items": [1]}, 7, {"items": [], "scores": [], "k": 0}]
    answers = client.post("/rank/films/batch", {"requests": [*good[:2], *bad, good[2]]}).json["answers"]
    for body, answer in zip(good, [*answers[:2], answers[-1]], strict=True):
        assert answer["items"] == client.post("/rank/films", body).json["items"]
    paths = [each["error"]["path"] for each in answers[2:-1]]
    assert paths == ["$.requests[2].scores[0]", "$.requests[3].items[0]", "$.requests[4]", "$.requests[5].k"]


def test_a_session_draws_where_there_is_no_user(client: Client) -> None:
    body = {**body_of(SHARED.candidates, USERS[0]), "user": None, "target": {"drama": 1, "comedy": 1}}
    drawn = [client.post("/rank/films", {**body, "session": "s1", "visit": 2}).json["items"] for _ in range(3)]
    assert drawn[0] == drawn[1] == drawn[2]
    reply = client.post("/rank/films", {**body, "visit": 2})
    assert (reply.code, reply.path) == (422, "$.visit")
