"""The data made ready: EASE tuned on validation users; of test users candidates, targets and held-out items."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excalibr import _seeds as seeds
from excalibr import targets
from excalibr._experiments.arms import ARMS, Question
from excalibr._experiments.plan import Plan, PlanPart, Setting
from excalibr._experiments.scoring import FURTHER, Progress, best_of, fit_candidates, is_held_out
from excalibr._experiments.sources import Source
from excalibr._sparse import build_rows
from excalibr._types import Booleans, Floats, Integers
from excalibr.datasets import Attribute, Split, split_users
from excalibr.errors import InputError
from excalibr.metrics import HeldOut


@dataclass(frozen=True, slots=True, eq=False)
class StudyAttribute(Attribute):
    """An attribute with each test user's target."""

    targets: Floats  # (users, r)

    @property
    def one_hot(self) -> bool:
        """Whether every item has one category only."""
        return bool((np.diff(self.matrix.indptr) == 1).all())


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """All that the arms need, and nothing of the data beyond it."""

    name: str
    user_ids: NDArray[Any]  # (users,) test users
    items: Integers  # (users, n) the best items outside each history, best first
    scores: Floats  # (users, n) theirs
    relevant: Booleans  # (users, n) which of them were held out
    totals: Integers  # (users,) how many were held out
    order: Integers  # (users,) the users at random: a sample of m are the first m
    popularity: Floats  # (items,) the share of training users that like each item of the catalogue
    attributes: dict[str, StudyAttribute]  # what is calibrated on
    facts: dict[str, str]  # of the data set, by name, to be printed
    tuning: dict[float, float]  # regularisation → NDCG of the validation users
    min_item_count: int  # items that fewer users like were left out

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

    def users_of(self, plan: Plan, part: PlanPart) -> Integers:
        """Rows of the users that a part is run on."""
        users = min(plan.users, len(self))
        mixed = not self.attributes[part.attribute].one_hot  # one category per item: no branch and bound for a set
        slow = {"sample": not part.setting.is_short, "mip_users": mixed}
        sample = ARMS[part.arm].sample
        return self.sample(min(users, getattr(plan, sample)) if slow.get(sample) else users)

    def question(self, user: int, attribute: str, setting: Setting) -> Question:
        of = self.attributes[attribute]
        rows = of.matrix[self.items[user, : setting.candidates]]
        return Question(self.scores[user, : setting.candidates], rows, of.targets[user], setting.slots)

    def held_out(self, user: int, setting: Setting) -> HeldOut:
        """What the user went on to like."""
        return HeldOut(self.relevant[user, : setting.candidates], int(self.totals[user]))

    def save(self, path: Path) -> None:
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
        with np.load(path, allow_pickle=False) as stored:
            words = json.loads(str(stored["words"]))
            attributes = {}
            for number, (name, categories) in enumerate(words["attributes"]):
                data, indices, indptr, wanted = (stored[f"{part}_{number}"] for part in _PARTS)
                matrix = build_rows(data, indices, indptr, len(categories))
                attributes[name] = StudyAttribute(name, tuple(categories), matrix, wanted)
            arrays = {name: stored[name] for name in _ARRAYS}
        others = {name: words[name] for name in ("name", "facts", "min_item_count")}
        return cls(attributes=attributes, tuning=dict(words["tuning"]), **others, **arrays)


_ARRAYS = ("user_ids", "items", "scores", "relevant", "totals", "order", "popularity")
_PARTS = ("data", "indices", "indptr", "targets")


def prepare(source: Source, plan: Plan, progress: Progress = lambda *_: None, further: int = FURTHER) -> Study:
    """Candidates of the test users: those that were given, or by EASE, tuned and fitted without these users.

    ``further`` is how many regularisations may be tried beyond an end of the grid.
    """
    n, given = max(setting.candidates for setting in plan.settings), source.given
    if given is not None:
        trained, tuning = source.liked, dict[float, float]()
        enough = np.flatnonzero(given.sizes >= n)
        users = enough[_drawn_users(len(enough), plan)]
        history, hidden, top = given.history.of_users(users), given.held_out.of_users(users), given.top(users, n)
        counted = f"users with scores, of whom with {n} candidates, of whom re-ranked"
        facts = {counted: f"{len(given.sizes):,}, {len(enough):,}, {len(users):,}"}
    else:
        split = split_for(source, plan)
        trained, tested = split.train, len(split.test.history.user_ids)
        users = _drawn_users(tested, plan)
        history, hidden = split.test.history.of_users(users), split.test.held_out.of_users(users)
        top, tuning = fit_candidates(split, history, n, plan.regularisations, progress, further)
        facts = {
            "training users": f"{len(trained.user_ids):,}",
            "validation users": f"{len(split.validation.history.user_ids):,}",
            "test users, of whom re-ranked": f"{tested:,}, {len(users):,}",
        }
    every = source.attributes(trained.counts)
    names = plan.chosen([each.name for each in every])
    chosen = [
        StudyAttribute(each.name, each.categories, each.matrix, targets.histories(each.matrix, history.matrix))
        for each in every
        if each.name in names
    ]
    whole_numbers = history.user_ids.dtype.kind in "iu"
    return Study(
        name=source.name,
        user_ids=history.user_ids.astype(np.int64 if whole_numbers else np.str_),  # a file has them without pickles
        items=top.items,
        scores=top.scores.astype(np.float64),
        relevant=is_held_out(hidden.matrix, top.items),
        totals=np.diff(hidden.indptr),
        order=np.argsort(seeds.uniforms(plan.seed, "sample", len(users)), kind="stable"),
        popularity=trained.counts / max(len(trained.user_ids), 1),
        attributes={each.name: each for each in chosen},
        facts={**source.facts, **facts, **{f"values of {each.name}": f"{len(each.categories)}" for each in every}},
        tuning=tuning,
        min_item_count=plan.min_item_count,
    )


def check_plan(source: Source, plan: Plan) -> None:
    """Everything that can be known before the fit: names, times, and room for the candidates."""
    plan.chosen([each.name for each in source.attributes(source.liked.counts)])
    n = max(setting.candidates for setting in plan.settings)
    if source.given is not None:
        most = int(source.given.sizes.max())
        found = f"no user has more than {most} with scores"
    elif plan.split == "time" and not source.liked.timestamps.any():
        hint = "name the column with --timestamp-column, or split at random."
        raise InputError("split", "is 'time', and the ratings have no times", "be 'random'", hint)
    else:
        most = len(source.liked.item_ids) - int(np.diff(split_for(source, plan).test.history.indptr).max())
        found = f"a user has {most} items outside the history"
    if most < n:
        asked, hint = f"asks for {n} candidates, and {found}", f"pass --settings {most}/{min(10, most)}."
        raise InputError("settings", asked, f"ask for at most {most}", hint)


def split_for(source: Source, plan: Plan) -> Split:
    """The users, split; as many test users as are asked, up to a fifth of all where a tenth, the paper's, has fewer."""
    users = len(source.liked.user_ids)
    if users < 3:
        found = f"have {users} users with enough positives"
        raise InputError("the data", found, "have at least three: to train on, to validate and to test")
    test = max(1, min(5000, users // 10), min(plan.users, users // 5))
    return split_users(source.liked, test=test, seed=plan.seed, by=plan.split)


def _drawn_users(available: int, plan: Plan) -> Integers:
    """Rows of the test users that are re-ranked: fewer of them are part of more."""
    order = np.argsort(seeds.uniforms(plan.seed, "test users", available), kind="stable")
    return np.sort(order[: plan.users])
