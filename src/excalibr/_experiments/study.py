"""The data made ready: EASE tuned on validation users; of test users candidates, targets and held-out items."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excalibr import _seeds as seeds
from excalibr import targets
from excalibr._experiments.arms import Question
from excalibr._experiments.plan import Plan, Setting
from excalibr._experiments.sources import Source
from excalibr._sparse import SparseRows, build_rows
from excalibr._types import Booleans, Floats, Integers
from excalibr.datasets import HeldOutUsers, split_users
from excalibr.errors import InputError, explain
from excalibr.metrics import HeldOut
from excalibr.models import EASE

__all__ = ["Study", "StudyAttribute", "prepare"]

_JUDGED = 100  # the regularisation is chosen by NDCG at so many slots, as in the paper


@dataclass(frozen=True, slots=True, eq=False)
class StudyAttribute:
    """An attribute's item × category shares, and each test user's target, (users, r)."""

    name: str
    categories: tuple[str, ...]
    matrix: SparseRows
    targets: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """All that the arms need, and nothing of the data beyond it.

    Attributes
    ----------
    user_ids
        (users,) test users.
    items, scores
        (users, n) the best items outside each history, best first, and their scores.
    relevant
        (users, n) which of them were held out.
    totals
        (users,) how many were held out.
    order
        (users,) the users at random: a sample of m are the first m.
    attributes
        What is calibrated on.
    facts
        Of the data set, by name, to be printed.
    tuning
        Regularisation → NDCG of the validation users.
    """

    name: str
    user_ids: NDArray[Any]
    items: Integers
    scores: Floats
    relevant: Booleans
    totals: Integers
    order: Integers
    attributes: dict[str, StudyAttribute]
    facts: dict[str, str]
    tuning: dict[float, float]

    def __len__(self) -> int:
        return len(self.user_ids)

    @property
    def regularisation(self) -> float:
        """The one that was chosen; of equals the smallest."""
        return max(sorted(self.tuning), key=lambda value: self.tuning[value])

    def sample(self, size: int) -> Integers:
        """Rows of a sample of the users, rising; a smaller sample is part of a larger one."""
        return np.sort(self.order[:size])

    def question(self, user: int, attribute: str, setting: Setting) -> Question:
        """What is asked for one user."""
        of = self.attributes[attribute]
        rows = of.matrix[self.items[user, : setting.candidates]]
        return Question(self.scores[user, : setting.candidates], rows, of.targets[user], setting.slots)

    def held_out(self, user: int, setting: Setting) -> HeldOut:
        """What the user went on to like."""
        return HeldOut(self.relevant[user, : setting.candidates], int(self.totals[user]))

    def save(self, path: Path) -> None:
        """Write it to a file of arrays."""
        words = {"name": self.name, "facts": self.facts, "tuning": list(self.tuning.items())}
        words["attributes"] = [[each.name, each.categories] for each in self.attributes.values()]
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        for number, each in enumerate(self.attributes.values()):
            parts = (each.matrix.data, each.matrix.indices, each.matrix.indptr, each.targets)
            arrays |= {f"{part}_{number}": array for part, array in zip(_PARTS, parts, strict=True)}
        with path.open("wb") as file:
            np.savez(file, words=np.array(json.dumps(words)), **arrays)

    @classmethod
    def load(cls, path: Path) -> Study:
        """Read what :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            words = json.loads(str(stored["words"]))
            attributes = {}
            for number, (name, categories) in enumerate(words["attributes"]):
                data, indices, indptr, wanted = (stored[f"{part}_{number}"] for part in _PARTS)
                matrix = build_rows(data, indices, indptr, len(categories))
                attributes[name] = StudyAttribute(name, tuple(categories), matrix, wanted)
            arrays = {name: stored[name] for name in _ARRAYS}
        return cls(
            name=words["name"], attributes=attributes, facts=words["facts"], tuning=dict(words["tuning"]), **arrays
        )


_ARRAYS = ("user_ids", "items", "scores", "relevant", "totals", "order")
_PARTS = ("data", "indices", "indptr", "targets")


def prepare(source: Source, plan: Plan) -> Study:
    """Split the users, tune and fit EASE without the test users, and score the test users' candidates."""
    split = split_users(source.liked, seed=plan.seed)
    n = max(setting.candidates for setting in plan.settings)
    _check_room(source, split.test, n)
    tuning: dict[float, float] = {}
    best: EASE | None = None
    for model in EASE.fit_many(split.train.matrix, plan.regularisations):
        tuning[model.regularisation] = _validation_ndcg(model, split.validation)
        if best is None or tuning[model.regularisation] > tuning[best.regularisation]:
            best = model
    assert best is not None
    users = _some(len(split.test.history.user_ids), plan)
    history, hidden = split.test.history.of_users(users), split.test.held_out.of_users(users)
    top = best.top(history.matrix, n)
    chosen = source.attributes(split.train.counts)
    names = plan.chosen([each.name for each in chosen])
    return Study(
        name=source.name,
        user_ids=_ids(history.user_ids),
        items=top.items,
        scores=top.scores.astype(np.float64),
        relevant=_among(hidden.matrix, top.items),
        totals=np.diff(hidden.indptr),
        order=np.argsort(seeds.uniforms(plan.seed, "sample", len(users)), kind="stable"),
        attributes={
            each.name: StudyAttribute(
                each.name, each.categories, each.matrix, targets.histories(each.matrix, history.matrix)
            )
            for each in chosen
            if each.name in names
        },
        facts={**source.facts, **dict(_split_facts(split, len(users), chosen))},
        tuning=tuning,
    )


def _check_room(source: Source, users: HeldOutUsers, n: int) -> None:
    left = len(source.liked.item_ids) - int(np.diff(users.history.indptr).max())
    if left < n:
        found = f"asks for {n} candidates, and a user has {left} items outside the history"
        raise InputError(explain("settings", found, f"ask for at most {left}", f"pass --settings {left}/10."))


def _some(available: int, plan: Plan) -> Integers:
    """Rows of the test users that are taken: fewer of them are part of more."""
    order = np.argsort(seeds.uniforms(plan.seed, "test users", available), kind="stable")
    return np.sort(order[: plan.users])


def _validation_ndcg(model: EASE, users: HeldOutUsers) -> float:
    """Mean NDCG@100 of plain relevance, or at as many slots as there are items for every user."""
    slots = min(_JUDGED, model.items - int(np.diff(users.history.indptr).max()))
    hits = _among(users.held_out.matrix, model.top(users.history.matrix, slots).items)
    discounts = 1.0 / np.log2(np.arange(2.0, slots + 2.0))
    ideals = np.cumsum(discounts)[np.minimum(np.diff(users.held_out.indptr), slots) - 1]
    return float((hits @ discounts / ideals).mean())


def _among(hidden: SparseRows, items: Integers) -> Booleans:
    """(users, n): which of each user's candidates are in the user's row."""
    rows = [np.isin(items[user], hidden.indices[start:stop]) for user, start, stop in _spans(hidden)]
    return np.array(rows, dtype=np.bool_).reshape(items.shape)


def _spans(rows: SparseRows) -> Iterator[tuple[int, int, int]]:
    return ((row, int(rows.indptr[row]), int(rows.indptr[row + 1])) for row in range(rows.shape[0]))


def _ids(user_ids: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as they are, and texts for anything else: what a file can hold without pickles."""
    return user_ids.astype(np.int64) if user_ids.dtype.kind in "iu" else user_ids.astype(np.str_)


def _split_facts(split: Any, users: int, attributes: list[Any]) -> Iterator[tuple[str, str]]:
    yield "training users", f"{len(split.train.user_ids):,}"
    yield "validation users", f"{len(split.validation.history.user_ids):,}"
    yield "test users, of whom re-ranked", f"{len(split.test.history.user_ids):,}, {users:,}"
    for each in attributes:
        yield f"values of {each.name}", f"{len(each.categories)}"
