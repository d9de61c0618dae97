import logging
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from excalibr import Policy, Reranker, calibrate
from excalibr._many_users import measure
from excalibr.errors import BatchWarning, InputError, InputTypeError, TableWarning, TruncationWarning
from excalibr.ray import RerankBatch
from excalibr.tables import _results as results
from tests.tables.attributes import ATTRIBUTES, Rows
from tests.tables.invented import (
    CANDIDATES,
    EQUAL,
    FOUR,
    GENRE_COLUMNS,
    ITEMS,
    KINDS,
    KINDS_OF_FRAMES,
    RERANKER,
    Invented,
    invented_tables,
    quietly,
)


def test_probabilities_of_a_users_rankings_sum_to_one() -> None:
    tables = invented_tables()
    lotteries = RERANKER.lotteries(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
    frame = lotteries.to_pandas()
    assert list(frame.columns)[:6] == ["user_id", "ranking", "probability", "rank", "item_id", "score"]
    sums = frame[frame["rank"] == 1].groupby("user_id")["probability"].sum()
    assert np.allclose(sums, 1.0)


def test_results_show_what_they_are_of_and_not_the_tables() -> None:
    assert repr(Reranker(k=2).solve(CANDIDATES, ITEMS, targets=EQUAL)) == (
        "Results(2 categories in `category`; 1 user; 2 slots of 4 candidates)"
    )


@pytest.mark.parametrize("day", [[1], {"monday"}, object()])
def test_a_day_that_cannot_name_a_draw_is_told_before_anything_is_solved(day: Any) -> None:
    lotteries = Reranker(k=2).lotteries(CANDIDATES, ITEMS, targets=EQUAL)
    asks: list[Any] = [
        lambda: Reranker(k=2).rerank(CANDIDATES[:0], ITEMS, targets=EQUAL, day=day),
        lambda: Reranker(k=2).draw(lotteries[:0], day=day),
        lambda: RerankBatch(ITEMS, targets=EQUAL, day=day),
    ]
    for ask in asks:
        with pytest.raises(InputTypeError, match="day: is .*, must be a string, number, date, bytes, None or a tuple"):
            ask()


def test_the_report_has_a_row_a_user() -> None:
    tables = invented_tables()
    report = RERANKER.report(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS).to_pandas()
    assert len(report) == 30
    assert (report["deviation"] < report["deviation_before"]).all()
    assert (report["relevance"] <= report["relevance_before"] + 1e-12).all()
    assert (report["draw_deviation"] <= report["worst_draw_deviation"]).all()
    assert (report["gap"] < 1e-9).all()
    assert set(report["status"]) == {"ok"}


def test_what_cannot_be_kept_is_the_users_status_with_the_reason() -> None:
    reranker = Reranker(k=2, floors={"a": 0.9, "b": 0.9})
    with pytest.warns(BatchWarning, match="1 failed"):
        report = reranker.report(CANDIDATES, ITEMS, targets={"a": 1.0})
    assert report["status"][0].as_py().startswith("failed: ")


def test_bad_users_may_be_left_out_or_stop_everything() -> None:
    history = pa.table({"user_id": ["somebody else"], "item_id": [1]})
    assert len(quietly(Reranker(k=2, fallback="nothing"), CANDIDATES, ITEMS, history=history)) == 0
    with pytest.raises(InputError, match="candidates: user 'u' has no target"):
        Reranker(k=2, fallback="error").rerank(CANDIDATES, ITEMS, history=history)


@pytest.mark.parametrize(
    ("ask", "options", "says"),
    [
        ("rerank", {"score": "rank"}, "rank: is 'rank', as score is"),
        ("lotteries", {"score": "probability"}, "probability: is 'probability', as score is"),
        ("rerank", {"score": "propensity", "propensities": True}, "propensity: is 'propensity', as score is"),
        ("lotteries", {"user_id": "ranking"}, "ranking: is 'ranking', as user_id is"),
        ("report", {"user_id": "status"}, "user_id: is 'status', a column of the report"),
        ("rerank", {"rank": "score"}, "rank: is 'score', as score is, must have a name of its own"),
        ("lotteries", {"ranking": "rank"}, "ranking: is 'rank', as rank is.*Hint: pass ranking=…"),
    ],
)
def test_nothing_is_written_over_users_items_and_scores(ask: str, options: dict[str, Any], says: str) -> None:
    names = [options.get(name, name) for name in ("user_id", "item_id", "score")]
    with pytest.raises(InputError, match=says):
        getattr(Reranker(k=2), ask)(CANDIDATES.rename_columns(names), ITEMS, targets={"a": 1.0}, **options)


def test_users_and_items_are_different_columns() -> None:
    with pytest.raises(InputError, match="item_id: is 'item_id', as user_id is, must have a name of its own"):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, targets={"a": 1.0}, user_id="item_id")


def test_a_score_called_probability_can_be_kept_beside_ours() -> None:
    candidates = CANDIDATES.rename_columns(["user_id", "item_id", "probability"])
    asked: dict[str, Any] = {"targets": {"a": 1.0}, "score": "probability"}
    lotteries = Reranker(k=2).lotteries(candidates, ITEMS, probability="chance", **asked)
    assert lotteries.select(["chance", "probability"]).to_pydict() == {"chance": [1.0, 1.0], "probability": [0.9, 0.8]}
    assert Reranker(k=2).rerank(candidates, ITEMS, **asked)["probability"].to_pylist() == [0.9, 0.8]


@pytest.mark.parametrize("method", ["excalibr", "greedy"])
def test_a_question_that_turns_out_to_have_no_answer_stops_everything_too(method: str) -> None:
    items = pa.table({"item_id": [1, 2, 3, 4, 5], "category": ["a", "a", "b", "b", "c"]})  # nobody has item 5
    strict = Reranker(k=2, floors={"c": 0.5}, method=method, fallback="error")
    with pytest.raises(
        InputError, match="candidates: user 'u': (floors: category 'c' cannot reach 0.5|method: is 'greedy')"
    ):
        strict.rerank(CANDIDATES, items, targets={"a": 1.0})


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_one_line_says_what_was_understood_and_nothing_is_printed(
    kind: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = invented_tables(users=3)
    given = {name: KINDS[kind](getattr(tables, name)) for name in ("candidates", "items", "history")}
    line = (
        "5 categories in `genres`, split at `|` (guessed); 3 users; 5 slots of 25 candidates; "
        "`genres` of items is taken as category"
    )
    with caplog.at_level(logging.INFO, logger="excalibr"):
        results = Reranker(k=5, method="top-k").solve(**given)
    assert results.understood == line
    assert caplog.messages == [line]
    assert capsys.readouterr() == ("", "")


def test_numbers_that_differ_by_user_are_medians() -> None:
    candidates = pa.table({"user_id": [1, 1, 1, 2, 3, 3], "item_id": [1, 2, 3, 1, 3, 4], "score": [1.0] * 6})
    results = Reranker(k=2, method="top-k").solve(candidates, ITEMS, targets=EQUAL)
    assert results.understood == "2 categories in `category`; 3 users; 2 slots of 2 candidates (median)"


def test_a_user_who_cannot_be_measured_stops_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_for_the_second(questions: Any, lotteries: Any) -> Any:
        if lotteries.first <= 1 < lotteries.first + len(lotteries.counts):
            raise MemoryError
        return measure(questions, lotteries)

    tables = invented_tables(users=3)
    given: tuple[Any, ...] = (tables.candidates, tables.items)
    whole = Reranker(k=5).report(*given, history=tables.history).to_pylist()
    monkeypatch.setattr(results, "measure", fails_for_the_second)
    report = Reranker(k=5).report(*given, history=tables.history).to_pylist()
    assert [row["status"] for row in report] == ["ok"] * 3
    assert np.isnan(report[1]["relevance"])
    assert [report[0], report[2]] == [whole[0], whole[2]]


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_scores_that_are_all_nan_leave_nobody_a_slate_and_that_is_said(kind: str) -> None:
    candidates = KINDS[kind](pa.table(FOUR | {"score": [np.nan] * 4}))
    message = "1 of 1 users have no slate .1 no candidates.. Rows left out: 4 without a finite score"
    with pytest.warns(BatchWarning, match=message):
        assert len(Reranker(k=2).rerank(candidates, ITEMS, targets=EQUAL)) == 0


@pytest.mark.parametrize("method", ["rerank", "report", "lotteries"])
def test_without_a_number_of_slots_only_the_order_can_change_and_that_is_said(method: str) -> None:
    with pytest.warns(TruncationWarning, match="every user has as many slots as candidates.*Hint: pass k=10") as caught:
        getattr(Reranker(), method)(CANDIDATES, ITEMS, targets=EQUAL)
    assert len(caught) == 1


def test_slots_of_a_users_own_or_of_few_weights_leave_something_to_do() -> None:
    own = pa.table({"user_id": ["u"], "k": [2]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        few = Reranker(position_weights=[1.0, 0.5]).rerank(CANDIDATES, ITEMS, targets=EQUAL)
        by_user = Reranker().rerank(CANDIDATES, ITEMS, targets=EQUAL, users=own)
    assert caught == []
    assert (len(few), len(by_user)) == (2, 2)


def test_each_warning_comes_once() -> None:
    items = pa.table({"item_id": [1, 2, 3, 4], "category": ["a"] * 4})
    with pytest.warns() as caught:
        Reranker().rerank(CANDIDATES, items, targets={"a": 1})
    assert [each.category for each in caught] == [TableWarning, TruncationWarning]
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_categories_that_are_all_null_are_warned_of(kind: str) -> None:
    items = KINDS[kind](pa.table({"item_id": [1, 2, 3, 4], "category": pa.nulls(4, pa.string())}))
    with pytest.warns(TableWarning, match="no item has a category in `category`, so that nothing can be calibrated"):
        Reranker(k=2).rerank(CANDIDATES, items, targets={"(none)": 1})


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


def test_a_user_of_one_candidate_has_not_too_few_of_them() -> None:
    tally = Reranker(k=2).solve(CANDIDATES.slice(0, 1), ITEMS, targets=EQUAL).tally
    assert (tally.tight, tally.text("relevance")) == (0, "")
    assert Reranker(k=2).solve(CANDIDATES.slice(0, 2), ITEMS, targets=EQUAL).tally.tight == 1


def test_the_summary_says_who_has_no_slate_with_each_fallback() -> None:
    history = pa.table({"user_id": ["somebody else"], "item_id": [1]})
    tally = Reranker(k=2, fallback="nothing").solve(CANDIDATES, ITEMS, history=history).tally
    assert tally.text("nothing") == "1 of 1 users have no slate (1 no target)."
    assert (tally.ranked("nothing"), tally.ranked("relevance")) == (0, 1)
