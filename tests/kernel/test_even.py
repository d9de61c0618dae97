"""Even lotteries: the promise of the expectation and of the mean charge, and the master against HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import linprog

from excalibr import calibrate
from excalibr._types import Booleans, Floats, Integers
from tests.kernel.programs import Draw
from tests.kernel.search_programs import SearchArrays, film_like, programs

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

SLACK = 1e-3
ENOUGH = 10**12
SOFT = np.empty(0, dtype=np.bool_)
SCORES = st.sampled_from([0.0, 1.0, 1.0, -3.0, 1e-12, 1e12]) | st.floats(-2.0, 2.0)
LARGER = programs(candidates=12, slots=7, categories=6)
SEARCHER = parts.Searcher()


@dataclass(frozen=True)
class Lottery:
    """Rankings with their probabilities."""

    rankings: Integers
    weights: Floats

    def shares(self, program: SearchArrays) -> Floats:
        return np.asarray(self.weights @ np.array([program.shares(one) for one in self.rankings.tolist()]))

    def charge(self, program: SearchArrays) -> float:
        return float(self.weights @ [program.charged(one) for one in self.rankings.tolist()])

    def relevance(self, program: SearchArrays, scores: Floats) -> float:
        return float(self.weights @ (scores[self.rankings] @ program.position_weights))


def evened(
    program: SearchArrays,
    plain: Lottery,
    scores: Floats,
    hard: Booleans = SOFT,
    effort: int = ENOUGH,
    slack: float = SLACK,
) -> Lottery:
    rankings, weights, *_ = SEARCHER.even_lottery(
        program.of(parts), plain.rankings, plain.weights, scores, hard, slack, effort
    )
    return Lottery(rankings, weights)


def some_lottery(program: SearchArrays, count: int) -> Lottery:
    weights = np.arange(1.0, count + 1.0)
    return Lottery(program.some_rankings(count), weights / weights.sum())


def film_lottery(seed: int, k: int = 10, r: int = 10) -> tuple[SearchArrays, Lottery]:
    """An everyday program and the lottery that is optimal for it."""
    program = film_like(seed, 100, k, r)
    policy = calibrate(program.gains, program.rows, program.penalties[:, 0], k=k, trade_off=0.5)
    return program, Lottery(policy.rankings, policy.weights)


def spread(program: SearchArrays, scores: Floats) -> float:
    ordered, weights = np.sort(scores - scores.max()), np.sort(program.position_weights)
    return float(ordered[-program.k :] @ weights - ordered[: program.k] @ weights[::-1])


def check_promise(program: SearchArrays, plain: Lottery, even: Lottery, scores: Floats) -> None:
    centred = scores - scores.max()
    moved = np.abs(even.shares(program) - plain.shares(program)).sum()
    lost = abs(even.relevance(program, centred) - plain.relevance(program, centred))
    assert moved <= SLACK * program.position_weights.sum() + 1e-15
    assert lost <= SLACK * spread(program, scores) + 1e-12 * np.abs(centred).max()
    assert even.charge(program) <= plain.charge(program) + 1e-14 * program.size


@given(LARGER, st.integers(1, 6), st.data())
@settings(max_examples=60)
def test_the_expectation_stays_within_the_slack_and_draws_get_no_worse(
    program: SearchArrays, count: int, data: st.DataObject
) -> None:
    scores = data.draw(arrays.arrays(np.float64, program.n, elements=SCORES))
    plain = some_lottery(program, count)
    check_promise(program, plain, evened(program, plain, scores), scores)


@given(LARGER, st.integers(1, 6), st.sampled_from([0, 100, 3_000, 30_000, ENOUGH]))
@settings(max_examples=60)
def test_it_is_a_lottery_of_few_valid_rankings_whatever_the_effort(
    program: SearchArrays, count: int, effort: int
) -> None:
    plain = some_lottery(program, count)
    even = evened(program, plain, program.gains, effort=effort)
    check_promise(program, plain, even, program.gains)
    assert len(even.weights) <= max(count, program.r + 3) + (count if effort < ENOUGH else 0)
    assert even.weights.sum() == pytest.approx(1.0)
    assert (even.weights > 0.0).all()
    assert (np.diff(even.weights) <= 0.0).all()
    for ranking in even.rankings.tolist():
        assert len(set(ranking)) == program.k
        assert program.allows(ranking)


@given(LARGER, st.integers(2, 5), st.data())
@settings(max_examples=60)
def test_hard_limits_on_the_expectation_are_not_spent(program: SearchArrays, count: int, data: st.DataObject) -> None:
    plain = some_lottery(program, count)
    hard = data.draw(arrays.arrays(np.bool_, program.r))
    room = data.draw(st.sampled_from([0.0, 1e-5, 0.1]))
    table, shares = program.penalties.copy(), plain.shares(program)
    table[hard, 0], table[hard, 1] = shares[hard] - room, shares[hard]
    table[hard, 2:4] = 1e6
    limited = replace(program, penalties=table)
    even = evened(limited, plain, program.gains, hard)
    expected = even.shares(program)[hard]
    assert (expected <= shares[hard] + 1e-9).all()
    assert (expected >= shares[hard] - room - 1e-9).all()
    uncharged = table.copy()
    uncharged[hard, 2:4] = 0.0
    check_promise(replace(program, penalties=uncharged), plain, even, program.gains)


@pytest.mark.parametrize("seed", range(3))
def test_a_short_list_is_clearly_closer_to_the_target(seed: int) -> None:
    program, plain = film_lottery(seed)
    even = evened(program, plain, program.gains)
    check_promise(program, plain, even, program.gains)
    assert even.charge(program) < 0.8 * plain.charge(program)


def test_many_categories_are_evened_within_little_effort() -> None:
    program, plain = film_lottery(0, k=20, r=71)
    rankings, weights, improved, limited = SEARCHER.even_lottery(
        program.of(parts), plain.rankings, plain.weights, program.gains, SOFT, SLACK, ENOUGH
    )
    assert improved
    assert not limited
    assert Lottery(rankings, weights).charge(program) < 0.97 * plain.charge(program)
    assert sum(SEARCHER.operations()) < 15_000_000


def test_nothing_to_even_out_returns_the_lottery() -> None:
    program, plain = film_lottery(2)
    table = program.penalties.copy()
    table[:, 2:4] = 0.0
    even = evened(replace(program, penalties=table), plain, program.gains)
    assert even.rankings.tolist() == plain.rankings.tolist()
    assert even.weights == pytest.approx(plain.weights)


def test_an_effort_that_ends_early_is_said() -> None:
    program, plain = film_lottery(1)
    given_arrays = program.of(parts), plain.rankings, plain.weights, program.gains, SOFT, SLACK
    assert SEARCHER.even_lottery(*given_arrays, 0)[2:] == (False, True)
    charges = []
    for effort in (10_000, 300_000, ENOUGH):
        rankings, weights, _, limited = SEARCHER.even_lottery(*given_arrays, effort)
        assert limited == (effort < ENOUGH)
        charges.append(Lottery(rankings, weights).charge(program))
    assert charges == sorted(charges, reverse=True)


def test_a_scratch_used_before_and_a_new_one_find_the_same_bits() -> None:
    program, plain = film_lottery(0)
    evened(film_like(5, 60, 20, 20), Lottery(np.arange(20)[None], np.ones(1)), np.ones(60))
    given_arrays = program.of(parts), plain.rankings, plain.weights, program.gains, SOFT, SLACK, ENOUGH
    used, new = (one.even_lottery(*given_arrays) for one in (SEARCHER, parts.Searcher()))
    assert used[0].tolist() == new[0].tolist()
    assert used[1].tobytes() == new[1].tobytes()


@dataclass(frozen=True)
class Mixture:
    """A master program: the first column is the centre, with 0 in the last row."""

    columns: Floats
    values: Floats
    most_fall: Floats
    most_rise: Floats
    budget: float
    room: float

    @property
    def centre(self) -> Floats:
        return np.ascontiguousarray(self.columns[0, :-1])

    def optimum(self) -> float:
        """The same literally, by HiGHS."""
        count, r = len(self.values), len(self.centre)
        costs = np.concatenate([-self.values, np.zeros(2 * r)])
        equal = np.vstack(
            [np.hstack([self.columns[:, :-1].T, np.eye(r), -np.eye(r)]), np.arange(count + 2 * r) < count]
        )
        last = np.concatenate([self.columns[:, -1], np.zeros(2 * r)])
        limits = np.vstack([np.arange(count + 2 * r) >= count, last, -last])
        bounds = [(0.0, None)] * count + [(0.0, most) for most in (*self.most_fall, *self.most_rise)]
        solved: Any = linprog(
            costs, limits, [self.budget, self.room, self.room], equal, [*self.centre, 1.0], bounds, method="highs"
        )
        assert solved.status == 0
        return float(-solved.fun)


@st.composite
def mixtures(draw: Draw) -> Mixture:
    """Columns with entries between −1 and 1, many of them 0 and equal, and values between −1 and 0."""
    r, count = draw(st.integers(1, 8)), draw(st.integers(1, 25))
    entries = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0]) | st.floats(0.0, 1.0, allow_subnormal=False)
    columns = draw(arrays.arrays(np.float64, (count, r + 1), elements=entries))
    columns[:, -1] = np.round(2 * columns[:, -1] - 1, 3)
    values = -draw(arrays.arrays(np.float64, count, elements=entries))
    parts_of = np.arange(1.0, count + 1.0) / np.arange(1.0, count + 1.0).sum()
    columns[:, -1] -= parts_of @ columns[:, -1]
    first, value = parts_of @ columns, parts_of @ values
    first[-1] = 0.0
    budget = draw(st.sampled_from([1e-3, 1e-2, 0.3]))
    bounds = st.sampled_from([budget, budget, 0.0, 0.1 * budget])
    fall, rise = (draw(arrays.arrays(np.float64, r, elements=bounds)) for _ in range(2))
    room = draw(st.sampled_from([1e-3, 0.1]))
    return Mixture(np.vstack([first, columns]), np.concatenate([[value], values]), fall, rise, budget, room)


def solved(mixture: Mixture) -> Any:
    master = parts.EvenMaster()
    master.reset(
        mixture.centre, mixture.most_fall, mixture.most_rise, mixture.budget, mixture.room, float(mixture.values[0])
    )
    for column, value in zip(mixture.columns[1:], mixture.values[1:], strict=True):
        master.add(column, value)
    assert master.optimise(ENOUGH)
    return master


def nearly_equal_columns() -> Mixture:
    """Fifteen columns that differ in three entries; pivots carried 2e-9 of the budget away."""
    columns = np.hstack([np.ones((15, 3)), np.zeros((15, 1))])
    columns[0, :2], columns[1, 2] = [0.0, 0.99999], 0.25
    values = np.where(np.arange(15) == 0, -0.25, 0.0)
    parts_of = np.arange(1.0, 16.0) / 120.0
    bounds = np.full(3, 1e-3)
    first = np.vstack([parts_of @ columns, columns])
    return Mixture(first, np.concatenate([[parts_of @ values], values]), bounds, bounds, 1e-3, 1e-3)


@given(mixtures())
@example(nearly_equal_columns())
@settings(max_examples=300)
def test_the_master_finds_what_highs_does_and_keeps_every_bound(mixture: Mixture) -> None:
    weights = solved(mixture).weights()
    shares, last = weights @ mixture.columns[:, :-1], weights @ mixture.columns[:, -1]
    fall, rise = np.maximum(mixture.centre - shares, 0.0), np.maximum(shares - mixture.centre, 0.0)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    assert (fall <= mixture.most_fall + 1e-9).all()
    assert (rise <= mixture.most_rise + 1e-9).all()
    assert (fall + rise).sum() <= mixture.budget + 1e-9
    assert abs(last) <= mixture.room + 1e-9
    assert (weights > 0).sum() <= len(mixture.centre) + 3


@given(mixtures())
@settings(max_examples=300)
def test_the_masters_mean_value_is_that_of_highs(mixture: Mixture) -> None:
    master = solved(mixture)
    assert float(master.weights() @ mixture.values) == pytest.approx(mixture.optimum(), abs=1e-7)
    prices, level = master.prices(), master.level()
    largest = max(1.0, float(np.abs(prices).max()))
    assert (mixture.values - mixture.columns @ prices - level <= 1e-9 * largest).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_masters_mean_value_is_that_of_highs_for_seventy_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    r, count = 71, 300
    columns = np.hstack([rng.dirichlet(np.full(r, 0.1), count), rng.normal(0.0, 0.1, (count, 1))])
    columns[:, -1] -= columns[:60, -1].mean()
    values = -rng.random(count)
    first = columns[:60].mean(axis=0)
    first[-1] = 0.0
    mixture = Mixture(
        np.vstack([first, columns]),
        np.concatenate([[values[:60].mean()], values]),
        np.full(r, SLACK),
        np.full(r, SLACK),
        SLACK,
        SLACK,
    )
    value = float(solved(mixture).weights() @ mixture.values)
    assert value == pytest.approx(mixture.optimum(), abs=1e-7)


def test_a_master_that_is_stopped_still_keeps_every_bound() -> None:
    rng = np.random.default_rng(0)
    columns = np.hstack([rng.dirichlet(np.ones(10), 40), rng.normal(0.0, 0.1, (40, 1))])
    first = columns.mean(axis=0)
    columns[:, -1] -= first[-1]
    master = parts.EvenMaster()
    room = np.full(10, SLACK)
    master.reset(np.ascontiguousarray(first[:-1]), room, room, SLACK, SLACK, -1.0)
    for column in columns:
        master.add(column, float(-rng.random()))
    values = []
    for operations in (0, 1_000, 2_000, 10**9):
        ended = master.optimise(operations)
        weights = master.weights()
        assert np.abs(weights[1:] @ columns[:, :-1] + weights[0] * first[:-1] - first[:-1]).sum() <= SLACK * 1.01
        values.append(weights[0])
    assert ended
    assert values[0] == pytest.approx(1.0)
    assert values[-1] < 1.0
