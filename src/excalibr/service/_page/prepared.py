"""Some users at the page's choices: a batch for any aim, the order by scores before, and what is lost of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from excalibr._arrays import frozen, spans, starts_of
from excalibr._many_users import Solver, solve_range
from excalibr._policy import Lotteries
from excalibr._problem import Batch, relevance_order
from excalibr._solver import questions_of
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import ExcalibrError
from excalibr.service._page.choices import Aim, Choices, aim_options, reranker_of
from excalibr.service._page.explored import Explored
from excalibr.tables import Reranker
from excalibr.tables._by_name import with_numbers


@dataclass(frozen=True, eq=False)
class Prepared:
    """Users whose question is checked but for the aim.

    Attributes
    ----------
    explored, reranker
        What is explored, and how to rank.
    users, candidates
        Numbers of the users in the tables, and where their candidates are there.
    batch
        Their questions at any aim.
    """

    explored: Explored
    reranker: Reranker
    users: Integers
    candidates: Integers
    batch: Batch

    def at(self, aim: Aim) -> Batch:
        """The questions at an aim."""
        options = replace(self.batch.options, **aim_options(aim))
        trade_offs = frozen(np.full(len(self.users), options.asked_trade_off))
        _ = self.batch.memberships, self.batch.scores  # computed once, for all aims
        made = replace(self.batch, options=options, trade_offs=trade_offs)
        vars(made).update({name: value for name, value in vars(self.batch).items() if name not in vars(made)})
        return made

    def solver(self, batch: Batch) -> Solver:
        """What solves the questions at an aim, with the prices of groups where there are some."""
        prices = self.explored.prices
        if prices is None:
            return Solver.of(batch)
        keys = [self.explored.keys[user] for user in self.users.tolist()]
        return prices.solver(batch, self.explored.places[self.candidates], keys)

    def message(self, number: int, error: ExcalibrError) -> str:
        """What an error of one of the users says, with the user's id in place of the number."""
        key = self.explored.keys[int(self.users[number])]
        return self.explored.named(str(error).replace(f"user {number}:", f"user {key!r}:", 1))

    @cached_property
    def before(self) -> Lotteries:
        """The order by scores of each user, as a lottery of one ranking."""
        questions = questions_of(self.batch, solve=False, fall_back=True)
        return solve_range(self.batch, questions, 0, len(self.users))

    @cached_property
    def was_shown(self) -> Booleans:
        """(N,) which candidates are in it."""
        shown = np.zeros(len(self.candidates), dtype=bool)
        slots = np.where(self.before.counts > 0, self.batch.slots, 0)
        shown[self.before.places + np.repeat(self.batch.starts[:-1], slots)] = True
        return shown

    @cached_property
    def worst(self) -> Floats:
        """(users,) the least relevance that a ranking can have, for users with scores of 0 and less; else 1."""
        worst = np.ones(len(self.users))
        starts, scores = self.batch.starts, self.batch.scores
        owners = np.repeat(np.arange(len(self.users)), np.diff(starts))
        low = np.bincount(owners[scores <= 0.0], minlength=len(self.users)) > 0
        for user in np.flatnonzero(low & self.batch.good).tolist():
            problem = self.batch.problem(user)
            order = relevance_order(problem, -problem.scores)[: problem.k]
            worst[user] = float(problem.scores[order] @ problem.position_weights)
        return worst

    def kept(self, own: slice, before: Floats, after: Floats) -> Floats:
        """The part of some users' relevance that is kept, as :attr:`Explanation.relevance_kept` counts it."""
        worst = self.worst[own]
        whole = np.where(worst > 0.0, before, before - worst)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole > 0.0, 1.0 - (before - after) / whole, 1.0)


def prepare(explored: Explored, choices: Choices, users: Integers) -> Prepared:
    """Check the questions of some users; what is wrong with the choices is an error in the library's words."""
    reranker = reranker_of(explored, choices)
    candidates = explored.candidates_of(users)
    starts = starts_of(explored.starts[users + 1] - explored.starts[users])
    wanted, items = explored.wanted, explored.items
    batch = Batch.of(
        explored.scores[candidates],
        starts,
        items.rows.of(explored.places[candidates]),
        wanted.targets.of(users),
        options=with_numbers(reranker, items),
        attributes=items.attributes,
        pinned=_pins(explored, choices, candidates, starts),
    ).with_statuses(wanted.statuses[users])
    return Prepared(explored, reranker, users, candidates, batch)


def _pins(
    explored: Explored, choices: Choices, candidates: Integers, starts: Integers
) -> Mapping[int, Mapping[int, int]] | None:
    """The pinned item of those users who have it among their candidates."""
    pin = choices.pinned
    if pin is None:
        return None
    found = np.flatnonzero(explored.places[candidates] == pin.item)
    owners = np.searchsorted(starts, found, side="right") - 1
    return {int(owner): {pin.rank - 1: int(place - starts[owner])} for owner, place in zip(owners, found, strict=True)}


def places_of(slots: Integers, counts: Integers) -> tuple[Integers, Integers, Integers]:
    """For each place of each ranking: whose it is, which ranking (of all), and its rank from 0.

    ``slots`` and ``counts`` are each user's; users without a ranking have a count of 0.
    """
    each = np.repeat(slots, counts)
    owners = np.repeat(np.repeat(np.arange(len(slots)), counts), each)
    return owners, np.repeat(np.arange(len(each)), each), spans(np.zeros(len(each), dtype=np.int64), each)
