"""One Newton step for the prices: curvature from the blocks of tied candidates, and a quadratic program in a box.

Moving prices by d changes the exposure inside a block by the centred change of its candidates' costs, so the curvature
is ρ · Σ_blocks (Σ_i a_i a_iᵀ − (Σ_i a_i)(Σ_i a_i)ᵀ / g), with a_i the category row of candidate i and g the block's
size.
"""

from __future__ import annotations

from excalibr._jit import inlined, lean
from excalibr._types import PLACE, Floats, Places
from excalibr.solver.program import Program

__all__ = ["box_step", "curvature", "factorise", "substitute"]

CLAMP_ROUNDS = 10


@lean
def curvature(
    program: Program,
    order: Places,
    starts: Places,
    blocks: int,
    scale: float,
    hessian: Floats,
    total: Floats,
) -> None:
    """Fill the upper triangle of ``hessian`` (r, r); ``total`` (r,) is scratch."""
    r = total.size
    for place in range(r):
        row = PLACE(place)
        for beyond in range(row, r):
            hessian[row, PLACE(beyond)] = 0.0
    for block in range(blocks):
        size = starts[block + 1] - starts[block]
        if size == 1:
            continue
        for category in range(r):
            total[category] = 0.0
        for rank in range(starts[block], starts[block + 1]):
            _add_row(program, order[rank], scale, hessian, total)
        for place in range(r):
            row = PLACE(place)
            if total[row] != 0.0:
                factor = scale * total[row] / size
                for beyond in range(row, r):
                    column = PLACE(beyond)
                    hessian[row, column] -= factor * total[column]


@lean
def _add_row(program: Program, candidate: int, scale: float, hessian: Floats, total: Floats) -> None:
    """Add a_i to the total and scale · a_i a_iᵀ to the upper triangle (a row's categories rise)."""
    last = program.indptr[candidate + 1]
    for first_entry in range(program.indptr[candidate], last):
        row = program.indices[first_entry]
        value = program.values[first_entry]
        total[row] += value
        for second_entry in range(first_entry, last):
            hessian[row, program.indices[second_entry]] += scale * value * program.values[second_entry]


@inlined
def box_step(
    hessian: Floats,
    damping: float,
    gradient: Floats,
    prices: Floats,
    floors: Floats,
    ceilings: Floats,
    free: Places,
    factor: Floats,
    right: Floats,
    step: Floats,
) -> float:
    """Minimise gradientᵀd + ½ dᵀ(hessian + damping·I)d with floors ≤ prices + d ≤ ceilings; return gradientᵀd.

    Prices at a bound that the gradient pushes outward stay; the system is solved for the others, those that would leave
    the box are clamped to it, and the rest is solved again. ``free``, ``factor`` and ``right`` are scratch.
    """
    r = gradient.size
    count = 0
    for category in range(r):
        step[category] = 0.0
        down = gradient[category] > 0.0 and prices[category] > floors[category]
        up = gradient[category] < 0.0 and prices[category] < ceilings[category]
        if up or down:
            free[count] = category
            count += 1
    for clamping in range(CLAMP_ROUNDS):
        _gather(hessian, damping, gradient, step, free, count, factor, right, clamping > 0)
        factorise(factor, count)
        substitute(factor, right, count)
        kept = _clamp(prices, floors, ceilings, free, count, right, step)
        if kept == count:
            break
        count = kept
    slope = 0.0
    for category in range(r):
        slope += gradient[category] * step[category]
    return slope


@inlined
def _gather(
    hessian: Floats,
    damping: float,
    gradient: Floats,
    step: Floats,
    free: Places,
    count: int,
    factor: Floats,
    right: Floats,
    clamped: bool,
) -> None:
    """The system of the free prices, with what the clamped ones already move on the right-hand side."""
    r = gradient.size
    for place in range(count):
        step[free[place]] = 0.0
    for place in range(count):
        row = free[place]
        for other in range(place, count):
            factor[place, other] = hessian[row, free[other]]
        factor[place, place] += damping
        moved = gradient[row]
        for category in range(r if clamped else 0):
            if step[category] != 0.0:
                moved += hessian[min(row, category), max(row, category)] * step[category]
        right[place] = -moved


@lean
def factorise(factor: Floats, count: int) -> None:
    """L·D·Lᵀ in place, upper triangle: D·Lᵀ beside the diagonal, on it the inverse of D.

    Row by row outward, so that the inner loop runs along memory; its indices are known not to be negative.
    """
    for place in range(count):
        pivot = PLACE(place)
        inverse = 1.0 / max(factor[pivot, pivot], 1e-300)
        for below in range(pivot + 1, count):
            row = PLACE(below)
            multiple = factor[pivot, row] * inverse
            if multiple != 0.0:
                for beyond in range(row, count):
                    column = PLACE(beyond)
                    factor[row, column] -= multiple * factor[pivot, column]
        factor[pivot, pivot] = inverse


@lean
def substitute(factor: Floats, right: Floats, count: int) -> None:
    """Solve L·D·Lᵀ x = right in place."""
    for place in range(count):
        row = PLACE(place)
        value = right[row] * factor[row, row]
        right[row] = value
        for beyond in range(row + 1, count):
            column = PLACE(beyond)
            right[column] -= factor[row, column] * value
    for place in range(count - 1, -1, -1):
        row = PLACE(place)
        value = 0.0
        for beyond in range(row + 1, count):
            column = PLACE(beyond)
            value += factor[row, column] * right[column]
        right[row] -= value * factor[row, row]


@inlined
def _clamp(
    prices: Floats, floors: Floats, ceilings: Floats, free: Places, count: int, right: Floats, step: Floats
) -> int:
    """Take the solution over; prices that leave the box stop at its side and are free no longer."""
    kept = 0
    for place in range(count):
        category = free[place]
        reached = prices[category] + right[place]
        if reached > ceilings[category]:
            step[category] = ceilings[category] - prices[category]
        elif reached < floors[category]:
            step[category] = floors[category] - prices[category]
        else:
            step[category] = right[place]
            free[kept] = category
            kept += 1
    return kept
