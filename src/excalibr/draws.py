"""What is drawn from: the optimal lottery, one good ranking instead of it, or a lottery of rankings that are each good.

Both alternatives start from the lottery. Its bound holds for every policy, so the gap of a single ranking says how far
from the best possible ranking it can be at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from excalibr._messages import Message, Option
from excalibr._types import Floats, Integers
from excalibr.errors import InfeasibleError, unknown_name
from excalibr.policy import Policy
from excalibr.problem import Memberships
from excalibr.search import SearchProgram, best_ranking, even_lottery
from excalibr.solver.arrangement import Arrangement, arrange
from excalibr.solver.certificate import proven_gap

__all__ = ["DRAWS", "Budget", "redraw"]

DRAWS = ("lottery", "single", "even")

STEEPNESS = 1e6
"""How much steeper than anything else a hard limit is for a single ranking."""

KEPT = 1e-9


@dataclass(frozen=True, slots=True)
class Budget:
    """What a single ranking must keep instead of a trade-off: a least relevance, or a largest cost."""

    relevance_at_least: float | None = None
    cost_at_most: float | None = None


def redraw(draws: str, lottery: Policy, budget: Budget | None = None) -> Policy:
    """The policy that ``draws`` asks for, from the optimal lottery."""
    if draws not in DRAWS:
        raise unknown_name("draws", draws, DRAWS)
    if draws == "lottery":
        return lottery
    arrangement = arrange(lottery.problem)
    if not arrangement.slots.size:
        return lottery
    return _single(lottery, arrangement, budget) if draws == "single" else _even(lottery, arrangement)


def _single(lottery: Policy, arrangement: Arrangement, budget: Budget | None) -> Policy:
    """The best ranking that the search finds, with the lottery's bound for its gap."""
    problem = lottery.problem
    program = _search_program(arrangement, budget)
    found = best_ranking(program, arrangement.free_part(lottery.rankings))
    ranking = arrangement.rankings(found.ranking[None])
    policy = Policy(problem, ranking, np.ones(1), category_prices=lottery.category_prices)
    _require_kept(policy, budget, found.exhaustive)
    gap = max(lottery.bound - policy.objective, 0.0)
    return Policy(problem, ranking, np.ones(1), gap, lottery.category_prices)


def _even(lottery: Policy, arrangement: Arrangement) -> Policy:
    """The lottery's expectation with rankings that are each nearer to the target."""
    problem = lottery.problem
    program = _search_program(arrangement, None, trade_off=1.0)
    hard = np.arange(len(program.low)) >= problem.r
    free = arrangement.free_part(lottery.rankings)
    scores = problem.scores[arrangement.candidates]
    evened = even_lottery(program, free, lottery.weights, relevance=scores, hard=hard if hard.any() else None)
    rankings, prices = arrangement.rankings(evened.rankings), lottery.category_prices
    gap = np.nan if prices is None else proven_gap(problem, rankings, evened.weights, prices)
    return Policy(problem, rankings, evened.weights, gap, prices)


def _search_program(arrangement: Arrangement, budget: Budget | None, trade_off: float | None = None) -> SearchProgram:
    """What a single ranking is judged by: its own objective, or what its budget leaves to be judged."""
    problem = arrangement.problem
    relevance_only = budget is not None and budget.cost_at_most is not None
    if budget is not None:
        trade_off = 1.0
    weight = problem.trade_off if trade_off is None else trade_off
    scale = float(np.ptp(problem.scores)) + float(problem.penalty_at(1.0).above.max(initial=0.0)) or 1.0
    gains, indptr, indices, values, penalty, slots = arrangement.program(weight, STEEPNESS * scale)
    if relevance_only:
        gains = problem.scores[arrangement.candidates].copy()
    program = SearchProgram(
        gains=gains,
        indptr=indptr,
        indices=indices,
        values=values,
        base=penalty[5],
        low=penalty[0] + penalty[5],
        high=penalty[1] + penalty[5],
        below=penalty[2],
        above=penalty[3],
        smoothing=penalty[4],
        position_weights=slots,
        charge=STEEPNESS * scale if relevance_only else 1.0,
        allowance=(budget.cost_at_most or 0.0) if relevance_only and budget is not None else 0.0,
        group_of=arrangement.groups,
        group_limits=arrangement.group_limits,
    )
    if budget is None or budget.relevance_at_least is None:
        return program
    return _with_relevance_row(program, arrangement, budget.relevance_at_least, STEEPNESS * scale)


def _with_relevance_row(
    program: SearchProgram, arrangement: Arrangement, at_least: float, steepness: float
) -> SearchProgram:
    """One more row whose share is the relevance, in units of the scores' spread, with a hard floor."""
    problem = arrangement.problem
    scores = problem.scores[arrangement.candidates]
    lowest, spread = float(scores.min()), float(np.ptp(scores)) or 1.0
    worth = (scores - lowest) / spread
    pinned = problem.terms is not None and problem.terms.pinned_slots.size
    given = 0.0
    if pinned and problem.terms is not None:
        terms = problem.terms
        given = float(problem.scores[terms.pinned_candidates] @ problem.position_weights[terms.pinned_slots])
    floor = (at_least - given - lowest * float(program.position_weights.sum())) / spread
    rows = _with_column(program, worth, len(program.low))

    def one_more(array: Floats, value: float) -> Floats:
        return np.append(array, value)

    return program._replace(
        indptr=rows.indptr,
        indices=rows.indices,
        values=rows.values,
        base=one_more(program.base, 0.0),
        low=one_more(program.low, floor - KEPT),
        high=one_more(program.high, np.inf),
        below=one_more(program.below, steepness),
        above=one_more(program.above, 0.0),
        smoothing=one_more(program.smoothing, 0.0),
    )


def _with_column(program: SearchProgram, values: Floats, column: int) -> Memberships:
    """The program's rows, each with one more entry at its end."""
    n = len(values)
    ends: Integers = program.indptr[1:]
    indices = np.insert(program.indices, ends, column)
    return Memberships(program.indptr + np.arange(n + 1), indices, np.insert(program.values, ends, values), column + 1)


def _require_kept(policy: Policy, budget: Budget | None, exhaustive: bool) -> None:
    """A single ranking that misses a hard limit is no answer; say whether there is none, or none was found."""
    problem, terms = policy.problem, policy.problem.terms
    budget = budget or Budget()
    missed = []
    if terms is not None and (np.maximum(terms.floors - policy.shares, policy.shares - terms.caps) > KEPT).any():
        missed.append("floors and caps")
    slack = 1e-7 * (float(np.ptp(problem.scores)) or 1.0)
    if budget.relevance_at_least is not None and policy.relevance < budget.relevance_at_least - slack:
        missed.append("relevance_loss")
    if budget.cost_at_most is not None and policy.cost > budget.cost_at_most + KEPT:
        missed.append("max_deviation")
    if missed:
        found = "no single ranking keeps it" if exhaustive else "no single ranking that keeps it was found"
        said = f"{' and '.join(missed)}: {found}; a lottery does, in expectation. Hint: "
        raise InfeasibleError(Message(said, Option("draws", "lottery"), " or wider limits."))
