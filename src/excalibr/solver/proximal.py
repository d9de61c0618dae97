"""The proximal Newton method in exposure space: prices for every category, and the face of exposures they lead to.

Each outer step holds the exposure near the last one, xₜ, with a term |x − xₜ|²/(2ρ). Its dual in the r prices y is
smooth: x(y) = projection of xₜ + ρ(c − A·y), and the gradient is the target minus Aᵀx(y). Newton steps solve it; then
xₜ moves and ρ grows. x(y) is always a feasible exposure and y always gives an upper bound, so the gap is proven at
every step.
"""

from __future__ import annotations

from excalibr._jit import inlined, lean
from excalibr._types import Floats
from excalibr.solver.newton import box_step, curvature
from excalibr.solver.ordering import key_at_rank, select_above, sort_descending
from excalibr.solver.penalty import share_at_price, softness_at_price
from excalibr.solver.permutohedron import pool_blocks
from excalibr.solver.program import Program, adjust, copy_into, dual_value, largest, penalty_cost
from excalibr.solver.state import ACTIVE, BLOCKS, BOUND, DAMPING, LARGE, OBJECTIVE, RADIUS, Best, State, Step

__all__ = ["CONVERGED", "SORTS_SPENT", "STALLED", "find_prices"]

CONVERGED = 0
SORTS_SPENT = 1
STALLED = 2

MAX_OUTER = 200
MAX_STALLED = 32
PATIENCE = 6
MAX_NEWTON = 20
MAX_TRIALS = 6
MAX_DAMPINGS = 12
TINY_DAMPING = 1e-12
FIRST_REST = 1e-2
REST_SHARE = 0.2
FLAT_ENOUGH = 0.3
SHORT_STEP = 0.3
CAUTION = 0.7
SPARE_CANDIDATES = 32
RHO_LIMIT = 2e5  # beyond it the rounding of ρ·z would show in the exposure


@lean
def find_prices(
    program: Program,
    state: State,
    step: Step,
    best: Best,
    prices: Floats,
    rho: float,
    tolerance: float,
    max_sorts: int,
) -> tuple[int, int]:
    """The outer loop, from ``prices`` and ``state.centre``; fills ``best``. Returns status and sorts."""
    steepest = max(largest(program.below), largest(program.above))
    step.pace[DAMPING] = 1.0
    step.pace[RADIUS] = 2.0 * steepest
    rest = FIRST_REST
    sorts = 0
    stalled = 0
    smallest = LARGE
    limit = RHO_LIMIT
    for _ in range(MAX_OUTER):
        steps, used = _newton(program, state, step, rho, prices, rest, max_sorts - sorts - 1)
        sorts += used + 1
        gap = _record(program, state, best, prices)
        if gap <= tolerance:
            return CONVERGED, sorts
        if sorts >= max_sorts:
            return SORTS_SPENT, sorts
        stalled = 0 if gap < 0.9 * smallest else stalled + 1
        smallest = min(smallest, gap)
        if stalled >= MAX_STALLED:
            break
        if steps == 0:
            rest *= 0.1  # all was at rest, and yet the gap is open: look closer
        rest = max(1e-15, min(rest, REST_SHARE * gap / steepest))
        copy_into(state.exposure, state.centre, state.centre.size)
        if stalled > 0 and stalled % PATIENCE == 0:
            limit = max(0.1 * limit, 10.0)  # perhaps rounding stands in the way: hold the exposure tighter
        rho = min(rho * _growth(steps), limit)
    return STALLED, sorts


@lean
def _growth(steps: int) -> float:
    """How much to loosen the hold on the exposure: the easier the last problem was, the more."""
    if steps <= 2:
        return 16.0
    if steps <= 6:
        return 4.0
    return 2.0 if steps < MAX_NEWTON else 0.3


@inlined
def _newton(
    program: Program, state: State, step: Step, rho: float, prices: Floats, rest: float, budget: int
) -> tuple[int, int]:
    """Solve one proximal problem until its gradient is at rest; returns Newton steps and sorts."""
    state.threshold[0] = -LARGE if _looks_at_everyone(program) else LARGE
    _evaluate(program, state, rho, prices)
    sorts = 1
    steps = 0
    while steps < MAX_NEWTON and sorts < budget:
        unrest = _set_gradient(program, state, step, prices)
        if unrest <= rest:
            break
        curvature(program, state.order, state.starts, state.counts[BLOCKS], rho, step.hessian, step.total)
        _add_softness(program, step, prices)
        slope = _direction(step, rho, prices, unrest)
        if slope >= 0.0:
            break
        sorts += _line_search(program, state, step, rho, prices, slope, min(MAX_TRIALS, budget - sorts))
        steps += 1
    return steps, sorts


@inlined
def _line_search(
    program: Program, state: State, step: Step, rho: float, prices: Floats, slope: float, max_trials: int
) -> int:
    """Go along the direction until the function no longer rises steeply there; prices end at the last trial.

    The first trial goes no further than the radius that has lately been worth it, and teaches damping and radius: where
    the curvature foretold the way, both give more room, where it did not, less. Returns the number of trials.
    """
    furthest = 0.0
    for category in range(prices.size):
        furthest = max(furthest, abs(step.direction[category]))
    length = min(1.0, step.pace[RADIUS] / furthest)
    trials = 0
    while True:
        for category in range(prices.size):
            step.trial[category] = prices[category] + length * step.direction[category]
        _evaluate(program, state, rho, step.trial)
        trials += 1
        _move_edges(program, step, step.trial)
        slope_there = 0.0
        for category in range(prices.size):
            slope_there += (step.edges[category] - state.shares[category]) * step.direction[category]
        if slope_there <= -FLAT_ENOUGH * slope or trials == max_trials:
            break
        # short of where a parabola ends: the curvature grows on the way
        length = max(0.05 * length, CAUTION * length * slope / (slope - slope_there))
    for category in range(prices.size):
        prices[category] = step.trial[category]
    if trials == 1:
        step.pace[DAMPING] = max(0.3 * step.pace[DAMPING], 1e-6)
        step.pace[RADIUS] = max(step.pace[RADIUS], 4.0 * length * furthest)
    else:
        step.pace[RADIUS] = 8.0 * length * furthest
        if length < SHORT_STEP:
            step.pace[DAMPING] = min(4.0 * step.pace[DAMPING], 1e6)
    return trials


@inlined
def _direction(step: Step, rho: float, prices: Floats, unrest: float) -> float:
    """A step along which the function falls; returns its slope. Clamping can spoil it, and more damping mends it."""
    slope = 0.0
    for _ in range(MAX_DAMPINGS):
        slope = box_step(
            step.hessian,
            TINY_DAMPING * rho + step.pace[DAMPING] * unrest,
            step.gradient,
            prices,
            step.floors,
            step.ceilings,
            step.free,
            step.factor,
            step.right,
            step.direction,
        )
        if slope < 0.0:
            break
        step.pace[DAMPING] *= 10.0
    return slope


@inlined
def _set_gradient(program: Program, state: State, step: Step, prices: Floats) -> float:
    """The gradient, and the box in which the penalty's dual is smooth; returns how much of it is not yet zero.

    Without a band the box is that of the prices. With one the dual has a kink at 0 and a price stays on its side of it.
    What is amiss counts the more the dearer the category: a curved penalty's price can be far above its weight.
    """
    steepest = max(largest(program.below), largest(program.above))
    unrest = 0.0
    for category in range(prices.size):
        low = program.low[category]
        high = program.high[category]
        share = state.shares[category]
        price = prices[category]
        step.floors[category] = program.floors[category]
        step.ceilings[category] = program.ceilings[category]
        edge = high
        if low < high:
            if price > 0.0 or (price == 0.0 and share > high):
                step.floors[category] = 0.0
            elif price < 0.0 or share < low:
                edge = low
                step.ceilings[category] = 0.0
            else:
                edge = share
        step.edges[category] = edge
    _move_edges(program, step, prices)
    for category in range(prices.size):
        slope = step.edges[category] - state.shares[category]
        price = prices[category]
        step.gradient[category] = slope
        if (slope > 0.0 and price > step.floors[category]) or (slope < 0.0 and price < step.ceilings[category]):
            unrest += abs(slope) * max(1.0, abs(price) / steepest)
    return unrest


@inlined
def _move_edges(program: Program, step: Step, prices: Floats) -> None:
    """Where a penalty is curved, the share that its price asks for moves with the price."""
    for category in range(prices.size):
        if program.smoothing[category] > 0.0 and prices[category] != 0.0:
            step.edges[category] = share_at_price(
                prices[category],
                program.low[category],
                program.high[category],
                program.below[category],
                program.above[category],
                program.smoothing[category],
                program.base[category],
            )


@inlined
def _add_softness(program: Program, step: Step, prices: Floats) -> None:
    """The curved penalties' part of the curvature."""
    for category in range(prices.size):
        if program.smoothing[category] > 0.0:
            step.hessian[category, category] += softness_at_price(
                prices[category],
                program.low[category],
                program.high[category],
                program.below[category],
                program.above[category],
                program.smoothing[category],
                program.base[category],
            )


@inlined
def _evaluate(program: Program, state: State, rho: float, prices: Floats) -> None:
    """x(y) and its shares."""
    adjust(program, prices, state.adjusted)
    for candidate in range(program.gains.size):
        state.lifted[candidate] = state.centre[candidate] + rho * state.adjusted[candidate]
    _project(program, state)
    _count_shares(program, state)


@inlined
def _project(program: Program, state: State) -> None:
    """Sort and pool the candidates above the threshold, which falls until nobody left out can matter.

    With few candidates the threshold is -LARGE and all are looked at; +LARGE asks for a new one.
    """
    n = program.gains.size
    k = program.slots.size
    active = 0
    while True:
        threshold = state.threshold[0]
        if threshold < LARGE:
            if threshold > -LARGE or state.counts[ACTIVE] < n:
                state.counts[ACTIVE] = select_above(
                    state.lifted, threshold, state.order, state.inside, state.exposure, state.counts[ACTIVE]
                )
            active = state.counts[ACTIVE]
            if active > k or active == n:
                sort_descending(state.lifted, state.order, state.spare, active)
                blocks = pool_blocks(
                    *(state.lifted, program.slots, state.order, active),
                    *(state.starts, state.means, state.sums, state.exposure),
                )
                state.counts[BLOCKS] = blocks
                if active == n or state.means[blocks - 1] >= threshold:
                    break
        wanted = 2 * max(active, k) + SPARE_CANDIDATES
        state.threshold[0] = key_at_rank(state.lifted, wanted, state.spare.places) if wanted < n else -LARGE
    if active < n and active > 4 * (2 * k + SPARE_CANDIDATES):
        state.threshold[0] = LARGE


@inlined
def _count_shares(program: Program, state: State) -> None:
    """p = Aᵀx: by category where everyone is looked at, else over the candidates that have exposure."""
    if _looks_at_everyone(program):
        for category in range(state.shares.size):
            share = 0.0
            for entry in range(program.starts[category], program.starts[category + 1]):
                share += program.parts[entry] * state.exposure[program.members[entry]]
            state.shares[category] = share
        return
    for category in range(state.shares.size):
        state.shares[category] = 0.0
    for rank in range(state.counts[ACTIVE]):
        candidate = state.order[rank]
        exposure = state.exposure[candidate]
        if exposure != 0.0:
            for place in range(program.indptr[candidate], program.indptr[candidate + 1]):
                state.shares[program.indices[place]] += program.values[place] * exposure


@inlined
def _looks_at_everyone(program: Program) -> bool:
    """With few candidates to spare, choosing whom to look at costs more than it saves."""
    return program.gains.size <= 4 * program.slots.size + 2 * SPARE_CANDIDATES


@inlined
def _record(program: Program, state: State, best: Best, prices: Floats) -> float:
    """Keep the exposure and the prices if they are the best so far; returns the gap between the two."""
    active = state.counts[ACTIVE]
    blocks = state.counts[BLOCKS]
    objective = -penalty_cost(program, state.shares)
    for rank in range(active):
        objective += program.gains[state.order[rank]] * state.exposure[state.order[rank]]
    if objective > best.values[OBJECTIVE]:
        best.values[OBJECTIVE] = objective
        best.blocks[0] = blocks
        copy_into(state.exposure, best.exposure, state.exposure.size)
        copy_into(state.order, best.order, active)
        copy_into(state.starts, best.starts, blocks + 1)
    bound = dual_value(program, prices, state.adjusted, state.ranked, state.spare)
    if bound < best.values[BOUND]:
        best.values[BOUND] = bound
        copy_into(prices, best.prices, prices.size)
    return float(best.values[BOUND] - best.values[OBJECTIVE])
