"""What the demo shows: one user's slate by score alone, the calibrated lottery, and one draw from it, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import numpy as np

import excalibr
from excalibr._policy import Policy
from excalibr._types import Integers
from excalibr.datasets import Candidates, Catalogue, Film

__all__ = ["Comparison", "Entry", "compare", "percent"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A film of a slate: its slot, counted from 1, and its slot in the other slate, None where it is not there."""

    film: Film
    slot: int
    other: int | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """One user before and after; ``before`` and ``shown`` are single rankings, ``after`` is the lottery."""

    user: str
    catalogue: Catalogue
    candidates: Candidates
    before: Policy
    after: Policy
    shown: Policy

    @property
    def old_entries(self) -> list[Entry]:
        """The slate by score alone, with where each film went."""
        return self._entries(self.before.rankings[0], self.shown.rankings[0])

    @property
    def new_entries(self) -> list[Entry]:
        """The slate that was drawn, with where each film was."""
        return self._entries(self.shown.rankings[0], self.before.rankings[0])

    def kept(self, policy: Policy) -> float:
        """Share of the old slate's relevance that a policy keeps."""
        return policy.relevance / self.before.relevance

    def removed(self, policy: Policy) -> float:
        """Share of the old slate's deviation that a policy removes; nan where there was none."""
        return 1.0 - policy.deviation / self.before.deviation if self.before.deviation else float("nan")

    def _entries(self, ranking: Integers, other: Integers) -> list[Entry]:
        slots = {int(candidate): slot for slot, candidate in enumerate(other, 1)}
        return [
            Entry(self.catalogue.films[self.candidates.films[candidate]], slot, slots.get(int(candidate)))
            for slot, candidate in enumerate(ranking, 1)
        ]


def compare(catalogue: Catalogue, user: str, *, k: int, trade_off: float) -> Comparison:
    """Re-rank a user's candidates and draw the ranking that belongs to the user and the catalogue's seed."""
    candidates = catalogue.candidates(user)
    after = excalibr.calibrate(candidates.scores, candidates.categories, candidates.target, k=k, trade_off=trade_off)
    by_score = np.arange(k)  # candidates come best score first
    before = _single(after, by_score)
    shown = _single(after, after.sample(seed=catalogue.seed, key=user))
    return Comparison(user, catalogue, candidates, before, after, shown)


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.961), percent(float("nan"))
    ('96.1 %', '–')
    """
    return "–" if isnan(share) else f"{100 * share:.1f} %"


def _single(policy: Policy, ranking: Integers) -> Policy:
    """A policy that always shows this ranking."""
    return Policy(policy.problem, rankings=ranking[None, :], weights=np.ones(1), method="one ranking")
