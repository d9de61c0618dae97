"""The set of all exposures: projecting a point on it, and writing one of its points as a lottery over rankings.

The exposures of lotteries over rankings are the permutohedron of the position weights e (largest first, padded with
zeros). Its faces are ordered partitions of the candidates into *blocks*: a block of g candidates shares the weights of
g neighbouring ranks, and only inside a block can rankings differ.
"""

from __future__ import annotations

import numpy as np

from excalibr._jit import compiled, lean
from excalibr._types import Floats, Integers, Places

__all__ = ["decompose", "pool_blocks"]

TIGHT = 1e-14
"""A prefix of a block that lacks no more than this of its weights is a block of its own."""

NEGLIGIBLE = 1e-13
"""Rankings with a smaller probability are left out."""


@lean
def pool_blocks(
    lifted: Floats,
    slots: Floats,
    order: Places,
    count: int,
    starts: Places,
    means: Floats,
    sums: Floats,
    exposure: Floats,
) -> int:
    """Project ``lifted`` (sorted by ``order``) on the permutohedron; return the number of blocks.

    Pool adjacent violators: the projection is u minus the best non-increasing fit of (u − e). Invariant: the means of
    the blocks so far fall strictly. ``starts[b]:starts[b + 1]`` are the ranks of block b; the last block has the last
    rank that is seen, and whoever comes after it has no exposure.
    """
    blocks = 0
    end = count
    for rank in range(count):
        excess = lifted[order[rank]]
        if rank < slots.size:
            excess -= slots[rank]
        elif excess < means[blocks - 1]:  # and so are all that follow
            end = rank
            break
        starts[blocks] = rank
        sums[blocks] = excess
        means[blocks] = excess
        blocks += 1
        while blocks > 1 and means[blocks - 1] >= means[blocks - 2]:
            blocks -= 1
            sums[blocks - 1] += sums[blocks]
            means[blocks - 1] = sums[blocks - 1] / (rank + 1 - starts[blocks - 1])
    starts[blocks] = end
    _fill_exposure(lifted, slots, order, blocks, starts, means, exposure)
    for rank in range(end, count):
        exposure[order[rank]] = 0.0
    return blocks


@lean
def _fill_exposure(
    lifted: Floats, slots: Floats, order: Places, blocks: int, starts: Places, means: Floats, exposure: Floats
) -> None:
    for block in range(blocks):
        first = starts[block]
        if starts[block + 1] == first + 1:
            exposure[order[first]] = slots[first] if first < slots.size else 0.0
        else:
            for rank in range(first, starts[block + 1]):
                exposure[order[rank]] = lifted[order[rank]] - means[block]


@compiled
def decompose(
    exposure: Floats, order: Places, starts: Places, blocks: int, slots: Floats, rankings: Integers, weights: Floats
) -> int:
    """Write a point of the permutohedron as a lottery over rankings; return how many there are.

    Walk from the ranking that sorts like the point, through the point, to the far side of its face: the ranking gets
    the part of the way that lies behind, and the far end goes on in a smaller face. Every step splits a block, so a
    face of dimension d gives at most d + 1 rankings. ``rankings[t]`` holds the candidates by falling weight of their
    slots.
    """
    values = exposure.copy()
    places = order.copy()
    edges = starts.astype(np.int64)
    edge_count = _trim(starts, blocks, slots.size)
    spare = places.copy()
    moved = exposure.copy()
    probability = 1.0
    found = 0
    while True:
        edge_count = _split_tight(values, slots, places, edges, edge_count)
        step, edge, cut = _longest_step(values, slots, places, spare, moved, edges, edge_count)
        share = probability if edge < 0 else probability * (step / (1.0 + step))
        if share > NEGLIGIBLE:
            for rank in range(slots.size):
                rankings[found, rank] = places[rank]
            weights[found] = share
            found += 1
        if edge < 0:
            return found
        probability -= share
        _walk(values, slots, places, edges[edge_count], step)
        _sort_block(values, places, edges[edge], edges[edge + 1])
        edge_count = _insert_edge(edges, edge_count, edge, cut)


@lean
def _trim(starts: Places, blocks: int, k: int) -> int:
    """How many blocks have a rank that is seen."""
    seen = 0
    while seen < blocks and starts[seen] < k:
        seen += 1
    return seen


@lean
def _weight(slots: Floats, rank: int) -> float:
    return slots[rank] if rank < slots.size else 0.0


@lean
def _sort_block(values: Floats, places: Places, first: int, last: int) -> None:
    """Insertion sort of the ranks first:last by value, largest first, ties by the lower index."""
    for rank in range(first + 1, last):
        candidate = places[rank]
        target = rank
        while target > first:
            other = places[target - 1]
            if values[other] > values[candidate] or (values[other] == values[candidate] and other < candidate):
                break
            places[target] = other
            target -= 1
        places[target] = candidate


@lean
def _split_tight(values: Floats, slots: Floats, places: Places, edges: Integers, edge_count: int) -> int:
    """Sort every block by value and cut it where its first ranks already hold all of their weights."""
    block = 0
    while block < edge_count:
        first = edges[block]
        last = edges[block + 1]
        _sort_block(values, places, first, last)
        lacking = 0.0
        for rank in range(first, last - 1):
            lacking += _weight(slots, rank) - values[places[rank]]
            if lacking <= TIGHT:
                edge_count = _insert_edge(edges, edge_count, block, rank + 1)
                break
        block += 1
    return edge_count


@lean
def _insert_edge(edges: Integers, edge_count: int, block: int, cut: int) -> int:
    for place in range(edge_count, block, -1):
        edges[place + 1] = edges[place]
    edges[block + 1] = cut
    return edge_count + 1


@lean
def _longest_step(
    values: Floats,
    slots: Floats,
    places: Places,
    spare: Places,
    moved: Floats,
    edges: Integers,
    edge_count: int,
) -> tuple[float, int, int]:
    """The step that all blocks can take, the block that stops it and the rank at which that block is cut (or -1)."""
    best = 0.0
    stopping = -1
    cut = -1
    for block in range(edge_count):
        if edges[block + 1] - edges[block] == 1:
            continue
        step, rank = _block_step(values, slots, places, spare, moved, edges[block], edges[block + 1])
        if stopping < 0 or step < best:
            best = step
            stopping = block
            cut = rank
    return best, stopping, cut


@lean
def _block_step(
    values: Floats, slots: Floats, places: Places, spare: Places, moved: Floats, first: int, last: int
) -> tuple[float, int]:
    """The longest step t for which x + t·(x − e) stays in the block's permutohedron, and the prefix that stops it.

    Newton from above: at a step that is too long, the prefix that exceeds its weights the most gives a shorter one.
    """
    step = _first_step(values, slots, places, first, last)
    cut = first + 1
    for _ in range(last - first + 50):
        for rank in range(first, last):
            candidate = places[rank]
            spare[rank] = candidate
            moved[candidate] = values[candidate] + step * (values[candidate] - _weight(slots, rank))
        _sort_block(moved, spare, first, last)
        cut, excess = _worst_prefix(moved, slots, spare, first, last)
        if excess <= TIGHT * (1.0 + step):
            break
        shorter = _tight_step(values, slots, places, moved, spare, first, last, cut)
        if not shorter < step:
            break
        step = max(shorter, 0.0)
    return step, cut


@lean
def _first_step(values: Floats, slots: Floats, places: Places, first: int, last: int) -> float:
    """A step that is long enough: there some candidate leaves the range of the block's weights."""
    step = 1e300
    heaviest = _weight(slots, first)
    lightest = _weight(slots, last - 1)
    for rank in range(first, last):
        value = values[places[rank]]
        slope = value - _weight(slots, rank)
        if slope > 0.0:
            step = min(step, (heaviest - value) / slope)
        elif slope < 0.0:
            step = min(step, (lightest - value) / slope)
    return max(step, 0.0)


@lean
def _worst_prefix(moved: Floats, slots: Floats, spare: Places, first: int, last: int) -> tuple[int, float]:
    """Where the first ranks exceed their weights the most, as the rank after them, and by how much."""
    worst = -1e300
    cut = first + 1
    excess = 0.0
    for rank in range(first, last - 1):
        excess += moved[spare[rank]] - _weight(slots, rank)
        if excess > worst:
            worst = excess
            cut = rank + 1
    return cut, worst


@lean
def _tight_step(
    values: Floats, slots: Floats, places: Places, moved: Floats, spare: Places, first: int, last: int, cut: int
) -> float:
    """The step at which the candidates spare[first:cut] hold exactly the weights of those ranks."""
    lowest = moved[spare[cut - 1]]
    room = 0.0
    slope = 0.0
    chosen = 0
    for rank in range(first, cut):
        room += _weight(slots, rank) - values[spare[rank]]
    for rank in range(first, last):
        candidate = places[rank]
        # the same candidates, found through their order of before the step, whose weights give their slopes
        if moved[candidate] > lowest or (moved[candidate] == lowest and candidate <= spare[cut - 1]):
            slope += values[candidate] - _weight(slots, rank)
            chosen += 1
    return room / slope if slope > 0.0 and chosen == cut - first else 0.0


@lean
def _walk(values: Floats, slots: Floats, places: Places, last: int, step: float) -> None:
    """Move every candidate of the blocks to the far end of the step."""
    for rank in range(last):
        candidate = places[rank]
        values[candidate] += step * (values[candidate] - _weight(slots, rank))
