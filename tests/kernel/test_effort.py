"""A solve that is stopped at each question that the kernel asks its watcher, without a clock.

What comes back is held by the checks of ``make fuzz``, which compute everything anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from excalibr.errors import InfeasibleError
from tests.fuzz.asking import Answer, Told, ask
from tests.fuzz.checks import check
from tests.fuzz.program import Program
from tests.fuzz.questions import Question
from tests.stopping import numbers, stopping

KINDS: dict[str, dict[str, Any]] = {
    "simplex": {},
    "proximal": {"r": 16},
    "curved": {"r": 9, "divergence": "kl"},
    "groups": {"max_per_category": 2},
    "groups and curves": {"max_per_category": 2, "divergence": "kl"},
    "only calibration": {"r": 14, "trade_off": 1.0},
    "only relevance": {"trade_off": 0.0, "equal": True},
    "a floor": {"floors": {0: 0.3}},
    "a floor that the order by score keeps": {"r": 14, "floors": {0: 0.01}},
    "a loss": {"r": 14, "relevance_loss": 0.05},
    "a loss with many categories": {"r": 90, "n": 100, "k": 30, "relevance_loss": 0.1},
    "a deviation": {"max_deviation": 0.3, "divergence": "kl"},
    "a floor and a loss": {"floors": {0: 0.2}, "relevance_loss": 0.1},
    "pins": {"pinned": {0: 3, 2: 5}, "r": 14},
    "a single ranking": {"r": 14, "draws": "single"},
    "every ranking tried": {"draws": "single", "n": 9, "k": 3},
    "a single ranking with a floor": {"floors": {0: 0.15}, "draws": "single"},
    "even draws": {"r": 14, "draws": "even"},
    "a path": {"trade_offs": [0.0, 0.2, 0.7]},
    "a path by the proximal method": {"r": 34, "trade_offs": [0.3, 0.6], "n": 60},
    "a batch": {"call": "calibrate_batch"},
}


def question_of(kind: str) -> Question:
    asked = dict(KINDS[kind])
    n, r, equal = asked.pop("n", 40), asked.pop("r", 6), asked.pop("equal", False)
    call = asked.pop("call", "calibrate_path" if "trade_offs" in asked else "calibrate")
    random = np.random.default_rng(sorted(KINDS).index(kind))
    rows = np.eye(r)[random.integers(0, r, n)]
    if "max_per_category" not in asked:
        rows = 0.5 * rows + 0.5 * np.eye(r)[random.integers(0, r, n)]
    scores = random.integers(0, 4, n) / 4.0 if equal else random.random(n)
    if not {"trade_off", "trade_offs", "relevance_loss", "max_deviation"} & asked.keys():
        asked["trade_off"] = 0.5
    return Question(scores, rows, random.dirichlet(np.ones(r)), {"k": 8, **asked}, call)


def lottery_of(told: Told) -> list[Any]:
    return [told.rankings.tolist(), told.weights.tolist(), told.gap]


def is_worth_as_much(question: Question, told: Told) -> bool:
    """Whether a lottery is no worse than the order by score, by what was asked."""
    program = Program.of(question)
    order = program.best_ranking(program.scores)[None]
    before, own = program.effect(order, np.ones(1)), program.effect(told.rankings, told.weights)
    if (before.shares < program.floors - 1e-9).any():
        return True
    if "relevance_loss" in question.options:
        return bool(own.cost <= before.cost + 1e-12)
    if "max_deviation" in question.options:
        return bool(before.cost > question.options["max_deviation"] or own.relevance >= before.relevance - 1e-12)
    return bool(own.objective(told.trade_off) >= before.objective(told.trade_off) - 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_stop_leaves_is_a_certified_lottery_no_worse_than_the_order_by_score(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = question_of(kind)
    wanted = ask(question)
    for number in numbers():
        with stopping(monkeypatch, number):
            answer = ask(question)
            failed = set() if answer.error is not None else {failure.kind for failure in check(question, answer)}
        if answer.error is not None:
            assert isinstance(answer.error, InfeasibleError)
            assert "not met within time_limit" in str(answer.error)
            continue
        assert failed <= {"not the best single ranking"}, number  # not all were tried
        assert all(is_worth_as_much(question, told) for told in answer.policies), number
        if not was_stopped(answer):
            break
    assert [lottery_of(told) for told in answer.policies] == [lottery_of(told) for told in wanted.policies]


def was_stopped(answer: Answer) -> bool:
    return any(
        "time_limit was reached" in str(each.message) or "time limit reached" in str(each.message)
        for each in answer.warnings
    )
