"""From a request to a policy: the profile's arrays and the request's as one problem, solved as ``calibrate`` solves it.

Most requests need nothing but scores, rows and a target, which are gathered from arrays that were checked when the
profile was loaded. Limits, pins, earlier pages, other methods and items of the request's own are read as ``calibrate``
reads them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr import methods
from excalibr._batch import Status
from excalibr._batch.answers import problem_of
from excalibr._batch.checked import OwnProblem
from excalibr._calibration import DEFAULT_TRADE_OFF
from excalibr._options import AIMS, Settings
from excalibr._policy import Policy
from excalibr._problem import Band, Problem, Shown, Terms, relevance_order
from excalibr._problem.checks import read_target
from excalibr._problem.reading import SMOOTHINGS, CategoryReader, read_common_weights
from excalibr._solver import Aim, solve
from excalibr._types import Floats, Integers
from excalibr.errors import ExcalibrError
from excalibr.positions import raw_weights
from excalibr.service._candidates import Given
from excalibr.service._failures import Failure
from excalibr.service._own_items import rows_of
from excalibr.service._profiles import Profile
from excalibr.service._requests import RankRequest, Seen
from excalibr.service._targets import Wanted

__all__ = ["Asked", "Ranked", "asked_of", "rank"]

OVERRIDES = ("k", "trade_off", "relevance_loss", "max_deviation", "divergence", "draws", "max_sorts")
"""Options of a profile that a request may have of its own."""

KEPT_ASKED = 256
"""So many combinations of overrides are remembered."""


@dataclass(frozen=True, eq=False)
class Asked:
    """How to rank for one request: the profile's settings with the request's own.

    ``lean`` says that nothing but scores, rows and a target is needed, ``plain`` that it is the paper's program.
    """

    settings: Settings
    aim: Aim
    lean: bool
    plain: bool
    weights: Floats
    slots: dict[int, Floats]

    def position_weights(self, k: int) -> Floats:
        """Of k slots, computed once."""
        found = self.slots.get(k)
        if found is None:
            if len(self.slots) >= KEPT_ASKED:
                self.slots.clear()
            found = self.slots[k] = self.settings.weights_of(k)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A policy over the candidates, how they were ranked, and the reason where they were not calibrated.

    ``picked`` are the candidates as places in the request, ``scores`` theirs as the request has them.
    """

    policy: Policy | None
    status: Status
    reason: str | None
    picked: Integers
    scores: Floats


def asked_of(profile: Profile, request: RankRequest) -> Asked:
    """The profile's settings with the request's own; a combination is checked once."""
    key = tuple(getattr(request, name) for name in OVERRIDES)
    found: Asked | None = profile.asked.get(key)
    if found is None:
        if len(profile.asked) >= KEPT_ASKED:
            profile.asked.clear()
        found = profile.asked[key] = _asked(profile, dict(zip(OVERRIDES, key, strict=True)))
    return found


def _asked(profile: Profile, own: dict[str, Any]) -> Asked:
    given = {name: value for name, value in own.items() if value is not None}
    if any(name in given for name in AIMS):
        given = dict.fromkeys(AIMS) | given
    try:
        settings = dataclasses.replace(profile.settings, **given)
    except ExcalibrError as error:
        raise Failure(422, str(error), f"$.{next(name for name in own if own[name] is not None)}") from error
    aim = Aim(draws=settings.draws)
    if settings.relevance_loss is not None:
        aim = Aim("relevance_loss", float(settings.relevance_loss), settings.draws)
    elif settings.max_deviation is not None:
        aim = Aim("max_deviation", float(settings.max_deviation), settings.draws)
    beyond = (settings.floors, settings.caps, settings.max_per_category, settings.normalise)
    lean = settings.method == "excalibr" and not settings.relative and all(each is None for each in beyond)
    weighed = settings.category_weights is not None or settings.attribute_weights is not None
    plain = settings.divergence == "l1" and not profile.attributes and not weighed
    by_category = CategoryReader(profile.attributes, profile.rows.n_categories)
    weights = read_common_weights(settings.category_weights, settings.attribute_weights, by_category)
    return Asked(settings, aim, lean, plain, weights, {})


def rank(profile: Profile, asked: Asked, request: RankRequest, given: Given, wanted: Wanted) -> Ranked:
    """The policy for these candidates and this target; where there is none, their order by score if that is wanted."""
    status, reason, problem = wanted.status, None, None
    if not len(given.picked):
        return Ranked(None, Status.NO_CANDIDATES, None, given.picked, given.scores)
    special = not asked.lean or request.shown or request.pinned or (given.places < 0).any()
    if special:
        return _rank_specially(profile, asked, request, given, wanted)
    problem = _problem(profile, asked, given, wanted)
    if status == Status.OK:
        try:
            policy = solve(problem, asked.settings.limits(), asked.aim)
            return Ranked(policy, _ended(policy), None, given.picked, given.scores)
        except ExcalibrError as error:
            status, reason = Status.FAILED, str(str(error))
    return Ranked(_fallback(profile, problem, status, reason), status, reason, given.picked, given.scores)


def _ended(policy: Policy) -> Status:
    late = policy.info is not None and policy.gap > policy.info.allowed_gap
    return Status.STOPPED_EARLY if late else Status.OK


def _problem(profile: Profile, asked: Asked, given: Given, wanted: Wanted) -> Problem:
    """The question, from arrays that were checked before."""
    n = len(given.scores)
    k = n if asked.settings.k is None else min(asked.settings.k, n)
    k = int(min(k, asked.settings.most_slots()))
    trade_off = DEFAULT_TRADE_OFF if asked.settings.trade_off is None else float(asked.settings.trade_off)
    rows, slots = profile.rows.of(given.places), asked.position_weights(k)
    low, high = _edges(wanted, profile)
    if asked.plain and low is high:
        return Problem(given.scores, rows, low, slots, trade_off)
    r, nothing = len(low), np.empty(0, dtype=np.int64)
    terms = Terms(
        attributes=profile.attributes,
        high=high,
        weights=asked.weights,
        smoothing=SMOOTHINGS[asked.settings.divergence],
        floors=np.full(r, -np.inf),
        caps=np.full(r, np.inf),
        base=np.zeros(r),
        unavailable=np.zeros(n, dtype=np.bool_),
        pinned_slots=nothing,
        pinned_candidates=nothing,
        groups=nothing,
        group_limits=nothing,
    )
    return Problem(given.scores, rows, low, slots, trade_off, terms)


def _edges(wanted: Wanted, profile: Profile) -> tuple[Floats, Floats]:
    """The target brought to a sum of 1 for each attribute, or a band as it is."""
    low, high = wanted.low, wanted.high
    if low is not high and (low == high).all():
        high = low
    if not profile.attributes:
        if low is not high:
            return low, high
        point = read_target(low, len(low))
        return point, point
    lows, highs = low.copy(), high.copy()
    for each in profile.attributes:
        part = low[each.columns]
        if (part == high[each.columns]).all():
            lows[each.columns] = highs[each.columns] = read_target(part, len(part))
    return lows, highs


def _fallback(profile: Profile, problem: Problem, status: Status, reason: str | None) -> Policy | None:
    """The order by score, nothing, or an error, as the profile says."""
    fallback = profile.reranker.fallback
    if fallback == "error":
        raise Failure(422, reason or f"The request has {status.text}, and the profile's fallback is an error.")
    if fallback == "nothing":
        return None
    ranking = relevance_order(problem)[: problem.k]
    return Policy(problem, ranking[None], np.ones(1), method="relevance order")


def _rank_specially(profile: Profile, asked: Asked, request: RankRequest, given: Given, wanted: Wanted) -> Ranked:
    """The same where something is asked that only the readers of ``calibrate`` know how to read."""
    shown, kept = _shown(profile, asked, request, given)
    given = dataclasses.replace(given, picked=given.picked[kept], places=given.places[kept], scores=given.scores[kept])
    if not len(given.picked):
        return Ranked(None, Status.NO_CANDIDATES, None, given.picked, given.scores)
    settings, n = asked.settings, len(given.scores)
    k = int(min(n if settings.k is None else min(settings.k, n), settings.most_slots()))
    options = settings.given() | {"k": k}
    if not isinstance(settings.position_weights, str):
        given_weights = np.asarray(settings.position_weights, dtype=np.float64)
        options["position_weights"] = settings.weights_of(k) if shown is None else given_weights[:k]
    if request.pinned:
        options["pinned"] = _pinned(profile, request, given, k)
    if shown is not None:
        options["shown"] = shown
    rows = rows_of(profile, given, request)
    own = OwnProblem((given.scores, _by_attribute(rows, profile), _target(wanted, profile)), options)
    status, reason = wanted.status, None
    try:
        problem = problem_of(own)
        if status == Status.OK:
            policy = _apply(asked, problem)
            return Ranked(policy, _ended(policy), None, given.picked, given.scores)
    except ExcalibrError as error:
        status, reason = Status.FAILED, str(str(error))
        plain: dict[str, Any] = {name: options[name] for name in ("k", "pinned", "position_weights") if name in options}
        problem = problem_of(OwnProblem(own.arrays, plain))
    return Ranked(_fallback(profile, problem, status, reason), status, reason, given.picked, given.scores)


def _apply(asked: Asked, problem: Problem) -> Policy:
    limits = asked.settings.limits()
    if asked.settings.method == "excalibr":
        return solve(problem, limits, asked.aim)
    return methods.apply(asked.settings.method, problem, limits)


def _by_attribute(rows: Any, profile: Profile) -> Any:
    return {each.name: rows[:, each.columns] for each in profile.attributes} if profile.attributes else rows


def _target(wanted: Wanted, profile: Profile) -> Any:
    def edges(columns: slice) -> Any:
        low, high = wanted.low[columns], wanted.high[columns]
        return low if (low == high).all() else Band(low, high)

    named = profile.attributes
    return {each.name: edges(each.columns) for each in named} if named else edges(slice(None))


def _pinned(profile: Profile, request: RankRequest, given: Given, k: int) -> dict[int, int]:
    """Slots and the candidates that keep them; one that cannot be kept is an error."""
    read = profile.item_ids.read
    candidates = {read(given.labels[at], "$.items"): number for number, at in enumerate(given.picked.tolist())}
    pinned: dict[int, int] = {}
    for number, pin in enumerate(request.pinned or ()):
        path = f"$.pinned[{number}]"
        candidate = candidates.get(read(pin.item, path))
        if candidate is None:
            raise Failure(422, f"The pinned item {pin.item!r:.80} must be one of the candidates.", path)
        if pin.rank > k or pin.rank - 1 in pinned or candidate in pinned.values():
            raise Failure(422, f"A pin must have a rank and an item of its own, and a rank of at most {k}.", path)
        pinned[pin.rank - 1] = candidate
    return pinned


def _shown(profile: Profile, asked: Asked, request: RankRequest, given: Given) -> tuple[Shown | None, Any]:
    """What was shown before, with the attention that it got, and which candidates it leaves."""
    kept = np.ones(len(given.picked), dtype=np.bool_)
    if not request.shown:
        return None, kept
    seen = [each if isinstance(each, Seen) else Seen(each) for each in request.shown]
    places = np.array(profile.item_ids.find([each.item for each in seen], "$.shown"), dtype=np.int64)
    weights = np.array([_attention(each, asked.settings) for each in seen], dtype=np.float64)
    known = np.flatnonzero(places >= 0)
    known = known[np.lexsort((weights[known], places[known]))]
    if not len(known):
        return None, kept
    rows: Any = profile.items.rows[places[known]]
    kept = ~np.isin(given.places, places[known])
    return Shown(categories=_by_attribute(rows, profile), position_weights=weights[known]), kept


def _attention(seen: Seen, settings: Settings) -> float:
    if seen.weight is not None or seen.rank is None:
        return 1.0 if seen.weight is None else seen.weight
    if isinstance(settings.position_weights, str):
        return float(raw_weights(settings.position_weights, seen.rank)[-1])
    given = np.asarray(settings.position_weights, dtype=np.float64)
    return float(given[seen.rank - 1]) if seen.rank <= len(given) else 0.0
