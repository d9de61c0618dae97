"""Answers against the literal linear program: the optimum, the budgets, and the second aim at the ends.

HiGHS keeps limits to 1e-9 and no better. Where that is worth a lot it is no judge, and prices have the last word: they
bound what any lottery reaches.
"""

from __future__ import annotations

import numpy as np

from tests.fuzz.asking import Told, alone, ask
from tests.fuzz.literal import Literal
from tests.fuzz.program import Program
from tests.fuzz.questions import Question
from tests.fuzz.reading import LONG
from tests.fuzz.tolerance import SMALLEST

AGAINST_THE_PROGRAM = 1e-7
"""How far HiGHS and the library may be apart, with the objective brought to a size of 1."""

AT_THE_END = 1e-5
"""The same for the second aim at an end of the trade-off."""

Found = list[tuple[str, str]]


def check(question: Question, program: Program, policies: list[Told]) -> Found:
    """What does not hold of policies, beside HiGHS."""
    if question.options.get("draws", "lottery") != "lottery" or question.call == "frontier":
        return []
    literal = Literal(program)
    return [each for policy in policies for each in _check_policy(question, program, policy, literal)]


def _check_policy(question: Question, program: Program, policy: Told, literal: Literal) -> Found:
    options = question.options
    effect = program.effect(policy.rankings, policy.weights)
    relevance, cost = float(effect.relevance) / literal.unit, float(effect.cost)
    if "relevance_loss" in options:
        floor = float(program.relevance_floor(options["relevance_loss"])) / literal.unit
        found = [literal.least_cost(floor - slack) for slack in (1e-9, 2e-9)]
        return _compared_in_budget("cost within the budget", found, cost, 1e-6 * max(1.0, float(program.steepest)))
    if "max_deviation" in options:
        found = [literal.most_relevance(options["max_deviation"] + slack) for slack in (1e-9, 2e-9)]
        return _compared_in_budget("relevance within the budget", found, relevance, 2e-6)
    trade_off = policy.trade_off
    size = (1 - trade_off) * literal.unit + trade_off
    if size < SMALLEST:  # an objective of less has few digits left, and HiGHS is told another one
        return []
    reached = ((1 - trade_off) * literal.unit * relevance - trade_off * cost) / size
    slack = AGAINST_THE_PROGRAM * max(1.0, float(program.steepest)) + policy.gap / size
    failures = _compared("objective", literal.best_value(trade_off), reached, slack)
    if failures or not _are_told_apart(program):
        return failures
    return _check_ends(question, program, literal, policy, relevance, cost)


def _are_told_apart(program: Program) -> bool:
    """Whether scores that differ do so by enough for HiGHS, which takes what differs by less as tied."""
    apart = np.diff(np.unique(program.scores))
    return not len(apart) or bool(apart.min() > 1e-6 * program.spread)


def _check_ends(
    question: Question, program: Program, literal: Literal, policy: Told, relevance: float, cost: float
) -> Found:
    """At 0, of the most relevant lotteries the best calibrated; at 1, of the best calibrated the most relevant."""
    if policy.trade_off == 0:
        most = literal.most_relevance()
        found = [literal.least_cost(most - slack) for slack in (1e-8, 2e-8)] if most is not None else []
        failures = _compared("cost at the end", _without_slack(found), cost, AT_THE_END)
        return failures if failures and not _is_proven(question, program, policy) else []
    if policy.trade_off == 1:
        least = literal.least_cost()
        found = [literal.most_relevance(least + slack) for slack in (0, 1e-8, 2e-8)] if least is not None else []
        expected = _without_slack(found[1:])
        if expected is not None and found[0] is not None and expected - found[0] > 1e-6:  # a bend nearer than the slack
            expected = min(max(relevance, found[0]), expected)
        failures = _compared("relevance at the end", expected, relevance, AT_THE_END)
        return failures if failures and not _is_proven(question, program, policy) else []
    return []


def _is_proven(question: Question, program: Program, policy: Told) -> bool:
    """Whether prices a little inside an end of the trade-off bound its second aim by what the policy reaches."""
    effect = program.effect(policy.rankings, policy.weights)
    unit = program.spread or LONG(1)
    for step in 10.0 ** -np.arange(0.5, 16.0, 0.5):
        weight = step * float(unit) if policy.trade_off == 0 else float(unit) / step  # of the cost, beside relevance
        trade_off = weight / (1.0 + weight)
        if trade_off in (0.0, 1.0):  # rounding: there is no λ in between
            break
        for inside in ask(alone(question, trade_off)).policies:
            assert inside.prices is not None
            short = program.bound(inside.prices, trade_off) - effect.objective(trade_off)
            second = short / ((1 - LONG(trade_off)) * unit if policy.trade_off == 1 else LONG(trade_off))
            if second <= AT_THE_END:
                return True
    return False


def _without_slack(found: list[float | None]) -> float | None:
    """An optimum less what a slack earned it; none where that is a lot, and so HiGHS no judge."""
    if len(found) < 2 or found[0] is None or found[1] is None or abs(found[1] - found[0]) > 1e-6:
        return None
    return 2 * found[0] - found[1]


def _compared_in_budget(what: str, found: list[float | None], reached: float, slack: float) -> Found:
    """Against two optima with slacks of HiGHS's tolerance in the budget: it knows no better than what that earns."""
    if found[0] is None or found[1] is None:
        return []
    earned = found[1] - found[0]
    return _compared(what, found[0] - earned, reached, slack + abs(earned))


def _compared(what: str, expected: float | None, reached: float, slack: float) -> Found:
    if expected is None or abs(expected - reached) <= slack:
        return []
    return [(f"program: {what}", f"{reached:.12g} for {expected:.12g} of HiGHS")]
