"""``time_limit``, ``verbose`` and Ctrl-C, where callers meet them; every stop there is: tests/kernel/test_effort.py."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import excalibr
from excalibr import Reranker, calibrate, calibrate_batch, calibrate_path, frontier
from excalibr._problem import Status
from excalibr.errors import BatchWarning, GapWarning, InfeasibleError, InputError
from tests.checks import check_agreement, check_lottery
from tests.kernel.test_safety import bits_of, made_up, one_of, start
from tests.stopping import stopping

REACHED = "time limit reached"
QUESTION: dict[str, Any] = one_of(made_up(users=1), k=10)


@pytest.mark.parametrize("wrong", [0, -1, 0.0, np.nan, np.inf, "1", True, np.False_, b"1", [1.0]])
@pytest.mark.parametrize(
    "ask",
    [
        lambda limit: calibrate(**QUESTION, time_limit=limit),
        lambda limit: calibrate_path(**QUESTION, trade_offs=[0.5], time_limit=limit),
        lambda limit: calibrate_batch(**made_up(users=2), time_limit=limit),
        lambda limit: Reranker(time_limit=limit),
    ],
)
def test_a_limit_is_a_positive_finite_number_of_seconds(ask: Callable[[Any], Any], wrong: Any) -> None:
    with pytest.raises(InputError, match="time_limit: is .*, must be a positive, finite number of seconds, or None"):
        ask(wrong)


@pytest.mark.parametrize("method", ["greedy", "lp", "mip-greedy", "top-k"])
def test_other_methods_refuse_it(method: str) -> None:
    with pytest.raises(InputError, match="must be 'excalibr' where time_limit is given"):
        calibrate(**QUESTION, method=method, time_limit=1.0)


def test_what_has_no_use_for_a_limit_or_for_lines_refuses_them() -> None:
    with pytest.raises(InputError, match="time_limit: is given, must be left out: a frontier is certified"):
        frontier(**QUESTION, time_limit=1.0)
    with pytest.raises(InputError, match="verbose: is given, must be left out"):
        frontier(**QUESTION, verbose=True)
    with pytest.raises(InputError, match="verbose: is given, must be left out. Hint: calibrate prints"):
        calibrate_batch(**made_up(users=2), verbose=True)
    with pytest.raises(TypeError, match="verbose"):
        Reranker(verbose=True)  # type: ignore[call-arg]


@pytest.mark.parametrize("options", [{}, {"divergence": "kl"}, {"draws": "even"}, {"relevance_loss": 0.05}])
def test_a_limit_that_is_not_reached_changes_no_bit(options: dict[str, Any]) -> None:
    assert bits_of(calibrate(**QUESTION, **options, time_limit=3600)) == bits_of(calibrate(**QUESTION, **options))


def test_an_answer_that_was_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        stopping(monkeypatch, 100),
        pytest.warns(GapWarning, match=r"proved a gap of .*, not the .* that was asked: time_limit was reached\. The"),
    ):
        policy = calibrate(**QUESTION)
    assert policy.info is not None
    assert policy.info.status == REACHED
    assert policy.objective >= policy.before.objective
    check_lottery(policy)
    check_agreement(policy)


def test_the_clock_ends_a_solve() -> None:
    random = np.random.default_rng(0)
    rows, target = np.eye(30)[random.integers(0, 30, 5000)], random.dirichlet(np.ones(30))
    with pytest.warns(GapWarning, match="time_limit was reached"):
        policy = calibrate(random.random(5000), rows, target, k=500, time_limit=1e-9)
    assert policy.info is not None
    assert policy.info.status == REACHED
    assert policy.objective >= policy.before.objective
    check_lottery(policy)


def test_each_trade_off_of_a_path_has_the_whole_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with stopping(monkeypatch, 80), pytest.warns(GapWarning):
        policies = calibrate_path(**QUESTION, trade_offs=[0.5, 0.0, 0.0])
    statuses = [policy.info and policy.info.status for policy in policies]
    assert statuses == [REACHED, "converged", "converged"]


def test_a_batch_counts_whose_limit_was_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    given = made_up(users=20)
    trade_offs = np.array([0.0] + [0.5] * 19)  # the order by score is the optimum for the first
    with stopping(monkeypatch, 60), pytest.warns(BatchWarning, match="19 of 20 users: 19 time limit reached"):
        policies = calibrate_batch(**given, k=6, trade_offs=trade_offs)
    assert policies.statuses.tolist() == [Status.OK] + [Status.TIME_LIMIT_REACHED] * 19
    for policy in policies:
        check_lottery(policy)


def test_tables_tell_it_in_reports_and_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    random, n = np.random.default_rng(1), 60
    names = np.array([f"c{number}" for number in range(15)])
    items = pa.table({"item_id": np.arange(n), "category": names[random.integers(0, 15, n)]})
    candidates = pa.table(
        {"user_id": np.repeat([1, 2], n), "item_id": np.tile(np.arange(n), 2), "score": random.random(2 * n)}
    )
    asked: Any = {"targets": dict.fromkeys(names.tolist(), 1 / 15)}
    with stopping(monkeypatch, 60):
        with pytest.warns(BatchWarning, match="2 of 2 users reached their time limit, with the gap that was proven"):
            report = Reranker(k=8).report(candidates, items, **asked)
        with pytest.warns(BatchWarning):
            lotteries = Reranker(k=8).lotteries(candidates, items, **asked)
    assert report["status"].to_pylist() == report["solver_status"].to_pylist() == [REACHED] * 2
    drawn = Reranker(k=8).draw(lotteries)  # with nothing solved again
    assert drawn.num_rows == 16


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"floors": {0: 0.3}}, r"floors: 0\.3 of category 0 was not met within time_limit=.*: category 0 is at 0\."),
        ({"caps": {0: 0.0}}, r"caps: 0 of category 0 was not met within time_limit="),
        ({"max_deviation": 0.5}, r"max_deviation: 0\.5 was not met within time_limit=.*: deviation is at .*, and 0\.5"),
        ({"max_deviation": 0.5, "divergence": "kl"}, r"max_deviation: 0\.5 was not met within time_limit="),
    ],
)
def test_what_is_not_met_in_time_is_named(
    options: dict[str, Any], missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = np.sort(QUESTION["scores"]) + 1.0
    rows = np.eye(12)[(np.arange(len(scores)) * 12 // len(scores))]  # the categories by score: the first has the worst
    rows = rows if "floors" in options or "max_deviation" in options else rows[:, ::-1]
    question: dict[str, Any] = {"scores": scores, "categories": rows, "target": np.full(12, 1 / 12), "k": 10}
    with stopping(monkeypatch, 1), pytest.raises(InfeasibleError, match=missing + ".* Hint: allow more time"):
        calibrate(**question, **options)


def test_tables_fall_back_where_a_limit_is_not_met_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    items = pa.table({"item_id": np.arange(40), "category": np.repeat([f"c{number}" for number in range(10)], 4)})
    candidates = pa.table({"user_id": [1] * 40, "item_id": np.arange(40), "score": np.linspace(0.0, 1.0, 40)})
    asked: Any = {"targets": {f"c{number}": 0.1 for number in range(10)}}
    with stopping(monkeypatch, 1), pytest.warns(BatchWarning, match="could not be calibrated and are ranked by"):
        slate = Reranker(k=4, floors={"c0": 0.3}).rerank(candidates, items, **asked)
    assert slate["item_id"].to_pylist() == [39, 38, 37, 36]


LINE = re.compile(r"(simplex|proximal|interior) +(\d+) +(\d+) +(\S+) +(\S+) +(\S+) +(\S+)")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"divergence": "kl"},
        {"max_per_category": 2, "divergence": "kl"},
        {"pinned": {0: 5, 3: 7}, "trade_off": 0.2},
        {"item_prices": np.linspace(0.0, 0.3, 40)},
        {"k": 40},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::excalibr.errors.TruncationWarning")
def test_lines_end_with_what_the_policy_is(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    question = QUESTION | {"scores": 100.0 + 3.0 * QUESTION["scores"]} | options
    policy = calibrate(**question, verbose=True)
    assert bits_of(policy) == bits_of(calibrate(**question))
    printed = capsys.readouterr().out.splitlines()
    matched = [found for line in printed if (found := LINE.match(line))]
    assert matched
    _, _, sorts, objective, bound, *_ = matched[-1].groups()
    assert policy.info is not None
    assert int(sorts) <= policy.info.sorts
    assert float(objective) == pytest.approx(policy.objective, abs=1e-6)
    assert float(bound) == pytest.approx(policy.objective + policy.gap, abs=1e-6)
    assert printed[-1].startswith(f"converged: objective {policy.objective:.10g}, gap {policy.gap:.2g}")


def test_a_path_prints_every_solve(capsys: pytest.CaptureFixture[str]) -> None:
    calibrate_path(**QUESTION, trade_offs=[0.3, 0.6], verbose=True)
    printed = capsys.readouterr().out
    assert printed.count("converged: objective") == printed.count("candidates, 10 slots") == 2
    with pytest.raises(excalibr.errors.InputTypeError, match="verbose: is 1, must be True or False"):
        calibrate_path(**QUESTION, trade_offs=[0.3], verbose=1)  # type: ignore[arg-type]


def test_what_printing_raises_ends_the_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: Any) -> None:
        raise BrokenPipeError("closed")

    monkeypatch.setattr("builtins.print", closed)
    with pytest.raises(BrokenPipeError, match="closed"):
        calibrate(**QUESTION, verbose=True)


INTERRUPTED = """
import signal, sys
import numpy as np
from excalibr import calibrate

random = np.random.default_rng(0)
rows, target = np.eye(600)[random.integers(0, 600, 6000)], random.dirichlet(np.full(600, 0.2))
scores = random.random(6000)
signal.signal(signal.SIGALRM, signal.default_int_handler)  # comes as Ctrl-C does, without another thread or process
for options in ({}, {"verbose": True}, {"draws": "even"}):
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        calibrate(scores, rows, target, k=1000, max_per_category=4, **options)  # minutes
        print("\\ndone")
    except KeyboardInterrupt:
        print("\\ninterrupted")
print(calibrate([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1).info.status)
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no signals to send here")
def test_an_interrupt_ends_a_single_solve_and_the_next_one_is_none_the_worse() -> None:
    process = start(INTERRUPTED)
    said, error = process.communicate(timeout=300)
    assert (process.returncode, error) == (0, "")
    words = [line for line in said.splitlines() if line in ("done", "interrupted", "converged")]
    assert words == ["interrupted"] * 3 + ["converged"]
