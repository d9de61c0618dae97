"""The candidates of a request as arrays: found by id, in the order of the items table, what cannot be used counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from excalibr._arrays import run_starts
from excalibr._native import kernel
from excalibr._types import Floats, Integers
from excalibr.service._failures import RequestFailure
from excalibr.service._profiles import Profile
from excalibr.service._requests import Candidate, RankRequest, SeenItem

MAX_SCORE = 1e150
"""The largest score, as :func:`excalibr.calibrate` has it."""


@dataclass(frozen=True, slots=True, eq=False)
class GivenItems:
    """The candidates that can be ranked, by id.

    Attributes
    ----------
    labels, given_scores
        All ids as the request wrote them, and their scores.
    picked
        (n,) which of them the candidates are.
    places
        (n,) the candidates' rows in the items table; −1 for those that the request itself has the categories of.
    scores
        (n,) their scores.
    unknown
        Which ids the table does not have, in the order of the request.
    repeated
        How many ids came again.
    """

    labels: list[Any]
    given_scores: Sequence[float]
    picked: Integers
    places: Integers
    scores: Floats
    unknown: list[int]
    repeated: int


def read_given(request: RankRequest, profile: Profile) -> GivenItems:
    """The candidates of a request but for those shown before; of ids that come twice, the better score counts."""
    given = _read_known(request, profile) or _read_any(request, profile)
    return _without_shown(given, request.shown, profile) if request.shown else given


def _read_known(request: RankRequest, profile: Profile) -> GivenItems | None:
    """The same for most requests, in one pass of the kernel; None where something is out of the ordinary."""
    columns = None if request.categories else columns_of(request)
    if columns is None:
        return None
    labels, scores = columns
    found = kernel.known_candidates(profile.item_ids.table, labels, scores, MAX_SCORE)
    if found is None:
        return None
    picked, places, values, unknown = found
    return GivenItems(labels, scores, picked, places, values, unknown, 0)


def columns_of(request: RankRequest) -> tuple[list[Any], list[Any]] | None:
    """Ids and scores side by side, whatever they are; None where items have fields in place of scores."""
    if request.scores is not None:
        return request.items, request.scores
    try:
        return [each.id for each in request.items], [each.score for each in request.items]  # type: ignore[union-attr]
    except AttributeError:  # an item that is no candidate
        return None


def _read_any(request: RankRequest, profile: Profile) -> GivenItems:
    """The same for any request, or the reason why it cannot be."""
    labels, scores = _columns(request)
    places = np.array(profile.item_ids.find(labels, "$.items"), dtype=np.int64)
    ranks, usable, own = places, places >= 0, own_ids(request, profile)
    if own:
        ids = profile.item_ids.read_all(labels, "$.items")
        ranks, usable = _ranks_by_id(ids), usable | np.array([each in own for each in ids], dtype=np.bool_)
    picked = np.flatnonzero(usable)
    picked = picked[np.lexsort((-scores[picked], ranks[picked]))]
    first = run_starts(ranks[picked])
    unknown, repeated = np.flatnonzero(~usable).tolist(), int((~first).sum())
    picked = picked[first]
    return GivenItems(labels, scores.tolist(), picked, places[picked], scores[picked], unknown, repeated)


def _columns(request: RankRequest) -> tuple[list[Any], Floats]:
    """Ids and scores, from either form of the body."""
    items, scores = request.items, request.scores
    if scores is None:
        values = np.array([_score(each, number) for number, each in enumerate(items)], dtype=np.float64)
        labels, path = [each.id for each in items], "$.items[{}].score"  # type: ignore[union-attr]
    else:
        labels, path = items, "$.scores[{}]"
        if Candidate in set(map(type, items)):
            raise RequestFailure(422, "Items with scores of their own must come without `scores`.", "$.scores")
        if len(scores) != len(items):
            raise RequestFailure(
                422, f"There are {len(scores)} scores, must be {len(items)}, one for each item.", "$.scores"
            )
        values = np.array(scores, dtype=np.float64)
    wide = ~(np.abs(values) <= MAX_SCORE)
    if wide.any():
        at = int(np.argmax(wide))
        raise RequestFailure(422, f"The score {values[at]:g} must be within ±{MAX_SCORE:g}.", path.format(at))
    return labels, values


def _score(item: Any, number: int) -> float:
    if type(item) is not Candidate:
        raise RequestFailure(422, "`scores` is missing: one for each item.", f"$.items[{number}]")
    if item.score is not None:
        return float(item.score)
    for field in item.fields or ():
        if field.name == "relevancy":
            value = field.value
            if type(value) in (int, float):
                try:
                    return float(value)
                except OverflowError:
                    return float("inf")
            raise RequestFailure(422, f"The relevancy {value!r:.80} must be a number.", f"$.items[{number}].fields")
    raise RequestFailure(422, "An item must have a `score`, or a field `relevancy`.", f"$.items[{number}]")


def own_ids(request: RankRequest, profile: Profile) -> set[int | str]:
    """The items that only the request has the categories of."""
    read, known = profile.item_ids.read, profile.item_ids.places
    return {own for label in request.categories or () if (own := read(label, "$.categories")) not in known}


def _without_shown(given: GivenItems, shown: list[Any], profile: Profile) -> GivenItems:
    """The same without items that were shown before, whoever knows their categories."""
    read_all = profile.item_ids.read_all
    seen = set(read_all([each.item if type(each) is SeenItem else each for each in shown], "$.shown"))
    is_new = [each not in seen for each in read_all(given.labels, "$.items")]
    kept = np.array(is_new, dtype=np.bool_)[given.picked]
    return replace(
        given,
        picked=given.picked[kept],
        places=given.places[kept],
        scores=given.scores[kept],
        unknown=[at for at in given.unknown if is_new[at]],
    )


def _ranks_by_id(ids: list[Any]) -> Integers:
    """(items,) the place of each id among all ids of the request, in the order of the table's ids."""
    places = {each: place for place, each in enumerate(sorted(set(ids)))}
    return np.array([places[each] for each in ids], dtype=np.int64)
