"""Every body is answered with a code and a reason, whatever it is: no fault of ours, nothing that ends the process."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from excalibr.errors import ExcalibrError
from excalibr.service import Application, Limits, application
from excalibr.service._body import BodyReader
from excalibr.service._targets import read_target_of
from tests.service.client import Client, body_of, client_of
from tests.tables.invented import invented_tables

TABLES = invented_tables(users=4)
BODY = body_of(TABLES.candidates, 100)
OPTIONS = 'history = "history.parquet"\nk = 5\ntrade_off = 0.4'
SMALL = Limits(max_items=50, max_batch=3, max_body=60_000)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    return client_of(tmp_path_factory.mktemp("profiles"), TABLES, OPTIONS, limits=SMALL)


HOSTILE: dict[str, tuple[bytes, int, str | None]] = {
    "nothing": (b"", 400, None),
    "half of a body": (b'{"items": [1, 2', 400, None),
    "no JSON": (b"items=1&scores=2", 400, None),
    "invalid UTF-8": (b'{"items": ["\xff\xfe"], "scores": [1]}', 400, None),
    "a lone surrogate": (b'{"items": ["\\ud800"], "scores": [1]}', 400, None),
    "deep nesting": (b'{"items": ' + b"[" * 9000 + b"]" * 9000 + b"}", 422, "$.items[0]"),
    "deep nesting in a field": (
        b'{"items": [{"id": 1, "score": 1, "fields": [{"name": "a", "value": '
        + b"[" * 20_000
        + b"]" * 20_000
        + b"}]}]}",
        400,
        None,
    ),
    "another type": (b"[1, 2, 3]", 422, "$"),
    "null": (b"null", 422, "$"),
    "a NaN": (b'{"items": [1], "scores": [NaN]}', 400, None),
    "an infinity": (b'{"items": [1], "scores": [1e999]}', 422, "$.scores[0]"),
    "a huge whole number": (b'{"items": [1], "scores": [' + b"9" * 400 + b"]}", 422, "$.scores[0]"),
    "a score that is too large": (b'{"items": [1], "scores": [1e200]}', 422, "$.scores[0]"),
    "a huge id": (b'{"items": [' + b"9" * 400 + b'], "scores": [1]}', 200, None),
    "text where a number is wanted": (b'{"items": [1], "scores": ["1"]}', 422, "$.scores[0]"),
    "fewer scores than items": (b'{"items": [1, 2], "scores": [1]}', 422, "$.scores"),
    "no scores": (b'{"items": [1, 2]}', 422, "$.items[0]"),
    "an item without a score": (b'{"items": [{"id": 1}]}', 422, "$.items[0]"),
    "a relevancy of text": (
        b'{"items": [{"id": 1, "fields": [{"name": "relevancy", "value": "x"}]}]}',
        422,
        "$.items[0].fields",
    ),
    "both forms": (b'{"items": [{"id": 1, "score": 1}], "scores": [1]}', 422, "$.scores"),
    "an unknown field": (b'{"items": [1], "scores": [1], "lambda": 0.5}', 422, "$"),
    "an id that is no number": (b'{"items": ["__import__(\'os\')"], "scores": [1]}', 422, "$.items[0]"),
    "a path as a user": (b'{"items": [1], "scores": [1], "user": "../../etc/passwd"}', 422, "$.user"),
    "a number of slots of 0": (b'{"items": [1], "scores": [1], "k": 0}', 422, "$.k"),
    "a trade-off of 2": (b'{"items": [1], "scores": [1], "trade_off": 2}', 422, "$.trade_off"),
    "two aims": (b'{"items": [1], "scores": [1], "trade_off": 0.5, "max_deviation": 0.1}', 422, "$.trade_off"),
    "two aims and more": (
        b'{"items": [1], "scores": [1], "k": 3, "relevance_loss": 0.5, "max_deviation": 0.1}',
        422,
        "$.relevance_loss",
    ),
    "weights of a target without a sum": (
        b'{"items": [1], "scores": [1], "target": {"drama": 1.7e308, "epic": 1.7e308}}',
        422,
        "$.target",
    ),
    "weights of categories without a sum": (
        b'{"items": [999], "scores": [1], "categories": {"999": {"drama": 1.7e308, "epic": 1.7e308}}}',
        422,
        "$.categories.999",
    ),
    "a day that is none": (b'{"items": [1], "scores": [1], "day": "2030-02-31"}', 422, "$.day"),
    "a visit of -1": (b'{"items": [1], "scores": [1], "visit": -1}', 422, "$.visit"),
    "a target of nothing": (b'{"items": [1], "scores": [1], "target": {}}', 422, "$.target"),
    "a target of attributes": (b'{"items": [1], "scores": [1], "target": {"a": {"b": 1}}}', 422, "$.target"),
    "a negative weight": (b'{"items": [1], "scores": [1], "target": {"drama": -1}}', 422, "$.target[...]"),
    "an unknown category": (
        b'{"items": [999], "scores": [1], "categories": {"999": ["x"]}}',
        422,
        "$.categories.999",
    ),
    "a pin of nobody": (b'{"items": [1], "scores": [1], "pinned": [{"item": 5, "rank": 1}]}', 422, "$.pinned[0]"),
    "too many items": (
        json.dumps({"items": list(range(51)), "scores": [0.5] * 51}).encode(),
        413,
        "$.items",
    ),
    "a duplicate key": (b'{"items": [7], "items": [1], "scores": [1]}', 200, None),
    "a body that is too large": (b" " * (SMALL.max_body + 1), 413, None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies_are_answered(client: Client, name: str) -> None:
    body, code, path = HOSTILE[name]
    reply = client.post("/rank/films", body)
    assert reply.code == code, reply.body
    if code != 200:
        assert reply.path == path
        assert reply.message.endswith(".")
    assert client.post("/rank/films", BODY).code == 200


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", "/rank/nobody", 404),
        ("POST", "/rank/", 404),
        ("POST", "/rank/films/other", 404),
        ("POST", "/rank/films/", 404),
        ("GET", "/rank/films", 405),
        ("GET", "/nothing", 404),
        ("GET", "/../profiles.toml", 404),
        ("POST", "/metrics", 405),
        ("POST", "/reload", 404),
        ("GET", "/livez", 200),
        ("HEAD", "/livez", 200),
        ("GET", "/readyz", 200),
        ("GET", "/health", 200),
        ("GET", "/profiles", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/metrics", 200),
    ],
)
def test_paths_and_methods(client: Client, method: str, path: str, code: int) -> None:
    reply = client.ask(method, path, BODY if method == "POST" else b"")
    assert reply.code == code
    if method == "HEAD":
        assert reply.body == b""


@pytest.mark.parametrize(
    ("path", "allowed"), [("/rank/films", "POST"), ("/metrics", "GET, HEAD"), ("/livez", "GET, HEAD")]
)
def test_another_method_is_told_those_that_the_path_has(client: Client, path: str, allowed: str) -> None:
    reply = client.ask("DELETE", path)
    assert (reply.code, reply.headers["Allow"]) == (405, allowed)


def test_a_length_that_is_a_lie_is_found_out(client: Client) -> None:
    raw = json.dumps(BODY).encode()
    assert client.post("/rank/films", raw, CONTENT_LENGTH=str(len(raw) + 5)).code == 400
    assert client.post("/rank/films", raw, CONTENT_LENGTH="99999999999").code == 413
    assert client.post("/rank/films", raw, CONTENT_LENGTH="-5").code == 400
    assert client.post("/rank/films", raw, CONTENT_LENGTH="").code == 200
    assert client.post("/rank/films", b" " * (SMALL.max_body + 1), CONTENT_LENGTH="").code == 413


def test_a_batch_has_a_limit(client: Client) -> None:
    reply = client.post("/rank/films/batch", {"requests": [BODY] * 4})
    assert (reply.code, reply.path) == (413, "$.requests")


def test_a_token_is_asked_for_everywhere_but_where_life_is_looked_for(tmp_path: Path) -> None:
    client = client_of(tmp_path, TABLES, OPTIONS, token="s3cret")
    assert client.get("/livez").code == 200
    for path in ("/readyz", "/profiles", "/openapi.json", "/metrics", "/health"):
        assert client.get(path).code == 401
    for wrong in ("", "s3cret", "Bearer", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "Bearer \xe9"):
        reply = client.post("/rank/films", BODY, HTTP_AUTHORIZATION=wrong)
        assert (reply.code, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert client.post("/rank/films", BODY, HTTP_AUTHORIZATION="Bearer s3cret").code == 200


def test_beyond_the_backpressure_a_request_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request comes while another is worked on: with room for one, the second is refused."""
    client = client_of(tmp_path, TABLES, OPTIONS, limits=Limits(backpressure=1))
    seen: list[Any] = []

    def meanwhile(*given: Any) -> Any:
        if not seen:
            seen.append(client.post("/rank/films", BODY))
        return read_target_of(*given)

    monkeypatch.setattr("excalibr.service._application.read_target_of", meanwhile)
    assert client.post("/rank/films", BODY).code == 200
    assert (seen[0].code, seen[0].headers["Retry-After"]) == (503, "1")
    assert client.post("/rank/films", BODY).code == 200


def test_a_client_awaits_an_answer_from_its_body_until_the_answer_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("excalibr.service._body.time.monotonic", lambda: now[0])
    reader = BodyReader(10, 1)
    assert reader.awaiting() == []
    assert reader.read({"wsgi.input": io.BytesIO(b"body")}) == b"body"
    now[0] = 130.0
    assert reader.awaiting() == [(99.0, 100.0)]
    reader.answered()
    assert reader.awaiting() == [(99.0, 100.0)]  # the server may not have begun to send it
    now[0] = 131.5
    assert reader.awaiting() == []


@pytest.mark.parametrize("length", ["101", "9" * 30, "9" * 5000])
def test_a_length_of_any_size_is_too_large_and_no_fault(tmp_path: Path, length: str) -> None:
    client = client_of(tmp_path, TABLES, OPTIONS, limits=Limits(max_body=100))
    reply = client.post("/rank/films", b"{}", CONTENT_LENGTH=length)
    assert (reply.code, reply.message) == (413, f"The body has {length:.20} bytes, must have at most 100.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads: is 0, must be a whole number of at least 1"),
        ({"max_body": "8 MB"}, "max_body: is '8 MB', must be a whole number of at least 1"),
        ({"body_seconds": float("nan")}, "body_seconds: is nan, must be a number above 0"),
        ({"log": "xml"}, "log: is 'xml', must be one of 'off', 'text', 'json'"),
        ({"token": ""}, "token: is no bearer token, must be one word of ASCII, or None"),
        ({"token": "two words"}, "token: is no bearer token"),
        ({"token": "größe"}, "token: is no bearer token"),
    ],
)
def test_what_an_application_cannot_be_told_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ExcalibrError, match=re.escape(message)):
        _ = application(**options) if options.keys() & {"log", "token"} else Limits(**options)


def test_so_many_bodies_may_be_on_their_way(tmp_path: Path) -> None:
    client = client_of(tmp_path, TABLES, OPTIONS, limits=Limits(readers=1))
    seen: list[Any] = []
    raw = json.dumps(BODY).encode()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            seen.append(client.post("/rank/films", BODY))
            return super().read(size)

    assert client.post("/rank/films", raw, **{"wsgi.input": Slow(raw)}).code == 200
    assert (seen[0].code, seen[0].headers["Retry-After"]) == (503, "1")
    assert client.post("/rank/films", BODY).code == 200


def test_browsers_may_ask_only_where_an_origin_is_named(tmp_path: Path) -> None:
    closed = client_of(tmp_path, TABLES, OPTIONS)
    assert "Access-Control-Allow-Origin" not in closed.post("/rank/films", BODY).headers
    assert closed.ask("OPTIONS", "/rank/films").code == 405
    named = client_of(tmp_path, TABLES, OPTIONS, cors="https://shop.example", token="s3cret")
    for path in ("/rank/films", "/profiles", "/readyz"):  # asked before a request that has a token, without it
        assert named.ask("OPTIONS", path).code == 204
    assert named.post("/rank/films", BODY, HTTP_AUTHORIZATION="Bearer s3cret").code == 200
    assert named.post("/rank/films", BODY).headers["Access-Control-Allow-Origin"] == "https://shop.example"


def test_until_the_profiles_are_loaded_the_answer_is_to_try_again() -> None:
    client = Client(Application(None))
    assert client.get("/livez").code == 200
    for reply in (client.get("/readyz"), client.post("/rank/demo", BODY), client.get("/profiles")):
        assert (reply.code, reply.headers["Retry-After"]) == (503, "1")
    client.service.load()
    assert client.get("/readyz").code == 200


def test_a_fault_of_ours_is_told_as_one_and_nothing_of_it_leaves(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr("excalibr.service._application.read_target_of", broken)
    reply = client.post("/rank/films", BODY)
    assert reply.code == 500
    assert b"secret" not in reply.body


def test_a_fault_in_one_request_of_a_batch_spoils_no_other(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(request: Any, *rest: Any) -> Any:
        if request.id == "bad":
            raise RuntimeError("the secret reason")
        return read_target_of(request, *rest)

    monkeypatch.setattr("excalibr.service._application.read_target_of", broken)
    reply = client.post("/rank/films/batch", {"requests": [BODY, {**BODY, "id": "bad"}, BODY]})
    first, fault, last = reply.json["answers"]
    assert first["items"] == last["items"] != []
    assert (fault["error"]["code"], fault["error"]["path"]) == (500, "$.requests[1]")
    assert b"secret" not in reply.body


def test_metrics_count_what_happened(tmp_path: Path) -> None:
    client = client_of(tmp_path, TABLES, OPTIONS)
    client.post("/rank/films", BODY)
    client.post("/rank/films", BODY)
    client.post("/rank/films", {**BODY, "user": 10**6})
    client.post("/rank/films", b"{")
    client.post("/rank/nobody", BODY)
    page = client.get("/metrics").body.decode()
    for line in (
        'excalibr_rank_requests_total{code="200",profile="films"} 3.0',
        'excalibr_rank_requests_total{code="400",profile="films"} 1.0',
        'excalibr_rank_requests_total{code="404",profile=""} 1.0',
        'excalibr_users_without_target_total{profile="films"} 1.0',
        'excalibr_solve_seconds_count{profile="films"} 2.0',
        'excalibr_policy_gap_count{profile="films"} 2.0',
        "excalibr_in_flight 0.0",
    ):
        assert line in page
    assert 'excalibr_rank_latency_seconds_bucket{le="0.0001",profile="films"}' in page


def test_the_log_has_a_line_a_request_without_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = client_of(tmp_path, TABLES, OPTIONS, log="json")
    client.post("/rank/films", {**BODY, "id": "r1", "history": [1, 2]})
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["code"], line["id"], line["status"]) == ("request", 200, "r1", "ok")
    assert not {"scores", "history", "items_ids"} & set(line)
    client = client_of(tmp_path, TABLES, OPTIONS, log="text")
    client.get("/a\nb")
    assert capsys.readouterr().err.count("\n") == 1


def test_any_server_can_have_the_application() -> None:
    from wsgiref.validate import validator

    service, started = application(), []
    environ = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/profiles",
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    parts = validator(service)(environ, lambda status, headers, *_: started.append(status) or (lambda _: None))  # type: ignore[func-returns-value]
    assert json.loads(b"".join(parts))["profiles"][0]["name"] == "demo"
    parts.close()  # type: ignore[attr-defined]
    assert started == ["200 OK"]


def test_requests_make_no_decoders(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # msgspec 0.22 crashes where two threads are the first to meet a type: all are met before the first request.
    def late(*_: Any, **__: Any) -> None:
        raise AssertionError("a decoder was made for a request")

    for name in ("Decoder", "decode"):
        monkeypatch.setattr(f"msgspec.json.{name}", late)
    assert client.post("/rank/films", BODY).code == 200
    assert client.post("/rank/films", {**BODY, "lottery": True, "explain": True}).code == 200
    assert client.post("/rank/films/batch", {"requests": [BODY, {}]}).code == 200


def test_counting_many_at_once_is_counting_each() -> None:
    from prometheus_client import CollectorRegistry, generate_latest

    from excalibr.service._metrics import SECONDS, histogram

    amounts = [0.0, *SECONDS, *(1.5 * each for each in SECONDS), 1e9]
    pages = []
    for at_once in (True, False):
        registry = CollectorRegistry()
        made = histogram()("seconds", "Of each.", ["name"], buckets=SECONDS, registry=registry).labels("a")
        made.observe_all(amounts) if at_once else [made.observe(each) for each in amounts]
        pages.append([line for line in generate_latest(registry).decode().splitlines() if "_created" not in line])
    assert pages[0] == pages[1]


@pytest.mark.parametrize("name", ["history", "shown", "pinned", "categories"])
def test_every_list_of_a_request_has_the_same_limit(client: Client, name: str) -> None:
    given: dict[str, Any] = {
        "history": list(range(51)),
        "shown": list(range(51)),
        "pinned": [{"item": 1, "rank": rank} for rank in range(1, 52)],
        "categories": {str(number): ["drama"] for number in range(1000, 1051)},
    }
    reply = client.post("/rank/films", {**BODY, name: given[name]})
    assert (reply.code, reply.path) == (413, f"$.{name}")
    assert reply.message == f"There are 51 of `{name}`, must be at most 50."
