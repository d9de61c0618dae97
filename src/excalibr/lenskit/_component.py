"""The re-ranker as a LensKit component: scored items in, the calibrated list of the user who asks out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from lenskit.data import Dataset, ItemList, QueryInput, RecQuery
from lenskit.pipeline import Component
from lenskit.random import derivable_rng
from lenskit.training import Trainable, TrainingOptions

from excalibr import methods
from excalibr._options import Options
from excalibr._policy import Policy
from excalibr._problem import Batch, Problem, read_problem
from excalibr._seeds import choose_one, uniform
from excalibr._solver import solve
from excalibr._types import Floats, Integers
from excalibr.errors import ExcalibrError, InputError, TruncationWarning, explain
from excalibr.lenskit._config import CalibratedRerankerConfig
from excalibr.lenskit._learning import Learned, learn
from excalibr.tables._by_name import with_numbers


class CalibratedReranker(Component[ItemList], Trainable):  # type: ignore[misc]
    """Re-ranks a user's candidates so that what is seen matches the categories of the user's history.

    Training reads the categories of the dataset's items and the target of each of its users. A query with history
    items of its own gets the target of those. For one user it gives what :meth:`excalibr.Reranker.rerank` gives.
    Candidates without a finite score, or that the dataset did not have, are left out.

    Give it more candidates than slots: LensKit's own ``RecPipelineBuilder.reranker`` gives the ranker before it the
    same ``n``, and no query. :func:`calibrated_pipeline` wires it as it should be.
    """

    config: CalibratedRerankerConfig
    learned: Learned

    def __init__(self, config: CalibratedRerankerConfig | None = None, **options: Any) -> None:
        super().__init__(config, **options)
        self._draw = derivable_rng(self.config.rng)
        self._by_slots: dict[int, Options] = {}
        self._warned = False

    def train(self, data: Dataset, options: TrainingOptions | None = None) -> None:
        """Read the categories of items and the targets of users."""
        if hasattr(self, "learned") and options is not None and not options.retrain:
            return
        self.learned = learn(data, self.config)
        items = self.learned.items
        self._options = with_numbers(self.config.reranker(), items)
        self._by_slots = {}

    def __call__(self, items: ItemList, query: QueryInput = None, n: int | None = None) -> ItemList:
        """The calibrated list.

        Parameters
        ----------
        items
            Candidates with scores, more than ``n``, in any order.
        query
            Who asks: a user, or a query with history items.
        n
            How many items to show; None or a negative number: the configured ``n``.
        """
        asked, given = RecQuery.create(query), items.scores()
        if not hasattr(self, "learned"):
            raise InputError("CalibratedReranker", "is not trained", "be trained", "call train(dataset) first.")
        if given is None:
            raise InputError("items", "have no scores", "have a score each", "wire them to a scorer.")
        scores = given.astype(np.float64)
        chosen, places = self._candidates(items, scores)
        slots = self._slots(n, len(chosen))
        if not min(slots, len(chosen)):
            return ItemList(items[chosen[:0]], ordered=True)
        return _list_of(items, given, chosen[self._ranking(scores[chosen], places, slots, asked)])

    def _candidates(self, items: ItemList, scores: Floats) -> tuple[Integers, Integers]:
        """The items that can be ranked, in the order of their ids so that ties go as in tables, and their places."""
        places = self.learned.places_of(items)
        order = np.argsort(places)
        usable = (places >= 0) & np.isfinite(scores)
        order = order if usable.all() else order[usable[order]]
        return order, places[order]

    def _slots(self, n: int | None, candidates: int) -> int:
        """How many items to show at most; a warning, once, where that leaves nothing to choose."""
        asked = self.config.n if n is None or n < 0 else n
        if not self._warned and candidates > 1 and (asked is None or asked >= candidates):
            self._warned = True
            hint = "a ranker before it should keep more: see excalibr.lenskit.calibrated_pipeline."
            found = f"has {candidates} candidates for {'all' if asked is None else asked} slots"
            warnings.warn(explain("CalibratedReranker", found, "have more than slots", hint), TruncationWarning, 4)
        return candidates if asked is None else asked

    def _ranking(self, scores: Floats, places: Integers, slots: int, query: RecQuery) -> Any:
        """The ranking that is drawn, or the order by score where the user has no target."""
        k = min(slots, len(scores))
        options = self._options_of(k if isinstance(self.config.position_weights, str) else slots)
        target = self.learned.target_of(query.user_id, query.history_items, self.config.weight)
        if target is None:
            return self._fall_back(scores, k, _why_no_target(query))
        try:
            policy = self._policy(scores, places, target, options)
        except ExcalibrError as error:
            return self._fall_back(scores, k, str(error))
        return self._drawn(policy, query)

    def _options_of(self, slots: int) -> Options:
        """The options for so many slots, of which weights that are not named have one each."""
        options = self._by_slots.get(slots)
        if options is None:
            options = self._by_slots[slots] = replace(self._options, k=slots)
        return options

    def _policy(self, scores: Floats, places: Integers, target: Floats, options: Options) -> Policy:
        problem = self._problem(scores, places, target, options)
        return solve(problem) if options.method == "excalibr" else methods.apply(options.method, problem)

    def _problem(self, scores: Floats, places: Integers, target: Floats, options: Options) -> Problem:
        items = self.learned.items
        if not items.attributes and isinstance(options.position_weights, str):
            return read_problem(scores, self.learned.rows_of(places), target, options)
        batch = Batch.of(
            *(scores, np.array([0, len(scores)]), items.rows, target[None]),
            items=places,
            options=options,
            attributes=items.attributes,
        )
        return batch.problem(0)

    def _drawn(self, policy: Policy, query: RecQuery) -> Any:
        """A ranking of the lottery, by LensKit's rules for seeds."""
        rng = self.config.rng
        if len(policy.weights) == 1:
            return policy.rankings[0]
        by_user = isinstance(rng, tuple) and isinstance(rng[0], int) and query.user_id is not None
        drawn = uniform(rng[0], query.user_id) if by_user else float(self._draw(query).random())
        return policy.rankings[choose_one(policy.weights.tolist(), drawn)]

    def _fall_back(self, scores: Floats, k: int, why: str) -> Any:
        """The order by score, nothing, or an error, as configured."""
        if self.config.fallback == "error":
            raise InputError("query", why, "be of a user who can be calibrated", "see fallback.")
        kept = 0 if self.config.fallback == "nothing" else k
        return np.argsort(-scores, kind="stable")[:kept]


def _why_no_target(query: RecQuery) -> str:
    """What a query lacks for a target, in words."""
    if query.history_items is not None:
        return "has a history without an item of the dataset"
    return "names no user" if query.user_id is None else f"is of user {query.user_id!r}, who has no history"


def _list_of(items: ItemList, scores: Any, shown: Any) -> ItemList:
    """Some items of a list in order, with all that the list has of them."""
    vocabulary = items.vocabulary
    if vocabulary is None or len(items.arrow_types(ids=False, ranks=False)) > 1:
        return ItemList(items[shown], ordered=True)
    numbers = items.numbers(missing="negative")[shown]  # a list of numbers and scores, in a third of the time
    return ItemList(item_nums=numbers, vocabulary=vocabulary, scores=scores[shown], ordered=True)
