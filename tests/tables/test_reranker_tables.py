"""What a reranker says of the tables that it is given: what it understood, what looks wrong, and which columns."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr._many_users import measure
from excalibr.errors import BatchWarning, InputError, TableWarning, TruncationWarning
from excalibr.tables import _results as results
from tests.tables.invented import GENRE_COLUMNS, invented_tables
from tests.tables.test_reranker import CANDIDATES, FOUR, ITEMS, KINDS, as_arrow

EQUAL = {"a": 1, "b": 1}
KINDS_OF_FRAMES = ["pandas", "polars", "pyarrow"]


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


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_a_guessed_separator_gives_what_an_explicit_one_gives(kind: str) -> None:
    tables = invented_tables(users=4)
    given = [KINDS[kind](table) for table in (tables.candidates, tables.items)]
    reranker, history = Reranker(k=5), KINDS[kind](tables.history)
    guessed = reranker.rerank(*given, history=history)
    named = reranker.rerank(*given, history=history, **GENRE_COLUMNS)
    assert as_arrow(guessed).equals(as_arrow(named))


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_names_may_differ_by_table(kind: str) -> None:
    """Once the hints for the two tables contradicted one another."""
    candidates = KINDS[kind](CANDIDATES.rename_columns(["userId", "movieId", "prediction"]))
    items = KINDS[kind](ITEMS.rename_columns(["item", "Genres"]))
    history = KINDS[kind](pa.table({"user_id": ["u", "u"], "item_id": [3, 4], "ts": [1, 2]}))
    plain = Reranker(k=2).rerank(CANDIDATES, ITEMS, history=pa.table({"user_id": ["u", "u"], "item_id": [3, 4]}))
    slates = Reranker(k=2).rerank(candidates, items, history=history, half_life=100.0)
    assert list(slates.columns if kind != "pyarrow" else slates.column_names) == [
        *("userId", "rank", "movieId", "prediction")
    ]
    assert as_arrow(slates)["movieId"].to_pylist() == plain["item_id"].to_pylist()


def test_any_name_can_be_given_for_one_table() -> None:
    items = ITEMS.rename_columns(["thing", "kind"])
    history = pa.table({"listener": ["u", "u"], "song": [1, 3], "plays": [1.0, 3.0]})
    users = pa.table({"account": ["u"], "k": [1]})
    names = {"items_item_id": "thing", "history_user_id": "listener", "history_item_id": "song"}
    report = Reranker(k=2).report(
        *(CANDIDATES, items),
        history=history,
        users=users,
        category="kind",
        history_weight="plays",
        users_user_id="account",
        **names,
    )
    assert report["slots"].to_pylist() == [1]
    assert report["deviation_before"].to_pylist() == pytest.approx([1.5])


def test_targets_by_user_are_known_by_a_usual_name_too() -> None:
    """Once a table with ``userId`` was taken for one target for all."""
    wanted = pa.table({"userId": ["u", "somebody else"], "genre": ["b", "a"], "weight": [1.0, 99.0]})
    slates = Reranker(k=2, trade_off=0.9).rerank(CANDIDATES, ITEMS, targets=wanted)
    assert slates["item_id"].to_pylist() == [3, 4]
    named = wanted.rename_columns(["who", "what", "share"])
    own = {"targets_user_id": "who", "targets_category": "what", "targets_weight": "share"}
    assert Reranker(k=2, trade_off=0.9).rerank(CANDIDATES, ITEMS, targets=named, **own).equals(slates)


def test_following_a_hint_once_is_enough() -> None:
    history = pa.table({"userId": ["u"], "item_id": [3]})
    with pytest.raises(InputError, match="column 'userId' not found in candidates.*; pass user_id='user_id'"):
        Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history, user_id="userId")
    assert len(Reranker(k=2).rerank(CANDIDATES, ITEMS, history=history, user_id="user_id")) == 2


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_categories_that_are_all_null_are_warned_of(kind: str) -> None:
    items = KINDS[kind](pa.table({"item_id": [1, 2, 3, 4], "category": pa.nulls(4, pa.string())}))
    with pytest.warns(TableWarning, match="no item has a category in `category`, so that nothing can be calibrated"):
        Reranker(k=2).rerank(CANDIDATES, items, targets={"(none)": 1})


def test_each_warning_comes_once() -> None:
    items = pa.table({"item_id": [1, 2, 3, 4], "category": ["a"] * 4})
    with pytest.warns() as caught:
        Reranker().rerank(CANDIDATES, items, targets={"a": 1})
    assert [each.category for each in caught] == [TableWarning, TruncationWarning]
    assert {each.filename for each in caught} == {__file__}


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


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_scores_that_are_all_nan_leave_nobody_a_slate_and_that_is_said(kind: str) -> None:
    candidates = KINDS[kind](pa.table(FOUR | {"score": [np.nan] * 4}))
    message = "1 of 1 users have no slate .1 no candidates.. Rows left out: 4 without a finite score"
    with pytest.warns(BatchWarning, match=message):
        assert len(Reranker(k=2).rerank(candidates, ITEMS, targets=EQUAL)) == 0


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


def test_four_years_of_history_that_halve_every_day_leave_no_traces() -> None:
    candidates, tables, _ = four_years()
    results = Reranker(k=10, method="top-k").solve(candidates, **tables)
    targets = results.batch.lows
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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"user_id": [[1]] * 4}, "column 'user_id' of candidates: has the type list.*must have text or whole numbers"),
        ({"item_id": [{"a": 1}] * 4}, "column 'item_id' of candidates: has the type struct"),
        ({"score": ["high"] * 4}, "column 'score' of candidates: row 0 is 'high', must have numbers"),
    ],
)
def test_columns_of_a_type_that_cannot_be_are_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Reranker(k=2).rerank(pa.table(FOUR | changed), ITEMS, targets=EQUAL)


def test_a_column_that_comes_twice_is_refused() -> None:
    candidates = CANDIDATES.to_pandas()
    candidates.columns = ["user_id", "score", "score"]
    with pytest.raises(InputError, match="candidates: have .*twice.*, must have each column once"):
        Reranker(k=2).rerank(candidates, ITEMS, targets=EQUAL)
