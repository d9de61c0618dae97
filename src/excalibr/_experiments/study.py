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
from excalibr._experiments.given import GivenScores
from excalibr._experiments.plan import Plan, Setting
from excalibr._experiments.scoring import FURTHER, Tell, among, best_of, fit_candidates
from excalibr._experiments.sources import Source
from excalibr._sparse import SparseRows, build_rows
from excalibr._types import Booleans, Floats, Integers
from excalibr.datasets import Interactions, Split, split_users
from excalibr.errors import InputError, explain
from excalibr.metrics import HeldOut
from excalibr.models._ranking import TopItems

__all__ = ["Study", "StudyAttribute", "check_plan", "from_scores", "prepare", "split_for"]


@dataclass(frozen=True, slots=True, eq=False)
class StudyAttribute:
    """An attribute's item × category shares, and each test user's target, (users, r)."""

    name: str
    categories: tuple[str, ...]
    matrix: SparseRows
    targets: Floats

    @property
    def one_hot(self) -> bool:
        """Whether every item has one category only."""
        return bool((np.diff(self.matrix.indptr) == 1).all())


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
    popularity
        (items,) the share of training users that like each item of the catalogue.
    facts
        Of the data set, by name, to be printed.
    tuning
        Regularisation → NDCG of the validation users.
    min_item_count
        Items that fewer users like were left out.
    """

    name: str
    user_ids: NDArray[Any]
    items: Integers
    scores: Floats
    relevant: Booleans
    totals: Integers
    order: Integers
    popularity: Floats
    attributes: dict[str, StudyAttribute]
    facts: dict[str, str]
    tuning: dict[float, float]
    min_item_count: int

    def __len__(self) -> int:
        return len(self.user_ids)

    @property
    def regularisation(self) -> float:
        """The one that was chosen, of equals the smallest; nan where scores were given."""
        return best_of(self.tuning)

    @property
    def fitted(self) -> dict[str, Any]:
        """What a plan must ask for to have these candidates again: where the grid was left at its edge, the best."""
        tried = tuple(sorted(self.tuning))
        inside = len(tried) == 1 or tried[:1] < (self.regularisation,) < tried[-1:]
        found = {"regularisations": tried if inside else (self.regularisation,)} if tried else {}
        return {"min_item_count": self.min_item_count, **found}

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
        words: dict[str, Any] = {"name": self.name, "facts": self.facts, "tuning": list(self.tuning.items())}
        words["min_item_count"] = self.min_item_count
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
        told = {name: words[name] for name in ("name", "facts", "min_item_count")}
        return cls(attributes=attributes, tuning=dict(words["tuning"]), **told, **arrays)


_ARRAYS = ("user_ids", "items", "scores", "relevant", "totals", "order", "popularity")
_PARTS = ("data", "indices", "indptr", "targets")


def prepare(source: Source, plan: Plan, tell: Tell = lambda *_: None, further: int = FURTHER) -> Study:
    """Split the users, tune and fit EASE without the test users, and score the test users' candidates.

    ``further`` is how many regularisations may be tried beyond an end of the grid.
    """
    split = split_for(source, plan)
    users = _some(len(split.test.history.user_ids), plan)
    history, hidden = split.test.history.of_users(users), split.test.held_out.of_users(users)
    n = max(setting.candidates for setting in plan.settings)
    fit = fit_candidates(split, history, n, plan.regularisations, tell, further)
    counts = split.train.counts
    facts = {**source.facts, **dict(_split_facts(split, len(users)))}
    return _study(source, plan, history, hidden, fit.top, counts, len(split.train.user_ids), facts, fit.tuning)


def check_plan(source: Source, plan: Plan) -> None:
    """Everything that can be known before the fit: names, times, and room for the candidates."""
    plan.chosen([each.name for each in source.attributes(source.liked.counts)])
    n = max(setting.candidates for setting in plan.settings)
    if source.given is not None:
        _check_given(source.given, n)
        return
    if plan.split == "time" and not source.liked.timestamps.any():
        hint = "name the column with --timestamp-column, or split at random."
        raise InputError(explain("split", "is 'time', and the ratings have no times", "be 'random'", hint))
    split = split_for(source, plan)
    left = len(source.liked.item_ids) - int(np.diff(split.test.history.indptr).max())
    if left < n:
        found = f"asks for {n} candidates, and a user has {left} items outside the history"
        raise InputError(explain("settings", found, f"ask for at most {left}", _hint_of_settings(left)))


def _check_given(given: GivenScores, n: int) -> None:
    if not len(given.with_enough(n)):
        most = int(given.sizes.max())
        found = f"asks for {n} candidates, and no user has more than {most} with scores"
        raise InputError(explain("settings", found, f"ask for at most {most}", _hint_of_settings(most)))


def _hint_of_settings(most: int) -> str:
    return f"pass --settings {most}/{min(10, most)}."


def split_for(source: Source, plan: Plan) -> Split:
    """The users, split; as many test users as are asked, up to a fifth of all where a tenth, the paper's, has fewer."""
    users = len(source.liked.user_ids)
    test = max(1, min(5000, users // 10), min(plan.users, users // 5))
    return split_users(source.liked, test=test, seed=plan.seed, by=plan.split)


def from_scores(source: Source, plan: Plan) -> Study:
    """The same with candidates, scores and held-out items that were given."""
    given = source.given
    assert given is not None
    n = max(setting.candidates for setting in plan.settings)
    enough = given.with_enough(n)
    users = enough[_some(len(enough), plan)]
    top = given.top(users, n)
    history, hidden = given.history.of_users(users), given.held_out.of_users(users)
    told = f"users with scores, of whom with {n} candidates, of whom re-ranked"
    facts = {**source.facts, told: f"{len(given.sizes):,}, {len(enough):,}, {len(users):,}"}
    return _study(source, plan, history, hidden, top, source.liked.counts, len(source.liked.user_ids), facts, {})


def _study(
    source: Source,
    plan: Plan,
    history: Interactions,
    hidden: Interactions,
    top: TopItems,
    counts: Integers,
    trained: int,
    facts: dict[str, str],
    tuning: dict[float, float],
) -> Study:
    every = source.attributes(counts)
    names = plan.chosen([each.name for each in every])
    chosen = [each for each in every if each.name in names]
    return Study(
        name=source.name,
        user_ids=_ids(history.user_ids),
        items=top.items,
        scores=top.scores.astype(np.float64),
        relevant=among(hidden.matrix, top.items),
        totals=np.diff(hidden.indptr),
        order=np.argsort(seeds.uniforms(plan.seed, "sample", len(history.user_ids)), kind="stable"),
        popularity=counts / max(trained, 1),
        attributes={
            each.name: StudyAttribute(
                each.name, each.categories, each.matrix, targets.histories(each.matrix, history.matrix)
            )
            for each in chosen
        },
        facts={**facts, **{f"values of {each.name}": f"{len(each.categories)}" for each in every}},
        tuning=tuning,
        min_item_count=plan.min_item_count,
    )


def _some(available: int, plan: Plan) -> Integers:
    """Rows of the test users that are taken: fewer of them are part of more."""
    order = np.argsort(seeds.uniforms(plan.seed, "test users", available), kind="stable")
    return np.sort(order[: plan.users])


def _ids(user_ids: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as they are, and texts for anything else: what a file can hold without pickles."""
    return user_ids.astype(np.int64) if user_ids.dtype.kind in "iu" else user_ids.astype(np.str_)


def _split_facts(split: Split, users: int) -> Iterator[tuple[str, str]]:
    yield "training users", f"{len(split.train.user_ids):,}"
    yield "validation users", f"{len(split.validation.history.user_ids):,}"
    yield "test users, of whom re-ranked", f"{len(split.test.history.user_ids):,}, {users:,}"
