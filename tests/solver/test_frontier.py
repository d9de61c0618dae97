"""The frontier: concave, monotone, as near to the curve as it says, with the ends that calibrate has."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import excalibr
from excalibr import calibrate, frontier
from excalibr._solver import Curve, Point
from excalibr._solver.frontier import Frontier, _envelope, _frontier, _vertex
from excalibr.errors import InfeasibleError, InputError, InputTypeError
from tests.literal import best_value
from tests.problems import movie_like_problem
from tests.variants import any_question

pytestmark = pytest.mark.filterwarnings("ignore::excalibr.errors.TruncationWarning")


def asked(seed: int, n: int = 60, k: int = 20, r: int = 8) -> tuple[Any, Any, Any]:
    problem = movie_like_problem(np.random.default_rng(seed), n, k, r, 2, 0.5)
    return problem.scores, problem.memberships.dense(), problem.target


def height_at(curve: Frontier, trade_off: float) -> float:
    """The best objective that a vertex of the polyline has at λ."""
    return float(((1 - trade_off) * curve.relevance - trade_off * curve.deviation).max())


@pytest.mark.parametrize(
    ("measured", "kept"),
    [
        ([(0, 9, 0), (-1, 4, 0.3), (-2, 1, 0.6), (-3, 0, 1)], [0, 1, 2, 3]),
        ([(0, 9, 0), (-1, 4, 0.3), (-2, 1, 0.6), (-3, 5, 1)], [0, 1, 2]),  # an end that two others are better than
        ([(0, 9, 0), (-1, 4, 0.3), (-2, 1, 0.6), (-1.8, 1 + 1e-15, 1)], [0, 1, 3]),  # one that rounding raised
        ([(0, 9, 0), (-1, 4, 0.3), (-2, 6, 0.6), (-3, 0, 1)], [0, 1, 3]),
        ([(0, 9, 0), (-1, 4, 0.3), (-2, 1, 0.6), (-3, 1, 1)], [0, 1, 2]),  # and one that gives up relevance for nothing
        ([(0, 9, 0), (-1, 9, 1)], [0]),
    ],
)
def test_what_the_solves_left_uneven_never_rises(measured: list[tuple[float, float, float]], kept: list[int]) -> None:
    policy = calibrate(*asked(0), k=20)
    points = [Point(relevance, cost, trade_off, policy) for relevance, cost, trade_off in measured]
    assert _envelope(points) == [points[place] for place in kept]


@pytest.mark.parametrize("place", [0, 1])
def test_the_error_has_what_an_end_that_was_not_reached_leaves(place: int) -> None:
    curve = Curve(excalibr.Problem.of(*asked(0), k=20))
    ends = [_vertex(curve.at(trade_off), 1.0) for trade_off in (0.0, 1.0)]
    ends[place].slack = 0.5
    assert _frontier(curve, ends, 0.125).error == pytest.approx(0.625, abs=1e-8)


@pytest.mark.parametrize("divergence", ["l1", "kl"])
@pytest.mark.parametrize("seed", range(3))
def test_the_curve_is_concave_and_falls(divergence: str, seed: int) -> None:
    curve = frontier(*asked(seed), k=20, divergence=divergence)
    assert (np.diff(curve.relevance) < 0).all()
    assert (np.diff(curve.deviation) < 0).all()
    slopes = np.diff(curve.relevance) / np.diff(curve.deviation)
    assert (np.diff(slopes) > 0).all()
    assert curve.trade_offs[0] == 0.0
    assert (np.diff(curve.trade_offs) > 0).all()


@pytest.mark.parametrize("divergence", ["l1", "kl"])
@pytest.mark.parametrize("seed", range(3))
def test_no_point_of_the_true_curve_is_further_away_than_certified(divergence: str, seed: int) -> None:
    scores, rows, target = asked(seed)
    curve = frontier(scores, rows, target, k=20, divergence=divergence)
    assert curve.error <= 1e-4
    for trade_off in np.linspace(0.01, 0.99, 37):
        best = calibrate(scores, rows, target, k=20, divergence=divergence, trade_off=float(trade_off)).objective
        missed = best - height_at(curve, float(trade_off))
        assert -1e-8 <= missed <= curve.error * np.hypot((1 - trade_off) * np.ptp(scores), trade_off) + 1e-8


def test_with_a_tolerance_of_zero_every_vertex_is_found() -> None:
    scores, rows, target = asked(1, n=12, k=4, r=3)
    curve = frontier(scores, rows, target, k=4, tolerance=0)
    for trade_off in np.random.default_rng(0).random(60):
        best = calibrate(scores, rows, target, k=4, trade_off=float(trade_off)).objective
        assert best == pytest.approx(height_at(curve, float(trade_off)), abs=2e-8)
    middles = (curve.trade_offs[:-1] + curve.trade_offs[1:]) / 2
    for place, trade_off in enumerate(middles):  # between two breaks one vertex alone is the best
        policy = curve.at(float(trade_off))
        assert policy.relevance == pytest.approx(curve.relevance[place], abs=1e-7)
        assert policy.cost == pytest.approx(curve.deviation[place], abs=1e-7)


@given(seed=st.integers(0, 2**32 - 1), divergence=st.sampled_from(["l1", "kl"]))
@settings(max_examples=40)
def test_its_ends_are_what_calibrate_returns_there(seed: int, divergence: str) -> None:
    question = any_question(np.random.default_rng(seed), divergence)
    given_options = question.options
    try:
        curve = frontier(question.scores, question.categories, question.target, **given_options)
    except (InfeasibleError, InputError):
        return
    for trade_off, place in ((0.0, 0), (1.0, -1)):
        policy = calibrate(question.scores, question.categories, question.target, trade_off=trade_off, **given_options)
        assert policy.relevance == pytest.approx(curve.relevance[place], abs=1e-6)
        assert policy.cost == pytest.approx(curve.deviation[place], abs=1e-6)


@example(seed=12545)  # 8e-10 of cost are worth 5e-5 of relevance
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_the_ends_are_lexicographic(seed: int) -> None:
    question = any_question(np.random.default_rng(seed), "l1")
    try:
        first = calibrate(question.scores, question.categories, question.target, trade_off=0.0, **question.options)
        last = calibrate(question.scores, question.categories, question.target, trade_off=1.0, **question.options)
    except (InfeasibleError, InputError):
        return
    most, least = best_value(question.literal, 0.0), best_value(question.literal, 1.0)
    assert most is not None
    assert least is not None
    assert first.relevance == pytest.approx(most, abs=1e-8)
    assert last.cost == pytest.approx(-least, abs=1e-8)
    nearest = _without_slack(lambda slack: best_value(question.literal, 1.0, relevance_at_least=most - slack))
    richest = _without_slack(lambda slack: best_value(question.literal, 0.0, cost_at_most=slack - least))
    assert first.cost == pytest.approx(-nearest, abs=1e-5)
    spent = best_value(question.literal, 0.0, cost_at_most=1e-9 - least)  # so much counts as no cost
    assert spent is not None
    assert richest - 1e-5 <= last.relevance <= max(richest, spent) + 1e-5


def _without_slack(best: Callable[[float], float | None]) -> float:
    """The optimum without the slack that a solver needs: what it earns on a straight piece is taken off again.

    Where scores are nearly tied a slack of 1e-9 can earn 1e-5.
    """
    once, twice = best(1e-8), best(2e-8)
    assert once is not None
    assert twice is not None
    return 2.0 * once - twice


def test_budgets_are_points_of_the_curve() -> None:
    scores, rows, target = asked(2)
    curve = frontier(scores, rows, target, k=20)
    lost = curve.within(relevance_loss=0.02)
    direct = calibrate(scores, rows, target, k=20, relevance_loss=0.02)
    assert lost.cost == pytest.approx(direct.cost, abs=1e-8)
    assert lost.relevance == pytest.approx(0.98 * curve.relevance[0], abs=1e-8)
    middle = float(curve.deviation.mean())
    assert curve.within(max_deviation=middle).cost == pytest.approx(middle, abs=1e-8)


def test_so_many_vertices_and_no_more() -> None:
    curve = frontier(*asked(3), k=20, max_vertices=5)
    assert len(curve) <= 5
    assert curve.error > 1e-4


def test_wrong_requests_are_refused() -> None:
    scores, rows, target = asked(0)
    curve = frontier(scores, rows, target, k=20, max_vertices=3)
    with pytest.raises(InputError, match="relevance_loss and max_deviation: are both given or both left out"):
        curve.within()
    with pytest.raises(InputError, match="tolerance: is 0, must be positive: with KL the curve is smooth"):
        frontier(scores, rows, target, k=20, divergence="kl", tolerance=0)
    with pytest.raises(InputError, match="tolerance: is -1"):
        frontier(scores, rows, target, k=20, tolerance=-1)
    with pytest.raises(InputError, match="draws: is given, must be left out"):
        frontier(scores, rows, target, k=20, draws="single")
    with pytest.raises(InputError, match="max_vertices: is 1, must be a whole number of at least 2, or None"):
        frontier(scores, rows, target, k=20, max_vertices=1)
    with pytest.raises(InputTypeError, match="tolerance: is '1e-4', must be a finite number"):
        frontier(scores, rows, target, k=20, tolerance="1e-4")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="trade_off: is 1000"):
        curve.at(10**400)


def test_threads_may_share_a_frontier() -> None:
    scores, rows, target = asked(4, n=300, r=12)
    curve = frontier(scores, rows, target, k=20, tolerance=0.05)
    trade_offs = np.linspace(0.05, 0.95, 30)
    alone = [calibrate(scores, rows, target, k=20, trade_off=each).objective for each in trade_offs]
    with ThreadPoolExecutor(8) as threads:
        shared = [policy.objective for policy in threads.map(curve.at, np.tile(trade_offs, 8))]
    np.testing.assert_allclose(shared, alone * 8, atol=1e-8)


def test_it_draws_itself() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = frontier(*asked(0), k=20, max_vertices=8).plot()
    assert axes.get_xlabel() == "deviation from the target"
    assert axes.get_ylabel() == "relevance"
    matplotlib.pyplot.close(axes.figure)


def test_it_says_what_it_is() -> None:
    assert repr(excalibr.frontier([1.0, 0.8], [[1, 0], [0, 1]], [0.5, 0.5], k=1)).startswith("Frontier(2 vertices")
