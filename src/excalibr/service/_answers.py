"""Answers: the slate that was drawn, with its propensities, and what the policy behind it does."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import msgspec
import numpy as np

from excalibr import _seeds as seeds
from excalibr._policy import Policy
from excalibr._problem import Status
from excalibr._types import Integers
from excalibr._visits import choose_visits
from excalibr.service._candidates import GivenItems
from excalibr.service._failures import RequestFailure
from excalibr.service._profiles import Profile
from excalibr.service._ranking import Ranked
from excalibr.service._requests import RankRequest

__all__ = ["Answer", "BatchAnswer", "answer_of"]


class SlateItem(msgspec.Struct):
    """An item of the slate; ``propensity`` is the probability that a draw has it in this place."""

    item: int | str
    score: float
    rank: int
    propensity: float


class LeftOut(msgspec.Struct):
    """Candidates that were not ranked: those the table does not have, and those that came again."""

    unknown: int
    repeated: int


class PolicySummary(msgspec.Struct, kw_only=True):
    """What the lottery does; ``deviation`` is of its expectation, ``draw_deviation`` of the slate that was drawn."""

    relevance: float | None = None
    deviation: float | dict[str, float] | None = None
    draw_deviation: float | dict[str, float] | None = None
    gap: float | None = None
    shares: dict[str, float | dict[str, float]] | None = None
    target: dict[str, float | dict[str, float]] | None = None
    probability: float | None = None
    status: str
    left_out: LeftOut
    reason: str | None = None


class LotteryRanking(msgspec.Struct):
    """A ranking of the lottery."""

    probability: float
    items: list[int | str]


class Answer(msgspec.Struct, omit_defaults=True):
    """The answer to one request: a superset of Metarank's."""

    id: int | str | None
    took: float
    items: list[SlateItem]
    policy: PolicySummary
    lottery: list[LotteryRanking] | None = None
    explain: dict[str, Any] | None = None


class BatchAnswer(msgspec.Struct):
    """The answers to several requests, in their order; in place of one that cannot be answered, its error."""

    answers: list[Any]
    took: float


def answer_of(
    profile: Profile, request: RankRequest, given: GivenItems, ranked: Ranked, user: Hashable, took: float
) -> Answer:
    """The slate of a request, drawn by its key."""
    left_out = LeftOut(len(given.unknown), given.repeated)
    appended = _appended(request, given, ranked) if profile.append_unknown else []
    if ranked.policy is None:
        nothing = PolicySummary(status=ranked.status.text, left_out=left_out, reason=ranked.reason)
        return Answer(request.id, took, appended, nothing)
    policy, chosen = ranked.policy, _drawn(profile, request, ranked.policy, user)
    ranking = policy.rankings[chosen]
    labels, places = given.labels, ranked.picked
    shown = [
        SlateItem(labels[at], score, rank, propensity)
        for rank, (at, score, propensity) in enumerate(
            zip(
                places[ranking].tolist(),
                ranked.scores[ranking].tolist(),
                _propensities(policy, ranking),
                strict=True,
            ),
            1,
        )
    ]
    answer = Answer(request.id, took, shown + appended, _summary(profile, ranked, chosen, left_out))
    if request.lottery:
        answer.lottery = [
            LotteryRanking(weight, [labels[at] for at in places[each].tolist()])
            for weight, each in zip(policy.weights.tolist(), policy.rankings, strict=True)
        ]
    if request.explain:
        answer.explain = _explained(profile, given, ranked)
    return answer


def _drawn(profile: Profile, request: RankRequest, policy: Policy, user: Hashable) -> int:
    """The number of the ranking that the request's key draws."""
    seed = profile.reranker.seed if request.seed is None else request.seed
    named = user if user is not None else request.session
    if named is None:  # nobody in particular: every request draws anew
        if request.visit is not None:
            raise RequestFailure(422, "A visit must be one of a `user` or a `session`.", "$.visit")
        return int(seeds.choose(policy.weights, seeds.uniforms(None, None, 1))[0])
    key = named if request.day is None else (named, request.day.isoformat())
    if request.visit is None:
        return int(seeds.choose(policy.weights, seeds.uniforms(seed, key, 1))[0])
    counts, slots = np.array([len(policy.weights)]), np.array([policy.problem.k])
    visits = np.array([request.visit])
    return int(choose_visits(policy.rankings.ravel(), policy.weights, counts, slots, [key], seed, visits)[0])


def _propensities(policy: Policy, ranking: Integers) -> list[float]:
    if len(policy.weights) == 1:
        return [1.0] * len(ranking)
    in_slot = np.add.reduce((policy.rankings == ranking) * policy.weights[:, None], axis=0)
    found: list[float] = np.minimum(in_slot, 1.0).tolist()
    return found


def _appended(request: RankRequest, given: GivenItems, ranked: Ranked) -> list[SlateItem]:
    """The items that the table does not have, after the slate, in the order of the request."""
    after = 0 if ranked.policy is None else ranked.policy.problem.k
    scores = request.scores
    found = []
    for number, at in enumerate(given.unknown):
        score = scores[at] if scores is not None else _score(request.items[at])
        found.append(SlateItem(given.labels[at], score, after + number + 1, 1.0))
    return found


def _score(item: Any) -> float:
    fields = (float(field.value) for field in item.fields or () if field.name == "relevancy")
    return float(item.score) if item.score is not None else next(fields)


def _summary(profile: Profile, ranked: Ranked, chosen: int, left_out: LeftOut) -> PolicySummary:
    policy = ranked.policy
    assert policy is not None
    problem = policy.problem
    calibrated = ranked.status < Status.NO_CANDIDATES
    deviation = policy.deviation if calibrated else None
    drawn = None
    if calibrated:
        exposure = np.zeros(problem.n)
        exposure[policy.rankings[chosen]] = problem.position_weights
        drawn = _by_attribute(profile, problem.distances(problem.memberships.shares(exposure)))
    return PolicySummary(
        relevance=policy.relevance,
        deviation=deviation,
        draw_deviation=drawn,
        gap=None if math.isnan(policy.gap) else policy.gap,
        shares=_named(profile, policy.shares),
        target=_named(profile, problem.target) if calibrated else None,
        probability=float(policy.weights[chosen]),
        status=ranked.status.text,
        left_out=left_out,
        reason=ranked.reason,
    )


def _by_attribute(profile: Profile, distances: Any) -> float | dict[str, float]:
    if not profile.attributes:
        return float(distances.sum())
    return {each.name: float(distances[each.columns].sum()) for each in profile.attributes}


def _named(profile: Profile, values: Any) -> Any:
    """Numbers by category, or by attribute and category."""
    if not profile.attributes:
        return dict(zip(profile.numbers[""], values.tolist(), strict=True))
    return {
        each.name: dict(zip(profile.numbers[each.name], values[each.columns].tolist(), strict=True))
        for each in profile.attributes
    }


def _explained(profile: Profile, given: GivenItems, ranked: Ranked) -> dict[str, Any] | None:
    """What the slate's items cost and where they stood before."""
    policy = ranked.policy
    if policy is None or policy.category_prices is None:
        return None
    labels = [given.labels[at] for at in ranked.picked.tolist()]
    names: Any = {each.name: list(profile.numbers[each.name]) for each in profile.items.parts}
    why = policy.explain(labels, names if profile.attributes else names[""])
    told = {name: {column: _plain(values) for column, values in part.items()} for name, part in why.to_dict().items()}
    return {**told, "relevance_kept": why.relevance_kept, "deviation_removed": _number(why.deviation_removed)}


def _plain(values: Any) -> list[Any]:
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return [_number(each) for each in listed]


def _number(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
