"""Every variant as the literal program over all rankings there are: the oracle for tiny problems.

A lottery is a weight for each allowed ranking, and what it costs is written out as the issue of each option states it,
with nothing of the library's own form. scipy's HiGHS solves it where the cost is straight, CVXPY where it is KL.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linprog

Floats = np.ndarray
ALPHA = 0.01


@dataclass(frozen=True)
class Literal:
    """A question in plain arrays: attributes are stacked, targets are bands, pages are weighed by hand."""

    scores: Floats
    rows: Floats
    weights: Floats
    low: Floats
    high: Floats
    cost_weights: Floats
    divergence: str = "l1"
    floors: Floats | None = None
    caps: Floats | None = None
    pinned: dict[int, int] | None = None
    banned: tuple[int, ...] = ()
    at_most: tuple[int, ...] | None = None
    seen: Floats | None = None
    """What earlier pages showed of each category, in units of this page."""

    def allowed(self, ranking: tuple[int, ...]) -> bool:
        if any(ranking[slot] != item for slot, item in (self.pinned or {}).items()) or set(ranking) & set(self.banned):
            return False
        return self.at_most is None or bool((self.rows[list(ranking)].sum(axis=0) <= np.array(self.at_most)).all())

    def rankings(self) -> Floats:
        every = permutations(range(len(self.scores)), len(self.weights))
        return np.array([ranking for ranking in every if self.allowed(ranking)])

    def effects(self, rankings: Floats) -> tuple[Floats, Floats]:
        """The relevance (L,) and the category shares (L, r) of rankings."""
        relevance = self.scores[rankings] @ self.weights
        return relevance, np.einsum("lkr,k->lr", self.rows[rankings], self.weights)

    def cost(self, shares: Floats) -> Any:
        """The deviation that λ multiplies, of shares (…, r)."""
        if self.divergence == "l1":
            beyond = np.maximum(self.low - shares, 0) + np.maximum(shares - self.high, 0)
            return (self.cost_weights * beyond).sum(axis=-1)
        seen = 0.0 if self.seen is None else self.seen
        nearest = np.clip(shares, self.low, self.high)
        q, u = seen + nearest, seen + (1 - ALPHA) * shares + ALPHA * nearest
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(q > 0, q * np.log(q / u), 0.0) - q + u
        return (self.cost_weights * np.where(nearest == shares, 0.0, terms)).sum(axis=-1)


def best_value(
    literal: Literal, trade_off: float, *, relevance_at_least: float | None = None, cost_at_most: float | None = None
) -> float | None:
    """The optimum of (1 − λ)·relevance − λ·cost over all lotteries; None where no lottery keeps the limits.

    With ``relevance_at_least`` it is the least cost, with ``cost_at_most`` the most relevance. NaN where the oracle
    itself gave up.
    """
    solve = _straight if literal.divergence == "l1" else _curved
    return solve(literal, trade_off, relevance_at_least, cost_at_most)


def _straight(literal: Literal, trade_off: float, at_least: float | None, at_most: float | None) -> float | None:
    relevance, shares = literal.effects(literal.rankings())
    count, r = shares.shape
    costs = literal.cost_weights
    zero, identity = np.zeros(count), np.eye(r)
    above = np.hstack((shares.T, -identity, np.zeros((r, r))))
    below = np.hstack((-shares.T, np.zeros((r, r)), -identity))
    rows, limits = [above, below], [literal.high, -literal.low]
    for bound, sign in ((literal.caps, 1.0), (literal.floors, -1.0)):
        if bound is not None:
            rows.append(np.hstack((sign * shares.T, np.zeros((r, 2 * r)))))
            limits.append(sign * bound)
    objective = np.concatenate((-(1 - trade_off) * relevance, trade_off * costs, trade_off * costs))
    if at_least is not None:
        rows.append(np.concatenate((-relevance, np.zeros(2 * r)))[None])
        limits.append(np.array([-at_least]))
        objective = np.concatenate((zero, costs, costs))
    if at_most is not None:
        rows.append(np.concatenate((zero, costs, costs))[None])
        limits.append(np.array([at_most]))
        objective = np.concatenate((-relevance, np.zeros(2 * r)))
    solved: Any = linprog(
        objective,
        A_ub=np.vstack(rows),
        b_ub=np.concatenate(limits),
        A_eq=np.concatenate((np.ones(count), np.zeros(2 * r)))[None],
        b_eq=[1.0],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return -float(solved.fun) if solved.status == 0 else None


def _curved(literal: Literal, trade_off: float, at_least: float | None, at_most: float | None) -> float | None:
    import cvxpy as cp

    relevance, shares = literal.effects(literal.rankings())
    lottery = cp.Variable(len(relevance), nonneg=True)
    nearest = cp.Variable(shares.shape[1])
    seen = np.zeros(shares.shape[1]) if literal.seen is None else literal.seen
    p = shares.T @ lottery
    limits = [cp.sum(lottery) == 1, nearest >= literal.low, nearest <= literal.high]
    if literal.floors is not None:
        limits.append(p >= literal.floors)
    if literal.caps is not None:
        limits.append(p <= literal.caps)
    # kl_div(a, b) = a·log(a / b) − a + b, and the nearest point of the band is the one that costs least
    cost = literal.cost_weights @ cp.kl_div(seen + nearest, seen + (1 - ALPHA) * p + ALPHA * nearest)
    objective = (1 - trade_off) * (relevance @ lottery) - trade_off * cost
    if at_least is not None:
        limits.append(relevance @ lottery >= at_least)
        objective = -cost
    if at_most is not None:
        limits.append(cost <= at_most)
        objective = relevance @ lottery
    program = cp.Problem(cp.Maximize(objective), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the solution may be inaccurate; the status says so too
        try:
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        except cp.SolverError:  # Clarabel's way to give up; whatever it found by then is of no use
            return np.nan
    if program.status == "infeasible":
        return None
    return float(program.value) if program.status == "optimal" else np.nan
