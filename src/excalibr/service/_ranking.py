"""From a request to a policy: rows and target gathered from the profile's arrays, then solved as ``calibrate`` does.

Most requests are one attribute and a distribution, and go in as a single user's arrays do; what has attributes, bands,
pins, earlier pages or items of its own goes in as a batch of one. The kernel checks and solves both alike.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Hashable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from excalibr import methods
from excalibr._arrays import frozen
from excalibr._native import kernel
from excalibr._options import AIMS, Options
from excalibr._policy import Policy
from excalibr._problem import Batch, Memberships, Problem, Status, read_problem
from excalibr._solver import TIME_LIMIT_REACHED, questions_of, setting_of, solve
from excalibr.errors import ExcalibrError, InfeasibleError, explain
from excalibr.service._candidates import GivenItems
from excalibr.service._category_weights import rows_of
from excalibr.service._failures import RequestFailure
from excalibr.service._pinned_and_shown import read_pins, read_shown
from excalibr.service._profiles import Profile
from excalibr.service._requests import RankRequest
from excalibr.service._targets import RequestTarget
from excalibr.tables._by_name import with_names

OVERRIDES = ("k", "trade_off", "relevance_loss", "max_deviation", "divergence", "draws", "max_sorts", "time_limit")
"""Options of a profile that a request may have of its own."""

_own_options = attrgetter(*OVERRIDES)

Made = TypeVar("Made")

CACHE_SIZE = 256
"""So many combinations of overrides, and so many numbers of slots of each, are remembered."""


def _remember(cache: dict[Any, Made], key: Hashable, made: Made) -> Made:
    """Put what was made for a key into a cache, which is emptied when it is full."""
    if len(cache) >= CACHE_SIZE:
        cache.clear()
    cache[key] = made
    return made


@dataclass(frozen=True, eq=False)
class RequestOptions:
    """How to rank for one request: the profile's options with the request's own; and the same for fewer slots."""

    options: Options
    by_slots: dict[int, Options]
    settings: dict[int, kernel.Setting]

    def with_slots(self, n: int) -> Options:
        """The options for n candidates: no more slots than that."""
        k = self.slots(n)
        found = self.by_slots.get(k)
        if found is None:
            found = _remember(self.by_slots, k, dataclasses.replace(self.options, k=k))
        return found

    def setting(self, n: int) -> kernel.Setting | None:
        """The same as the kernel takes it for a user who asks alone; None where more is asked than that."""
        k = self.slots(n)
        found = self.settings.get(k)
        if found is None and self.is_plain:
            found = _remember(self.settings, k, setting_of(self.options, k))
        return found

    def slots(self, n: int) -> int:
        """How many slots n candidates have."""
        return n if self.options.k is None or self.options.k > n else self.options.k

    @property
    def is_plain(self) -> bool:
        """Whether the exact method is asked for, with nothing by category."""
        options = self.options
        return options.method == "excalibr" and not options.asks_terms and isinstance(options.position_weights, str)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A policy over the candidates, how they were ranked, and the reason where they were not calibrated."""

    policy: Policy | None
    status: Status
    reason: str | None = None


def options_for(profile: Profile, request: RankRequest) -> RequestOptions:
    """The profile's options with the request's own; a combination is checked once."""
    key = _own_options(request)
    found: RequestOptions | None = profile.asked.get(key)
    if found is None:
        found = _remember(profile.asked, key, _request_options(profile, dict(zip(OVERRIDES, key, strict=True))))
    return found


def _request_options(profile: Profile, own: dict[str, Any]) -> RequestOptions:
    given = {name: value for name, value in own.items() if value is not None}
    others: dict[str, Any] = dict.fromkeys(AIMS) if any(name in given for name in AIMS) else {}
    budget = next((name for name in ("relevance_loss", "max_deviation") if name in given), None)
    if budget is not None and profile.prices is not None:
        found = explain(budget, "is given with prices of items", "be left out", "give a trade_off instead.")
        raise RequestFailure(422, str(found), f"$.{budget}")
    most = profile.options.time_limit
    if most is not None and given.get("time_limit", most) > most:
        found = explain("time_limit", f"is {given['time_limit']:g}", f"be at most {most:g}, the profile's")
        raise RequestFailure(422, str(found), "$.time_limit")
    try:
        return RequestOptions(dataclasses.replace(profile.options, **(others | given)), {}, {})
    except ExcalibrError as error:
        named = [name for name in given if re.search(rf"\b{name}\b", str(error))] or [*given]
        raise RequestFailure(422, str(error), f"$.{named[0]}") from error


def rank(
    profile: Profile,
    asked: RequestOptions,
    request: RankRequest,
    given: GivenItems,
    wanted: RequestTarget,
    user: Hashable = None,
) -> Ranked:
    """The policy for these candidates and this target; where there is none, their order by score if that is wanted."""
    if not len(given.picked):
        return Ranked(None, Status.NO_CANDIDATES)
    special = request.shown or request.pinned or request.categories or profile.is_special or wanted.is_band
    if special or wanted.status != Status.OK or not isinstance(asked.options.position_weights, str):
        return _rank_as_batch(profile, asked, request, given, wanted, user)
    try:
        rows = profile.items.rows.of(given.places)
        policy = _apply(read_problem(given.scores, rows, wanted.low, asked.with_slots(len(given.scores))))
    except InfeasibleError as error:
        return _rank_as_batch(profile, asked, request, given, wanted, user, error)
    except ExcalibrError:
        return _rank_as_batch(profile, asked, request, given, wanted, user)
    return Ranked(policy, _ended(policy))


def _apply(problem: Problem) -> Policy:
    method = problem.options.method
    return solve(problem) if method == "excalibr" else methods.apply(method, problem)


def _ended(policy: Policy) -> Status:
    if policy.info is None:
        return Status.OK
    if policy.info.status == TIME_LIMIT_REACHED:
        return Status.TIME_LIMIT_REACHED
    return Status.STOPPED_EARLY if policy.gap > policy.info.allowed_gap else Status.OK


def _rank_as_batch(
    profile: Profile,
    asked: RequestOptions,
    request: RankRequest,
    given: GivenItems,
    wanted: RequestTarget,
    user: Hashable,
    failed: InfeasibleError | None = None,
) -> Ranked:
    """The same for whatever can be asked, and where it fails, or has ``failed`` before, the order by score."""
    n, labels, places = len(given.scores), [given.labels[at] for at in given.picked.tolist()], given.places
    shown = read_shown(profile, asked.options, request)
    if shown is not None:
        labels, places = labels + shown.labels, np.concatenate((places, shown.places))
    rows = rows_of(profile, request, labels, places)
    terms: dict[str, Any] = {"attributes": profile.attributes, "highs": wanted.high[None] if wanted.is_band else None}
    terms["pinned"] = read_pins(profile, request, given, int(min(asked.slots(n), asked.options.most_slots())))
    if shown is not None:
        count = len(shown.places)
        terms["shown"] = (np.zeros(count, dtype=np.int64), n + np.arange(count), shown.weights)
    batch = _batch(rows, given, wanted, asked.options, terms)
    status, reason = Status(int(batch.statuses[0])), batch.reasons.get(0)
    if failed is not None:
        status, reason = Status.FAILED, str(failed)
    elif status == Status.OK:
        try:
            prices = profile.prices
            policy = _apply(batch.problem(0)) if prices is None else prices.solve(batch, places, user)
            return Ranked(policy, _ended(policy))
        except ExcalibrError as error:
            status, reason = Status.FAILED, str(error)
    if reason is not None:
        reason = with_names(str(reason), profile.items)
    return Ranked(_fallback(profile, batch, status, reason), status, reason)


def _batch(
    rows: Memberships, given: GivenItems, wanted: RequestTarget, options: Options, terms: dict[str, Any]
) -> Batch:
    """One user's question as a batch of one; options that only a request makes impossible are that user's status."""
    n = len(given.scores)
    arrays = (given.scores, np.array([0, n]), rows, wanted.low[None])
    try:
        batch = Batch.of(*arrays, items=np.arange(n), options=options, **terms)
    except ExcalibrError as error:
        raise RequestFailure(422, str(error)) from error
    return batch.with_statuses(np.array([int(wanted.status)])) if wanted.status != Status.OK else batch


def _fallback(profile: Profile, batch: Batch, status: Status, reason: str | None) -> Policy | None:
    """The order by score, nothing, or an error, as the profile says."""
    fallback = profile.reranker.fallback
    if fallback == "error":
        raise RequestFailure(422, reason or f"The request has {status.text}, and the profile's fallback is an error.")
    if fallback == "nothing":
        return None
    places, weights, *_ = kernel.solve_range(questions_of(batch, solve=False, fall_back=True), 0, 1)
    if not len(weights):
        return None
    problem = Problem(batch, 0, float(batch.trade_offs[0]))
    return Policy._solved(problem, frozen(places.reshape(1, -1)), frozen(weights), method="relevance order")
