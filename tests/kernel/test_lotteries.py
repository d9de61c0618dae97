"""Lotteries from points of faces, and lotteries thinned: what they show stays what it was."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._types import Floats, Integers
from tests.kernel.programs import NOBODY, Arrays, Draw, gains, rows, slot_weights
from tests.kernel.test_projection import NUMBERS

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

NO_LIMIT = 10**6


@st.composite
def programs_with_a_point(draw: Draw) -> tuple[Arrays, Floats]:
    """Near nothing, where all are one block of nearly equal exposures, or near a single ranking, or far from both."""
    n = draw(st.integers(1, 20) | st.integers(21, 60))
    r = draw(st.integers(1, 4))
    weights = draw(slot_weights(draw(st.just(n) | st.integers(1, n))))
    program = Arrays(draw(gains(n)), draw(rows(n, r)), np.zeros((r, 6)), weights, NOBODY, NOBODY)
    near = draw(st.sampled_from([np.zeros(n), np.pad(np.sort(weights)[::-1], (0, n - len(weights)))]))
    factor = draw(st.sampled_from([1.0, 1e-2, 1e-3, 1e-11, 1e-15, 0.0]))
    return program, near + factor * draw(arrays.arrays(np.float64, n, elements=NUMBERS))


@st.composite
def programs_with_a_lottery(draw: Draw) -> tuple[Arrays, Integers, Floats]:
    """Many rankings by rank, some of them more than once, some without weight."""
    n, count = draw(st.integers(1, 7)), draw(st.integers(1, 25))
    k, r = draw(st.integers(1, n)), draw(st.integers(1, 4))
    program = Arrays(draw(gains(n)), draw(rows(n, r)), np.zeros((r, 6)), draw(slot_weights(k)), NOBODY, NOBODY)
    shown = [draw(st.permutations(range(n)))[:k] for _ in range(count)]
    weights = draw(arrays.arrays(np.float64, count, elements=st.sampled_from([1.0, 0.5, 0.0]) | st.floats(0.01, 1.0)))
    weights[0] += float(weights.sum() == 0)
    return program, np.array(shown, dtype=np.int64), weights / weights.sum()


@given(programs_with_a_point())
def test_a_point_of_a_face_is_a_lottery_with_that_exposure(drawn: tuple[Arrays, Floats]) -> None:
    program, point = drawn
    exposure, order, starts = face_of(program, point)
    rankings, weights, _ = parts.lottery_of_point(program.of(parts), exposure, order, starts, NO_LIMIT)
    check_lottery(program, rankings, weights)
    assert len({tuple(ranking) for ranking in rankings.tolist()}) == len(weights)
    np.testing.assert_allclose(exposure_of(program, rankings, weights), exposure, atol=1e-12)


@given(programs_with_a_point())
def test_a_face_of_so_many_dimensions_needs_one_ranking_more(drawn: tuple[Arrays, Floats]) -> None:
    program, point = drawn
    exposure, order, starts = face_of(program, point)
    _, weights, _ = parts.lottery_of_point(program.of(parts), exposure, order, starts, NO_LIMIT)
    assert len(weights) <= int((np.diff(starts) - 1).sum()) + 1


@given(programs_with_a_point())
def test_thinned_to_one_more_than_categories_it_shows_the_same(drawn: tuple[Arrays, Floats]) -> None:
    program, point = drawn
    exposure, order, starts = face_of(program, point)
    rankings, weights, _ = parts.lottery_of_point(program.of(parts), exposure, order, starts, program.r + 1)
    check_lottery(program, rankings, weights)
    assert len(weights) <= program.r + 1
    check_effect(program, rankings, weights, exposure)


def test_a_block_of_hundreds_that_is_thinned_on_the_way_shows_the_same_and_so_nearly_does_every_draw() -> None:
    program, exposure, order, starts = one_block(900)
    rankings, weights, _ = parts.lottery_of_point(program.of(parts), exposure, order, starts, program.r + 1)
    check_lottery(program, rankings, weights)
    assert len(weights) <= program.r + 1
    check_effect(program, rankings, weights, exposure)
    shown = np.einsum("lkr,k->lr", program.rows[rankings], program.position_weights)
    sorted_by_exposure = program.position_weights @ program.rows[order[: program.k]]
    far = np.abs(sorted_by_exposure - exposure @ program.rows).sum()
    assert np.abs(shown - exposure @ program.rows).sum(axis=1).max() < 0.1 * far


def test_the_effort_grows_with_the_candidates_of_a_block_and_not_with_their_square() -> None:
    efforts = []
    for n in (250, 500, 1000, 2000):
        program, exposure, order, starts = one_block(n)
        efforts.append(parts.lottery_of_point(program.of(parts), exposure, order, starts, program.r + 1)[2])
    assert all(larger < 2.2 * smaller for smaller, larger in pairwise(efforts))


@given(programs_with_a_lottery())
def test_thinning_keeps_category_shares_and_relevance(drawn: tuple[Arrays, Integers, Floats]) -> None:
    program, by_rank, probabilities = drawn
    exposure = exposure_of(program, by_slot(program, by_rank), probabilities)
    rankings, weights = parts.tidy(program.of(parts), by_rank, probabilities, program.r + 1)
    check_lottery(program, rankings, weights)
    assert len(weights) <= program.r + 1
    check_effect(program, rankings, weights, exposure)
    again, same = parts.thin(program.of(parts), np.ascontiguousarray(by_slot(program, by_rank)), probabilities)
    assert (again.tolist(), same.tolist()) == (rankings.tolist(), weights.tolist())


@given(programs_with_a_lottery())
def test_a_lottery_that_is_small_enough_is_only_sorted(drawn: tuple[Arrays, Integers, Floats]) -> None:
    program, by_rank, probabilities = drawn
    rankings, weights = parts.tidy(program.of(parts), by_rank, probabilities, NO_LIMIT)
    heaviest = np.argsort(-probabilities, kind="stable")[: int((probabilities > 0).sum())]
    assert rankings.tolist() == by_slot(program, by_rank)[heaviest].tolist()
    np.testing.assert_allclose(weights, probabilities[heaviest], rtol=1e-13)


def test_a_candidate_twice_in_a_ranking_is_refused() -> None:
    program = Arrays(np.zeros(3), np.ones((3, 1)), np.zeros((1, 6)), np.ones(2) / 2, NOBODY, NOBODY).of(parts)
    with pytest.raises(ValueError, match="twice"):
        parts.tidy(program, np.array([[1, 1]]), np.ones(1), 2)


def one_block(n: int) -> tuple[Arrays, Floats, Integers, Integers]:
    """Candidates with dense rows whose exposures all differ, no prefix of which has all that its ranks weigh."""
    spread = np.outer(np.sqrt([2, 3, 5, 7, 11, 13]), np.arange(1, n + 1)) % 1.0  # as even as chance, and no chance
    weights = 1 / np.log2(np.arange(2, n * 3 // 10 + 2))
    shares = np.ascontiguousarray((spread[:5] / spread[:5].sum(axis=0)).T)
    program = Arrays(spread[5], shares, np.zeros((5, 6)), weights / weights.sum(), NOBODY, NOBODY)
    exposure, order, starts = face_of(program, 0.3 / n * spread[0])
    assert starts.tolist() == [0, n]
    return program, exposure, order, starts


def face_of(program: Arrays, point: Floats) -> tuple[Floats, Integers, Integers]:
    order = np.argsort(-point, kind="stable")
    exposure, starts = parts.project(point, np.sort(program.position_weights)[::-1].copy(), order)
    return exposure, order, starts


def by_slot(program: Arrays, by_rank: Integers) -> Integers:
    """Rankings by rank put into the slots, the heaviest first."""
    shown = np.empty_like(by_rank)
    shown[:, np.argsort(-program.position_weights, kind="stable")] = by_rank
    return shown


def exposure_of(program: Arrays, rankings: Integers, weights: Floats) -> Floats:
    exposure = np.zeros(program.n)
    np.add.at(exposure, rankings, np.outer(weights, program.position_weights))
    return exposure


def check_lottery(program: Arrays, rankings: Integers, weights: Floats) -> None:
    assert (weights > 0).all()
    assert (np.diff(weights) <= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert all(len(set(ranking)) == program.k for ranking in rankings.tolist())


def check_effect(program: Arrays, rankings: Integers, weights: Floats, exposure: Floats) -> None:
    """Shares and relevance are those of the exposure."""
    shown = exposure_of(program, rankings, weights)
    np.testing.assert_allclose(shown @ program.rows, exposure @ program.rows, atol=1e-12)
    spread = float(np.ptp(program.gains)) or 1.0
    assert shown @ program.gains == pytest.approx(
        exposure @ program.gains, abs=1e-12 * spread + 1e-14 * abs(program.gains).max()
    )
