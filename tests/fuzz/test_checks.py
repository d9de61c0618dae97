"""The checker itself: it accepts what is right, and names what is wrong with an answer that was tampered with."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from excalibr.errors import GapWarning, InfeasibleError, InputError
from tests.fuzz import checks, tolerance
from tests.fuzz.asking import Answer, Curve, Told, ask
from tests.fuzz.checks import check
from tests.fuzz.literal import Literal
from tests.fuzz.problems import PROFILES, question
from tests.fuzz.program import Program
from tests.fuzz.questions import Question

SCORES = np.array([0.95, 0.9, 0.84, 0.8, 0.6, 0.55])
ROWS = np.eye(3)[[0, 0, 0, 1, 1, 2]]
TARGET = np.array([0.5, 0.3, 0.2])


def asked(call: str = "calibrate", **options: Any) -> Question:
    options = {"k": 3} | options
    return Question(SCORES, ROWS, TARGET, options, call)


def kinds(question: Question, answer: Answer, *, literally: bool = False) -> set[str]:
    return {failure.kind for failure in check(question, answer, literally=literally)}


def tampered(question: Question, **changes: Any) -> Answer:
    """The library's answer with some figures of its first policy replaced."""
    answer = ask(question)
    return replace(answer, policies=[replace(answer.policies[0], **changes), *answer.policies[1:]])


OPTIONS: list[dict[str, Any]] = [
    {},
    {"divergence": "kl"},
    {"draws": "single"},
    {"draws": "even"},
    {"relevance_loss": 0.05},
    {"max_deviation": 0.2},
    {"floors": {2: 0.25}, "caps": {0: 0.4}},
    {"pinned": {1: 5}, "max_per_category": 2},
    {"trade_off": 0.0},
    {"trade_off": 1.0},
    {"call": "calibrate_path", "trade_offs": [0.7, 0.0, 0.2]},
    {"call": "frontier", "tolerance": 1e-3, "max_vertices": 40},
    {"call": "calibrate_batch", "trade_off": 0.3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_right_answers_are_accepted(options: dict[str, Any]) -> None:
    question = asked(**options)
    assert check(question, ask(question), literally=True) == []


TAMPERED: dict[str, dict[str, Any]] = {
    "a candidate twice": {"rankings": np.array([[0, 3, 0]]), "weights": np.ones(1)},
    "no such candidate": {"rankings": np.array([[0, 3, 6]]), "weights": np.ones(1)},
    "shape of the rankings": {"rankings": np.array([[0, 3]]), "weights": np.ones(1)},
    "weights do not sum to 1": {"rankings": np.array([[0, 3, 5]]), "weights": np.array([0.9])},
    "weights not positive": {"rankings": np.array([[0, 3, 5], [0, 1, 5]]), "weights": np.array([1.0, 0.0])},
    "weights not sorted": {"rankings": np.array([[0, 3, 5], [0, 1, 5]]), "weights": np.array([0.4, 0.6])},
    "relevance": {"relevance": 0.7},
    "distribution": {"shares": np.array([0.4, 0.4, 0.2])},
    "deviation": {"deviations": np.array([0.1])},
    "cost": {"cost": 0.1},
    "objective": {"objective": 0.1},
    "gap not finite": {"gap": np.nan},
    "prices not finite": {"prices": np.full(3, np.nan)},
    "gap not proven": {"prices": np.zeros(3)},
    "gap above tolerance": {"gap": 1e-6},
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_what_is_wrong_is_named(kind: str) -> None:
    question = asked(trade_off=0.3)
    assert kind in kinds(question, tampered(question, **TAMPERED[kind]))


def test_an_answer_to_another_trade_off_is_none() -> None:
    assert kinds(asked(trade_off=0.3), ask(asked(trade_off=0.25))) == {"another trade-off"}


def test_a_gap_may_be_wide_where_a_warning_says_so() -> None:
    question = asked(max_sorts=1)
    answer = ask(question)
    assert answer.warned(GapWarning)
    assert check(question, answer) == []
    assert kinds(question, replace(answer, warnings=())) == {"gap above tolerance"}


def test_a_warning_of_others_is_a_failure() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    assert kinds(asked(), replace(ask(asked()), warnings=tuple(caught))) == {"warning RuntimeWarning"}


def test_rankings_must_keep_what_every_ranking_must() -> None:
    ranking: dict[str, Any] = {"rankings": np.array([[0, 1, 2]]), "weights": np.ones(1)}
    assert "pin lost" in kinds(asked(pinned={0: 5}), tampered(asked(pinned={0: 5}), **ranking))
    limited = asked(max_per_category=2)
    assert "max_per_category not kept" in kinds(limited, tampered(limited, **ranking))


def test_limits_and_budgets_must_be_kept() -> None:
    plain = ask(asked(trade_off=0.0))
    assert "floor or cap missed" in kinds(asked(trade_off=0.0, floors={2: 0.25}), plain)
    assert "deviation budget missed" in kinds(asked(max_deviation=0.1), plain)
    assert "relevance budget missed" in kinds(asked(relevance_loss=0.0), ask(asked(trade_off=1.0)))


def test_the_literal_program_has_its_say() -> None:
    limit = asked(relevance_loss=0.1)
    wasteful = ask(asked(relevance_loss=0.05))
    assert "program: cost within the budget" in kinds(limit, wasteful, literally=True)
    limit = asked(max_deviation=0.4)
    assert "program: relevance within the budget" in kinds(limit, ask(asked(max_deviation=0.2)), literally=True)


def test_a_refusal_needs_a_reason() -> None:
    none: list[Told] = []
    assert kinds(asked(), Answer(none, error=InputError("k: is 3"))) == {"wrongly refused"}
    assert kinds(asked(), Answer(none, error=InfeasibleError("floors"))) == {"wrongly infeasible"}
    assert kinds(asked(floors={2: 0.2}), Answer(none, error=InfeasibleError("floors"))) == {"wrongly infeasible"}
    assert kinds(asked(max_deviation=0.5), Answer(none, error=InfeasibleError("max"))) == {"wrongly infeasible"}
    assert kinds(asked(relevance_loss=0.5), Answer(none, error=InfeasibleError("loss"))) == {"wrongly infeasible"}
    assert kinds(asked(), Answer(none, error=MemoryError())) == {"exception MemoryError"}
    single = asked(draws="single", caps={0: 0.9})
    assert kinds(single, Answer(none, error=InfeasibleError("no single ranking"))) == {"wrongly infeasible"}


@pytest.mark.parametrize("options", [{"floors": {2: 0.9}}, {"max_deviation": 0.0, "k": 1, "caps": {0: 0.1}}])
def test_a_refusal_with_a_reason_is_accepted(options: dict[str, Any]) -> None:
    question = asked(**options)
    answer = ask(question)
    assert isinstance(answer.error, InfeasibleError)
    assert check(question, answer) == []


def test_a_question_without_a_ranking_must_be_refused() -> None:
    question = asked(max_per_category=0)
    assert check(question, ask(question)) == []
    assert kinds(question, ask(asked())) == {"not refused"}


def test_a_frontier_may_not_understate_its_error() -> None:
    question = asked("frontier", tolerance=1e-3, max_vertices=3)
    answer = ask(question)
    assert check(question, answer) == []
    assert answer.curve is not None
    boasting = Curve(answer.curve.relevance, answer.curve.deviation, answer.curve.trade_offs, error=0.0)
    assert kinds(question, replace(answer, curve=boasting)) == {"frontier error understated"}


def test_another_single_ranking_is_not_good_enough() -> None:
    question = asked(draws="single", trade_off=0.3)
    rankings, weights = np.array([[5, 4, 3]]), np.ones(1)
    effect = Program.of(question).effect(rankings, weights)
    worse = tampered(
        question,
        rankings=rankings,
        weights=weights,
        gap=1.0,
        shares=effect.shares.astype(float),
        deviations=np.array([float(effect.cost)]),
        cost=float(effect.cost),
        relevance=float(effect.exposure @ SCORES),
        objective=float(0.7 * (effect.exposure @ SCORES) - 0.3 * effect.cost),
    )
    assert kinds(question, worse) == {"not the best single ranking"}


def test_slow_answers_are_failures() -> None:
    question, answer = asked(), ask(asked())
    slow = checks.check_time(question, replace(answer, seconds=checks.SLOW * 2))
    assert [failure.kind for failure in slow] == ["slow"]
    assert checks.check_time(question, replace(answer, seconds=checks.SLOW / 2)) == []
    path = asked("calibrate_path", trade_offs=[0.5])
    assert checks.check_time(path, replace(answer, seconds=checks.SLOW * 2)) == []


@pytest.mark.parametrize("divergence", ["l1", "kl"])
def test_the_conjugate_is_the_largest_of_a_fine_grid(divergence: str) -> None:
    for seed in range(30):
        random = np.random.default_rng(seed)
        question = asked(divergence=divergence, floors={0: 0.1}, caps={1: 0.6}, category_weights=random.random(3))
        program, slopes = Program.of(question), random.normal(size=3)
        grid = np.linspace(program.floors, program.caps, 20001)
        values = slopes * grid - 0.4 * program.costs(grid)
        assert float(program.conjugate(slopes, 0.4)) == pytest.approx(float(values.max(axis=0).sum()), abs=2e-5)
        assert program.conjugate(slopes, 0.4) >= values.max(axis=0).sum() - 1e-15


def test_no_lottery_of_random_rankings_is_above_the_bound_of_any_prices() -> None:
    for seed in range(200):
        drawn = question("small", seed)
        program, random = Program.of(drawn), np.random.default_rng(seed)
        if not program.has_a_ranking() or program.is_limited:
            continue
        rankings = np.array([program.best_ranking(random.random(program.n)) for _ in range(3)])
        effect = program.effect(rankings, random.dirichlet(np.ones(3)))
        slack = 1e-12 * (program.largest + program.steepest * program.around)
        assert effect.objective(0.4) <= program.bound(random.normal(size=program.r), 0.4) + slack


def test_highs_and_the_bound_agree_where_the_gap_is_closed() -> None:
    question = asked(trade_off=0.3, floors={2: 0.25}, pinned={2: 4})
    policy = ask(question).policies[0]
    program = Program.of(question)
    assert policy.prices is not None
    expected = Literal(program).best_value(0.3)
    size = 0.7 * float(program.spread) + 0.3
    assert expected == pytest.approx(float(program.bound(policy.prices, 0.3)) / size, abs=1e-8)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_same_seed_is_the_same_question(profile: str) -> None:
    for seed in range(5):
        one, other = question(profile, seed), question(profile, seed)
        assert repr(one) == repr(other)
        assert (one.scores == other.scores).all()
        assert len(one.scores) <= 5000


def test_a_few_questions_of_each_profile_are_answered() -> None:
    for seed in range(150):
        drawn = question("small", seed)
        assert check(drawn, ask(drawn), literally=True) == []


def test_questions_with_many_categories_and_candidates_are_answered() -> None:
    drawn = [question("many", seed) for seed in range(60)]
    sizes = [(len(each.scores), Program.of(each).r) for each in drawn]
    assert max(n for n, _ in sizes) > 4000
    assert max(r for _, r in sizes) > 900
    quick = [each for each, (n, r) in zip(drawn, sizes, strict=True) if n * r < 20_000]
    assert len(quick) > 10
    for each in quick:
        assert check(each, ask(each)) == []


def test_a_gap_is_allowed_by_the_statement_of_the_tolerance() -> None:
    usual, spread = Program.of(asked()), float(np.ptp(SCORES))
    assert float(tolerance.allowed_gap(usual, 0.5)) == pytest.approx(1e-9 * 0.5 * spread)
    assert float(tolerance.allowed_gap(usual, 1.0)) == pytest.approx(1e-9)
    small = Program.of(replace(asked(), scores=SCORES * 1e-6))
    assert float(tolerance.allowed_gap(small, 0.5)) == pytest.approx(1e-13 * 0.5, rel=0.01)
    equal = Program.of(replace(asked(), scores=np.ones_like(SCORES)))
    assert float(tolerance.allowed_gap(equal, 0.5)) == pytest.approx(1e-9 * 0.5)
