"""Even lotteries: the same expectation within the slack, and draws that are closer to the target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excalibr.search import Lottery, SearchProgram, even_lottery
from excalibr.search.single import ranking_charges, ranking_shares
from excalibr.solver import solve
from tests.problems import movie_like_problem
from tests.search.programs import larger_program, larger_programs, obeys_groups, some_rankings

SLACK = 1e-3


def some_lottery(program: SearchProgram, count: int) -> Lottery:
    weights = np.random.default_rng(count).dirichlet(np.ones(count))
    return Lottery(some_rankings(program, count), weights)


def movie_lottery(seed: int, k: int = 10) -> tuple[SearchProgram, Lottery]:
    """A movie-like problem's optimal lottery."""
    problem = movie_like_problem(np.random.default_rng(seed), 100, k, 10, 2, 0.5)
    rows, r = problem.memberships, problem.r
    slopes = np.full(r, problem.trade_off)
    band, flat = (problem.target, problem.target), np.zeros(r)
    arrays = (problem.gains, rows.indptr, rows.indices, rows.values, flat, *band, slopes, slopes, flat)
    policy = solve(problem)
    return SearchProgram(*arrays, problem.position_weights), Lottery(policy.rankings, policy.weights)


def mean_charge(program: SearchProgram, lottery: Lottery) -> float:
    return float(lottery.weights @ ranking_charges(program, ranking_shares(program, lottery.rankings)))


def expected_shares(program: SearchProgram, lottery: Lottery) -> np.ndarray:
    return np.asarray(lottery.weights @ ranking_shares(program, lottery.rankings))


def expected_relevance(program: SearchProgram, lottery: Lottery) -> float:
    return float(lottery.weights @ (program.gains[lottery.rankings] @ program.position_weights))


def relevance_spread(program: SearchProgram) -> float:
    ordered, weights = np.sort(program.gains), np.sort(program.position_weights)
    return float(ordered[-len(weights) :] @ weights - ordered[: len(weights)] @ weights[::-1])


@given(larger_programs, st.integers(1, 6))
@settings(max_examples=25)
def test_the_expectation_stays_within_the_slack_and_draws_get_no_worse(program: SearchProgram, count: int) -> None:
    plain = some_lottery(program, count)
    even = even_lottery(program, plain.rankings, plain.weights, slack=SLACK, rounds=4)
    moved = np.abs(expected_shares(program, even) - expected_shares(program, plain)).sum()
    lost = abs(expected_relevance(program, even) - expected_relevance(program, plain))
    assert moved <= SLACK
    assert lost <= SLACK * relevance_spread(program) + 1e-12
    assert mean_charge(program, even) <= mean_charge(program, plain) * (1.0 + 1e-9)


@given(larger_programs, st.integers(1, 6))
@settings(max_examples=25)
def test_it_is_a_lottery_of_few_valid_rankings(program: SearchProgram, count: int) -> None:
    plain = some_lottery(program, count)
    even = even_lottery(program, plain.rankings, plain.weights, rounds=4)
    assert len(even.weights) <= max(count, len(program.base) + 2)
    assert even.weights.sum() == pytest.approx(1.0)
    assert (even.weights > 0.0).all()
    assert (np.diff(even.weights) <= 0.0).all()
    for ranking in even.rankings.tolist():
        assert len(set(ranking)) == len(program.position_weights)
        assert obeys_groups(program, ranking)


@pytest.mark.parametrize("seed", range(3))
def test_a_short_list_is_clearly_closer_to_the_target(seed: int) -> None:
    program, plain = movie_lottery(seed)
    even = even_lottery(program, plain.rankings, plain.weights)
    assert mean_charge(program, even) < 0.85 * mean_charge(program, plain)


def test_a_limit_on_the_expectation_is_not_spent() -> None:
    program, plain = movie_lottery(1)
    shares = expected_shares(program, plain)
    hard = np.arange(len(shares)) < 2
    limited = program._replace(
        low=np.where(hard, 0.0, program.low),
        high=np.where(hard, shares, program.high),
        above=np.where(hard, 1e6, program.above),
    )
    even = even_lottery(limited, plain.rankings, plain.weights, slack=0.01, hard=hard)
    assert (expected_shares(program, even)[hard] <= shares[hard] + 1e-7).all()
    assert mean_charge(program, even) < mean_charge(program, plain)


def test_nothing_to_even_out_returns_the_lottery() -> None:
    program = larger_program(2)
    free = program._replace(below=np.zeros_like(program.below), above=np.zeros_like(program.above))
    plain = some_lottery(program, 4)
    even = even_lottery(free, plain.rankings, plain.weights)
    assert sorted(even.rankings.tolist()) == sorted(plain.rankings.tolist())


def test_the_relevance_that_is_kept_may_be_another_than_the_gains() -> None:
    program, plain = movie_lottery(2)
    scores = program.gains.copy()
    without = program._replace(gains=np.zeros_like(scores))
    even = even_lottery(without, plain.rankings, plain.weights, relevance=scores)
    lost = abs(expected_relevance(program, even) - expected_relevance(program, plain))
    assert lost <= SLACK * relevance_spread(program)


def test_the_same_lottery_gives_the_same_answer() -> None:
    program, plain = movie_lottery(0)
    first, second = (even_lottery(program, plain.rankings, plain.weights, rounds=5) for _ in range(2))
    assert first.rankings.tolist() == second.rankings.tolist()
    assert first.weights.tolist() == second.weights.tolist()
