"""What holds of every answer, whatever was asked: on questions that hypothesis draws number by number, and shrinks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excalibr.errors import ExcalibrError
from tests.fuzz.asking import Told, ask
from tests.fuzz.checks import check
from tests.fuzz.enumeration import every_ranking
from tests.fuzz.program import Program
from tests.fuzz.questions import Question
from tests.fuzz.tolerance import rounding
from tests.literal import Literal, best_value
from tests.strategies import plain_questions, questions

FEW = 5


def only_policy(question: Question) -> Told:
    answer = ask(question)
    assert len(answer.policies) == 1, answer.where
    return answer.policies[0]


def slack(question: Question, *policies: Told) -> float:
    """What the objectives of optimal policies may differ by: their gaps, and rounding."""
    program = Program.of(question)
    rounded = sum(
        rounding(program, each.trade_off, np.zeros(1) if each.prices is None else each.prices) for each in policies
    )
    return float(sum(each.gap for each in policies) + 4 * rounded)


@given(questions())
@settings(max_examples=200)
def test_every_answer_is_a_lottery_with_a_proof_or_a_refusal_with_a_reason(question: Question) -> None:
    assert check(question, ask(question)) == []


@given(plain_questions(), st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=1, max_size=4))
@settings(max_examples=40)
def test_a_path_is_made_of_single_answers(question: Question, trade_offs: list[float]) -> None:
    options = {name: value for name, value in question.options.items() if name != "trade_off"}
    path = replace(question, call="calibrate_path", options=options | {"trade_offs": trade_offs})
    assert check(path, ask(path)) == []


@given(plain_questions())
@settings(max_examples=40)
def test_one_user_of_a_batch_is_answered_as_alone(question: Question) -> None:
    batch = replace(question, call="calibrate_batch")
    assert check(batch, ask(batch)) == []


@given(questions(most=FEW, divergences=("l1",)))
@settings(max_examples=150)
def test_no_lottery_over_all_rankings_is_better(question: Question) -> None:
    answer = ask(question)
    program = Program.of(question)
    if answer.error is not None or question.options.get("draws") or "trade_off" not in question.options:
        return
    policy = answer.policies[0]
    expected = best_value(_literal(question, program), policy.trade_off)
    assert expected is not None
    reached = program.effect(policy.rankings, policy.weights).objective(policy.trade_off)
    assert float(reached) == pytest.approx(expected, abs=1e-7 * float(1 + program.spread + program.steepest))


@given(questions(most=FEW))
@settings(max_examples=100)
def test_no_ranking_of_all_is_above_the_bound(question: Question) -> None:
    answer, program = ask(question), Program.of(question)
    rankings = every_ranking(program) if answer.error is None else None
    if rankings is None or program.is_limited:
        return
    policy = answer.policies[0]
    values = [program.effect(ranking[None], np.ones(1)).objective(policy.trade_off) for ranking in rankings]
    reached = program.effect(policy.rankings, policy.weights).objective(policy.trade_off)
    assert float(max(values)) <= float(reached) + slack(question, policy)


@given(plain_questions(), st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_the_order_of_the_candidates_does_not_matter(question: Question, random: Any) -> None:
    order = list(range(len(question.scores)))
    random.shuffle(order)
    other = replace(question, scores=question.scores[order], categories=question.categories[order])
    one, two = only_policy(question), only_policy(other)
    assert one.objective == pytest.approx(two.objective, abs=slack(question, one, two))


@given(plain_questions(), st.sampled_from([1.0, -7.5, 1e3]))
@settings(max_examples=100)
def test_a_constant_added_to_all_scores_changes_the_relevance_only(question: Question, constant: float) -> None:
    other = replace(question, scores=question.scores + constant)
    one, two = only_policy(question), only_policy(other)
    moved = (1 - one.trade_off) * constant
    allowed = slack(question, one) + slack(other, two) + 1e-15 * abs(constant)
    assert two.objective - moved == pytest.approx(one.objective, abs=allowed)


@given(plain_questions(), st.sampled_from([2.0**-20, 0.3, 7.0, 2.0**20]))
@settings(max_examples=100)
def test_scores_and_slopes_that_grow_together_change_nothing_but_the_unit(question: Question, factor: float) -> None:
    r = question.categories.shape[1]
    steeper = question.options | {"category_weights": np.full(r, factor)}
    other = replace(question, scores=question.scores * factor, options=steeper)
    one, two = only_policy(question), only_policy(other)
    assert two.objective / factor == pytest.approx(one.objective, abs=slack(question, one) + slack(other, two) / factor)


@given(questions())
@settings(max_examples=60)
def test_the_same_question_has_the_same_answer_to_the_last_bit(question: Question) -> None:
    one, two = ask(question), ask(question)
    assert str(one.error) == str(two.error)
    assert one.error is None or isinstance(one.error, ExcalibrError)
    for policy, other in zip(one.policies, two.policies, strict=True):
        assert (policy.rankings == other.rankings).all()
        assert (policy.weights == other.weights).all()
        assert policy.gap == other.gap


def _literal(question: Question, program: Program) -> Literal:
    """The program over all rankings, on centred scores."""
    limit, at_most = question.options.get("max_per_category"), None
    if limit is not None:
        first = program.attributes[0][1].stop if program.attributes else program.r
        own = limit["a"] if isinstance(limit, dict) else limit
        at_most = tuple(own if column < first else program.k for column in range(program.r))
    return Literal(
        scores=program.centred.astype(float),
        rows=program.rows.astype(float),
        weights=program.slots.astype(float),
        low=program.low.astype(float),
        high=program.high.astype(float),
        cost_weights=program.weights.astype(float),
        floors=program.floors.astype(float),
        caps=program.caps.astype(float),
        pinned=program.pinned,
        banned=tuple(np.flatnonzero(program.unavailable).tolist()),
        at_most=at_most,
    )
