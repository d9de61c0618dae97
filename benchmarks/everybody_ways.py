"""What people would do otherwise about groups' shares: a few lines each, from the papers' formulas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse

from benchmarks.everybody import TRADE_OFF, WEIGHT, K, Measured, World, measure
from excalibr._many_users import Solver
from excalibr._many_users import measure as measure_lotteries
from excalibr._options import Options
from excalibr._population import BatchCrowd
from excalibr._population.crowd import exposure_of
from excalibr._problem import AttributeSpan, Batch
from excalibr._solver import questions_of
from excalibr._types import Floats

TOGETHER = 64
"""Users between two moves of online prices."""


def other_ways(world: World, crowd: BatchCrowd, wanted: Floats) -> dict[str, list[tuple[float, Measured]]]:
    """By way, its settings and what they give."""
    return {
        "fixed boost": boosts(world, crowd, wanted),
        "quotas in every slate": quotas(world, crowd, wanted),
        "online prices (as P-MMF)": online(world, crowd, wanted),
        "two classes (as CPFair)": two_classes(world, crowd, wanted),
    }


def boosts(world: World, crowd: BatchCrowd, wanted: Floats) -> list[tuple[float, Measured]]:
    """A fixed bonus for every group that has less than it should, of several sizes."""
    before = crowd.run(np.zeros(len(wanted))).group_shares
    lacking = (before < wanted).astype(float)
    sizes = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.08)
    return [(size, measure(world, crowd, crowd.groups @ (-size * lacking), wanted)) for size in sizes]


def quotas(world: World, crowd: BatchCrowd, wanted: Floats) -> list[tuple[float, Measured]]:
    """Every slate by itself near the groups' shares: a second attribute of each user's own program."""
    r, count = world.rows.shape[1], len(wanted)
    rows = sparse.hstack([world.rows, crowd.groups], format="csr")
    targets = np.hstack([world.targets, np.tile(wanted, (len(world.targets), 1))])
    attributes = (AttributeSpan("genre", 0, r), AttributeSpan("seller", r, r + count))
    found = []
    for weight in (0.1, 0.3, 1.0):
        options = Options(k=K, trade_off=TRADE_OFF, tolerance=1e-6, attribute_weights={"genre": 1.0, "seller": weight})
        batch = Batch.of(
            *(world.batch.scores, world.batch.starts, rows, targets),
            items=world.batch.items,
            options=options,
            attributes=attributes,
        )
        found.append((weight, measure(world, world.crowd(crowd.groups, batch), np.zeros(rows.shape[0]), wanted)))
    return found


def online(world: World, crowd: BatchCrowd, wanted: Floats) -> list[tuple[float, Measured]]:
    """P-MMF's online mirror descent: prices move against what the last users were shown beyond the wanted shares."""

    def moved(step: float, prices: Floats, shown: Floats, last: Floats) -> Floats:
        return np.clip(prices + step * (last - wanted), -WEIGHT, WEIGHT)

    return [(step, _in_turn(world, crowd, wanted, partial(moved, step))) for step in (0.05, 0.2, 0.8, 1.6)]


def two_classes(world: World, crowd: BatchCrowd, wanted: Floats) -> list[tuple[float, Measured]]:
    """As CPFair: sellers are advantaged or not, and the class that is behind so far gets a bonus in the next slates.

    CPFair adds λ·|exposure of the advantaged − exposure of the others| to the users' objectives and solves it user by
    user, which is a bonus of λ by the sign of the difference; here against the classes' wanted shares.
    """
    before = crowd.run(np.zeros(len(wanted))).group_shares
    advantaged = before > wanted

    def moved(bonus: float, prices: Floats, shown: Floats, last: Floats) -> Floats:
        ahead = shown[advantaged].sum() / shown.sum() > wanted[advantaged].sum()
        return np.asarray(bonus * (advantaged if ahead else ~advantaged))

    return [(bonus, _in_turn(world, crowd, wanted, partial(moved, bonus))) for bonus in (0.01, 0.03, 0.1, 0.3)]


def _in_turn(
    world: World, crowd: BatchCrowd, wanted: Floats, moved: Callable[[Floats, Floats, Floats], Floats]
) -> Measured:
    """One pass over the users as they come, with prices that move after every few of them."""
    questions, tables = questions_of(world.batch), []
    users, each = world.batch.users, np.arange(world.batch.users)
    prices, shown = np.zeros(len(wanted)), np.zeros(len(wanted))
    for first in range(0, users, TOGETHER):
        last = min(first + TOGETHER, users)
        batch = world.batch.with_item_prices(crowd.groups @ prices)
        lotteries = Solver.of(batch, wanted=(each >= first) & (each < last)).solve(first, last)
        tables.append(measure_lotteries(questions, lotteries))
        items = world.items[world.batch.starts[first] : world.batch.starts[last]]
        own = crowd.groups.T @ np.bincount(items, exposure_of(batch, lotteries), minlength=crowd.groups.shape[0])
        shown += own
        prices = moved(prices, shown, own / (last - first))
    table = np.concatenate(tables)
    deviation = float(np.abs(shown / users - wanted).sum())
    return Measured(float(table[:, 2].mean()), float(table[:, 3].mean()), deviation)
