"""What must hold of every policy of the exact solver, checked without the solver's own code.

A check raises AssertionError and says what was off; the tests and ``make fuzz`` use the same ones.
"""

from __future__ import annotations

import numpy as np

from excalibr import Policy, Problem
from excalibr.paper import solve_reduced
from tests.problems import with_scores

AGREEMENT = 1e-12
AGAINST_THE_LP = 1e-7
GAP = 1e-9
KL_ALPHA = 0.01


def check_lottery(policy: Policy) -> None:
    """A valid lottery of at most r + 1 rankings of k distinct candidates, heaviest first."""
    problem, rankings, weights = policy.problem, policy.rankings, policy.weights
    assert rankings.shape == (len(weights), problem.k), "shape of the rankings"
    assert 1 <= len(weights) <= problem.r + 1, f"{len(weights)} rankings for {problem.r} categories"
    assert (weights > 0).all(), "a weight is not positive"
    assert abs(weights.sum() - 1.0) <= AGREEMENT, f"weights sum to {weights.sum()}"
    assert (np.diff(weights) <= 0).all(), "weights are not sorted"
    assert rankings.min() >= 0, "a candidate below 0"
    assert rankings.max() < problem.n, "a candidate beyond n"
    assert all(len(set(row)) == problem.k for row in rankings.tolist()), "a candidate stands twice in a ranking"


def check_agreement(policy: Policy) -> None:
    """Exposure, distribution, relevance and deviation are those of the rankings, recomputed naively."""
    problem = policy.problem
    exposure = np.zeros(problem.n)
    for ranking, weight in zip(policy.rankings, policy.weights, strict=True):
        for slot, candidate in enumerate(ranking):
            exposure[candidate] += weight * problem.position_weights[slot]
    shares = problem.memberships.dense().T @ exposure
    size = max(1.0, float(np.abs(problem.scores).max()))
    np.testing.assert_allclose(policy.exposure, exposure, rtol=AGREEMENT, atol=AGREEMENT)
    np.testing.assert_allclose(policy.distribution, shares, rtol=AGREEMENT, atol=AGREEMENT)
    assert abs(policy.relevance - problem.scores @ exposure) <= AGREEMENT * size, "relevance"
    assert abs(policy.deviation - np.abs(shares - problem.target).sum()) <= AGREEMENT, "deviation"


def check_certificate(policy: Policy) -> None:
    """The prices are within their bounds, and the dual function there, computed densely, proves the stated gap."""
    problem, prices = policy.problem, policy.prices
    assert prices is not None
    assert (np.abs(prices) <= problem.trade_off * (1 + AGREEMENT)).all(), "a price beyond the trade-off"
    rounding = 1e-14 * (1.0 + float(np.abs(problem.gains).max()))
    assert abs(policy.gap - dense_gap(policy, prices)) <= 100 * rounding, (
        f"gap {policy.gap} against {dense_gap(policy, prices)}"
    )
    allowed = GAP * scale(problem) + 10 * rounding
    assert policy.gap <= allowed, f"gap {policy.gap:.3g} of a tolerance of {allowed:.3g}"


def check_against_the_lp(policy: Policy) -> None:
    """The objective is that of the literal reduced program in HiGHS.

    Scores are centred for it, because HiGHS's tolerances are absolute.
    """
    problem = policy.problem
    size = scale(problem)
    centre = problem.scores.mean()
    expected = solve_reduced(with_scores(problem, problem.scores - centre)).objective
    reached = (1.0 - problem.trade_off) * float((problem.scores - centre) @ policy.exposure)
    reached -= problem.trade_off * policy.deviation
    off = abs(reached - expected) / size
    assert off <= AGAINST_THE_LP, f"objective off by {off:.3g}: {reached} against {expected} of HiGHS"


def dense_gap(policy: Policy, prices: np.ndarray) -> float:
    """The gap by the formulas of the method, on centred scores and dense rows."""
    problem = policy.problem
    gains = problem.gains - problem.gains.max()
    adjusted = gains - problem.memberships.dense() @ prices
    best = np.sort(adjusted)[::-1][: problem.k] @ np.sort(problem.position_weights)[::-1]
    objective = gains @ policy.exposure - problem.trade_off * policy.deviation
    return max(float(prices @ problem.target + best - objective), 0.0)


def scale(problem: Problem) -> float:
    """What tolerances are relative to."""
    return max(1.0, float(np.ptp(problem.gains)))


def as_kl(problem: Problem) -> Problem:
    """The same question with the KL divergence."""
    return Problem.of(
        problem.scores,
        problem.memberships.sparse(),
        problem.target,
        k=problem.k,
        trade_off=problem.trade_off,
        position_weights=problem.position_weights,
        divergence="kl",
    )


def check_kl_certificate(policy: Policy) -> None:
    """The objective is (1 − λ)·relevance − λ·KL(q ‖ p̃), and the dual function at the prices proves the stated gap."""
    problem, prices, trade_off = policy.problem, policy.prices, policy.problem.trade_off
    q, wanted = problem.target, problem.target > 0
    blurred = (1 - KL_ALPHA) * policy.distribution + KL_ALPHA * q
    divergence = float((q[wanted] * np.log(q[wanted] / blurred[wanted])).sum())
    size = scale(problem)
    assert abs(policy.cost - divergence) <= 1e-12, f"cost {policy.cost} against {divergence}"
    assert (prices <= 0).all(), "a positive price"
    adjusted = problem.gains - problem.memberships.dense() @ prices
    slots = np.sort(problem.position_weights)[::-1]
    bound = float(np.sort(adjusted)[::-1][: problem.k] @ slots)
    if trade_off > 0:
        y, q = prices[wanted], q[wanted]
        asked = -trade_off * (1 - KL_ALPHA) * q  # by the price, the p̃ that it asks for
        best = np.divide(asked, y, out=np.full_like(q, np.inf), where=y != 0)  # λ of next to nothing has a price of 0
        best = np.clip(best, KL_ALPHA * q, 1 - KL_ALPHA + KL_ALPHA * q)  # of a share from 0 to 1
        bound += float((y * (best - KL_ALPHA * q) / (1 - KL_ALPHA) + trade_off * q * np.log(best / q)).sum())
    rounding = 1e-12 * (1.0 + float(np.abs(problem.gains).max()) + float(np.abs(prices).max()))
    assert bound - policy.objective <= policy.gap + rounding, f"gap {policy.gap} against {bound - policy.objective}"
    assert policy.gap <= GAP * size + rounding, f"gap {policy.gap:.3g} of a tolerance of {GAP * size:.3g}"
