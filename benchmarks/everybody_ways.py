"""Other methods for groups' shares, to compare with: a few lines each, from the papers' formulas."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import excalibr
from benchmarks.everybody import TRADE_OFF, WEIGHT, K, Measured, World, measure
from excalibr._many_users import Solver
from excalibr._many_users import measure as measure_lotteries
from excalibr._population import BatchPopulation
from excalibr._population.subproblems import exposure_of
from excalibr._solver import questions_of
from excalibr._types import Floats
from excalibr.errors import InfeasibleError

TOGETHER = 64
"""Users between two moves of online prices."""


def other_ways(world: World, population: BatchPopulation, wanted: Floats) -> dict[str, list[tuple[float, Measured]]]:
    """By way, its settings and what they give."""
    return {
        "fixed boost": boosts(world, population, wanted),
        "quotas in every slate": quotas(world, population, wanted),
        "online prices (as P-MMF)": online(world, population, wanted),
        "two classes (as CPFair)": two_classes(world, population, wanted),
    }


def boosts(world: World, population: BatchPopulation, wanted: Floats) -> list[tuple[float, Measured]]:
    """A fixed bonus for every group that has less than it should, of several sizes."""
    before = population.run(np.zeros(len(wanted))).group_shares
    lacking = (before < wanted).astype(float)
    sizes = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.08)
    return [(size, measure(world, population, population.groups @ (-size * lacking), wanted)) for size in sizes]


def quotas(world: World, population: BatchPopulation, wanted: Floats) -> list[tuple[float, Measured]]:
    """Every slate by itself keeps a part of each group's share, as ``floors``; of each user as far as it is possible.

    Prints for how many users the floors are possible as they are. For the others each floor is cut to what the user's
    candidates of the group can reach; who has no slate even so keeps the calibrated one.
    """
    found = []
    for part in (0.25, 0.5, 1.0):
        floors = part * wanted
        slates = [_with_floors(world, population, user, floors) for user in range(world.batch.users)]
        as_they_are, cut = (sum(each.kept == kept for each in slates) for kept in ("whole", "cut"))
        print(f"floors of {part:g} × the shares: possible for {as_they_are:,} users, {cut:,} more with floors cut")
        relevance, deviation = (float(np.mean([each[at] for each in slates])) for at in (0, 1))
        shares = np.mean([each.shares for each in slates], axis=0)
        found.append((part, Measured(relevance, deviation, float(np.abs(shares - wanted).sum()))))
    return found


class _Slate(NamedTuple):
    """One user's lottery with floors: relevance, own deviation, the groups' shares, and whether floors were kept."""

    relevance: float
    deviation: float
    shares: Floats
    kept: str


def _with_floors(world: World, population: BatchPopulation, user: int, floors: Floats) -> _Slate:
    """The best lottery of one user with these floors of groups, or with those that are possible."""
    batch, groups = world.batch, population.groups
    own = slice(batch.starts[user], batch.starts[user + 1])
    rows, members = world.rows[world.items[own]], groups[world.items[own]]
    reached = np.concatenate([[0.0], np.cumsum(batch.options.weights_of(K))])
    of_group = np.minimum(np.asarray((members > 0).sum(axis=0)).ravel(), K)
    cut = np.minimum(floors, reached[of_group])
    tried = {"whole": floors, "cut": cut, "none": np.zeros(len(floors))}
    solved = ((kept, _exposure(batch.scores[own], rows, members, world.targets[user], tried[kept])) for kept in tried)
    kept, exposure = next((kept, exposure) for kept, exposure in solved if exposure is not None)
    deviation = float(np.abs(rows.T @ exposure - world.targets[user]).sum())
    return _Slate(float(batch.scores[own] @ exposure), deviation, np.asarray(members.T @ exposure), kept)


def _exposure(scores: Floats, rows: Any, members: Any, target: Floats, floors: Floats) -> Floats | None:
    """(n,) the best exposure of one user's candidates with floors of groups; None where there is none."""
    target_of_groups = np.full(len(floors), 1.0 / len(floors))  # of no weight
    with suppress(InfeasibleError):
        return excalibr.calibrate(
            scores,
            {"genre": rows, "seller": members},
            {"genre": target, "seller": target_of_groups},
            k=K,
            trade_off=TRADE_OFF,
            tolerance=1e-6,
            attribute_weights={"seller": 0.0},
            floors={"seller": floors},
        ).exposure
    return None


def online(world: World, population: BatchPopulation, wanted: Floats) -> list[tuple[float, Measured]]:
    """P-MMF's online mirror descent: prices move against what the last users were shown beyond the wanted shares."""

    def moved(step: float, prices: Floats, shown: Floats, last: Floats) -> Floats:
        return np.clip(prices + step * (last - wanted), -WEIGHT, WEIGHT)

    return [(step, _in_turn(world, population, wanted, partial(moved, step))) for step in (0.05, 0.2, 0.8, 1.6)]


def two_classes(world: World, population: BatchPopulation, wanted: Floats) -> list[tuple[float, Measured]]:
    """As CPFair: sellers are advantaged or not, and the class that is behind so far gets a bonus in the next slates.

    CPFair adds λ·|exposure of the advantaged − exposure of the others| to the users' objectives and solves it user by
    user, which is a bonus of λ by the sign of the difference; here against the classes' wanted shares.
    """
    before = population.run(np.zeros(len(wanted))).group_shares
    advantaged = before > wanted

    def moved(bonus: float, prices: Floats, shown: Floats, last: Floats) -> Floats:
        ahead = shown[advantaged].sum() / shown.sum() > wanted[advantaged].sum()
        return np.asarray(bonus * (advantaged if ahead else ~advantaged))

    return [(bonus, _in_turn(world, population, wanted, partial(moved, bonus))) for bonus in (0.01, 0.03, 0.1, 0.3)]


def _in_turn(
    world: World, population: BatchPopulation, wanted: Floats, moved: Callable[[Floats, Floats, Floats], Floats]
) -> Measured:
    """One pass over the users as they come, with prices that move after every few of them."""
    questions, tables = questions_of(world.batch), []
    users, each = world.batch.users, np.arange(world.batch.users)
    prices, shown = np.zeros(len(wanted)), np.zeros(len(wanted))
    for first in range(0, users, TOGETHER):
        last = min(first + TOGETHER, users)
        batch = world.batch.with_item_prices(population.groups @ prices)
        lotteries = Solver.of(batch, wanted=(each >= first) & (each < last)).solve(first, last)
        tables.append(measure_lotteries(questions, lotteries))
        items = world.items[world.batch.starts[first] : world.batch.starts[last]]
        own = population.groups.T @ np.bincount(
            items, exposure_of(batch, lotteries), minlength=population.groups.shape[0]
        )
        shown += own
        prices = moved(prices, shown, own / (last - first))
    table = np.concatenate(tables)
    deviation = float(np.abs(shown / users - wanted).sum())
    return Measured(float(table[:, 2].mean()), float(table[:, 3].mean()), deviation)
