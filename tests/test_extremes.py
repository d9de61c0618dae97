"""Numbers at the edge of what a double holds, each with its answer or its message; a warning of numpy's is an error."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from excalibr import Band, calibrate, calibrate_batch, frontier
from excalibr.errors import BatchWarning, GapWarning, InfeasibleError, InputError
from tests.kernel.test_safety import run

EYE = np.eye(22)


def random_scores(n: int, scale: float = 1.0) -> Any:
    return np.random.default_rng(0).random(n) * scale


def test_a_weight_of_1e305_is_refused() -> None:
    with pytest.raises(InputError, match=r"category_weights and attribute_weights: have a product of 1e\+305, must be"):
        calibrate(np.arange(22) / 22, EYE, np.full(22, 1 / 22), k=2, category_weights={0: 1e305})


def test_weights_whose_product_overflows_are_refused() -> None:
    with pytest.raises(InputError, match="have a product of inf"):
        calibrate(
            *([1.0, 0.0], {"a": np.eye(2)}, {"a": [0.5, 0.5]}),
            k=1,
            category_weights={"a": {0: 1e200}},
            attribute_weights={"a": 1e200},
        )


@pytest.mark.parametrize("masks", [{0: np.finfo(float).min}, {0: 1.7e308, 1: -1.7e308}, {0: 1.7e308, 1: 1.7e308}])
def test_scores_that_overflow_are_refused_with_what_to_do_instead_of_masking(masks: dict[int, float]) -> None:
    scores = random_scores(66)
    scores[list(masks)] = list(masks.values())
    with pytest.raises(InputError, match=r"must be within ±1e\+150\. Hint: leave candidates out"):
        calibrate(scores, EYE[np.arange(66) % 22], np.full(22, 1 / 22), k=2, trade_off=0.1, floors={1: 0.01})


def test_a_share_of_the_smallest_float_is_none() -> None:
    policy = calibrate([0, 0.5], np.eye(2), [5e-324, 1.0], k=1, divergence="kl", trade_off=0.1)
    assert policy.rankings.tolist() == [[1]]
    assert policy.gap == 0.0


def test_an_edge_of_a_band_beyond_1e30_is_refused() -> None:
    with pytest.raises(InputError, match=r"has the edges 0 and 1e\+31 for category 1, must be within ±1e30 and rise"):
        calibrate([1.0, 0.0], np.eye(2), Band([0, 0], [1, 1e31]), k=1)


def test_a_user_whose_numbers_overflow_stops_nobody() -> None:
    scores, rows, target = random_scores(60), EYE[np.arange(60) % 22], np.full(22, 1 / 22)
    scores[25] = -1.7e308
    with pytest.warns(BatchWarning, match="1 of 3 users"):
        policies = calibrate_batch(scores, [0, 20, 40, 60], rows, target, k=2)
    assert [int(count) for count in policies.lotteries.counts > 0] == [1, 0, 1]
    with pytest.raises(InputError, match=r"must be within ±1e\+150"):
        policies[1]


def test_a_user_of_a_batch_whose_limits_conflict_is_told_as_by_calibrate() -> None:
    asked: dict[str, Any] = {"k": 1, "floors": {0: 0.9}, "trade_off": 0.5}
    scores, rows = np.array([1.0, 0.5]), np.array([[0.5, 0.5], [0.4, 0.6]])
    with pytest.raises(InfeasibleError) as alone:
        calibrate(scores, rows, [0.5, 0.5], **asked)
    with pytest.warns(BatchWarning):
        policies = calibrate_batch(scores, [0, 2], rows, [0.5, 0.5], **asked)
    with pytest.raises(InfeasibleError) as one_of_many:
        policies[0]
    assert str(one_of_many.value) == str(alone.value)


@pytest.mark.parametrize("scale", [1e-9, 1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.filterwarnings("ignore::excalibr.errors.GapWarning")
def test_small_and_large_scores_keep_as_much_relevance(scale: float) -> None:
    random = np.random.default_rng(0)
    scores, rows, target = random.random(100), np.eye(20)[random.integers(0, 20, 100)], random.dirichlet(np.ones(20))
    trade_off = scale / (1 + scale)  # both aims weigh alike
    policy = calibrate(scores * scale, rows, target, k=10, trade_off=trade_off)
    usual = calibrate(scores, rows, target, k=10, trade_off=0.5)
    assert policy.relevance / scale == pytest.approx(usual.relevance, abs=1e-6)


@pytest.mark.filterwarnings("ignore::excalibr.errors.GapWarning")
def test_a_frontier_of_scores_of_1e16_ends() -> None:
    random = np.random.default_rng(0)
    rows, target = np.eye(3)[random.integers(0, 3, 30)], random.dirichlet(np.ones(3))
    assert len(frontier(random.random(30) * 1e16, rows, target, k=5, max_vertices=60)) <= 60


@pytest.mark.parametrize("scale", [0.001, 0.01, 1.0])
def test_the_error_of_a_frontier_is_a_bound_however_near_the_scores_are(scale: float) -> None:
    random = np.random.default_rng(0)
    scores, rows = random.random(80) * scale, np.eye(10)[random.integers(0, 10, 80)]
    target, spread = random.dirichlet(np.ones(10)), float(np.ptp(scores))
    curve = frontier(scores, rows, target, k=20)
    for trade_off in np.linspace(0.05, 5, 12) * scale / (1 + 5 * scale):
        policy = calibrate(scores, rows, target, k=20, trade_off=float(trade_off))
        reached = (1 - trade_off) * policy.relevance - trade_off * policy.cost
        polyline = ((1 - trade_off) * curve.relevance - trade_off * curve.deviation).max()
        assert (reached - polyline) / np.hypot((1 - trade_off) * spread, trade_off) <= curve.error + 1e-9


def test_a_frontier_that_cannot_be_as_near_as_asked_says_so_at_the_callers_line() -> None:
    scores = np.array([1.0, 2.0, -1e30, 3.0, -1e30])
    rows = np.eye(2)[[0, 0, 1, 0, 1]]
    with pytest.warns(GapWarning, match=r"of the curve, not the 0\.0001 that was asked") as told:
        frontier(scores, rows, [0.5, 0.5], k=2)
    assert told[0].filename == __file__


def test_one_candidate_is_proven_whatever_the_weights() -> None:
    target = np.array([1e-18, 0.5, 0.5 - 1e-18])
    policy = calibrate([1.0], np.eye(3)[[1]], target, divergence="kl", relative=True, trade_off=0.5)
    assert policy.gap <= 1e-9


FORK_WHILE_SOLVING = """
import os, threading
from tests.kernel.test_safety import bits_of, made_up
from excalibr import calibrate_batch

def solve():
    return [bits_of(policy) for policy in calibrate_batch(**made_up(users=5), k=6, threads=2)]

before, stop = solve(), threading.Event()
def go_on():
    while not stop.is_set():
        solve()
other = threading.Thread(target=go_on)
other.start()
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(0 if solve() == before else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
other.join()
print("same bits")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_another_thread_solves_solves() -> None:
    assert run(FORK_WHILE_SOLVING).stdout.strip() == "same bits"
