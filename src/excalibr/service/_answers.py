"""Answers: the slate that was drawn, with its propensities, and what the policy behind it does."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from excalibr._native import kernel
from excalibr._policy import Policy
from excalibr._problem import Status
from excalibr.service._candidates import GivenItems
from excalibr.service._draws import drawn_ranking
from excalibr.service._profiles import Profile
from excalibr.service._ranking import Ranked
from excalibr.service._requests import RankRequest


class SlateItem(msgspec.Struct, gc=False):
    """An item of the slate; ``propensity`` is the probability that a draw has it in this place."""

    item: int | str
    score: float
    rank: int
    propensity: float


class LeftOut(msgspec.Struct, gc=False):
    """Candidates that were not ranked: those the table does not have, and those that came again."""

    unknown: int
    repeated: int


class PolicySummary(msgspec.Struct, kw_only=True):
    """What the lottery does; ``deviation`` is of its expectation, ``draw_deviation`` of the slate that was drawn.

    JSON has a number that is not finite, such as the gap of a method that proves none, as null.
    """

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
    profile: Profile, request: RankRequest, given: GivenItems, ranked: Ranked, named: Hashable, took: float
) -> Answer:
    """The slate of a request, drawn from its policy for a user or session."""
    policy, left_out = ranked.policy, LeftOut(len(given.unknown), given.repeated)
    if policy is None:
        nothing = PolicySummary(status=ranked.status.text, left_out=left_out, reason=ranked.reason)
        return Answer(request.id, took, _unknown_items(profile, given, 0), nothing)
    slate = _slate(given, policy, drawn_ranking(profile, request, policy, named))
    columns = zip(slate.picked, slate.scores, slate.propensities, strict=True)
    shown = [SlateItem(given.labels[at], score, rank, chance) for rank, (at, score, chance) in enumerate(columns, 1)]
    items = shown + _unknown_items(profile, given, len(shown))
    answer = Answer(request.id, took, items, _summary(profile, ranked, policy, slate, left_out))
    if request.lottery or ranked.status == Status.TIME_LIMIT_REACHED:  # which another run may not find again
        answer.lottery = [
            LotteryRanking(weight, [given.labels[at] for at in given.picked[each].tolist()])
            for weight, each in zip(policy.weights.tolist(), policy.rankings, strict=True)
        ]
    if request.explain:
        answer.explain = _explained(profile, given, policy)
    return answer


class Slate(NamedTuple):
    """The ranking that was drawn, slot by slot, and what it and its lottery show.

    Attributes
    ----------
    picked, scores, propensities
        (k,) the items as places in the request, their scores, and how probable each was in its slot.
    relevance, shares
        Of the lottery.
    target
        What the shares should be.
    deviations, drawn_deviations
        By attribute, of the lottery and of the ranking.
    probability
        Of the ranking.
    """

    picked: list[int]
    scores: list[float]
    propensities: list[float]
    relevance: float
    shares: list[float]
    target: list[float]
    deviations: list[float]
    drawn_deviations: list[float]
    probability: float


def _slate(given: GivenItems, policy: Policy, chosen: int) -> Slate:
    problem, batch = policy.problem, policy.problem.batch
    lottery = (policy.rankings, policy.weights, batch.position_weights, chosen)
    edges = (None, None) if batch.terms is None else (problem.target, problem.high)
    parts = kernel.slate_of(batch.checked, *lottery, given.picked, given.scores, *edges)
    return Slate(*parts, float(policy.weights[chosen]))


def _summary(profile: Profile, ranked: Ranked, policy: Policy, slate: Slate, left_out: LeftOut) -> PolicySummary:
    calibrated = ranked.status < Status.NO_CANDIDATES
    return PolicySummary(
        relevance=slate.relevance,
        deviation=_by_attribute(profile, slate.deviations) if calibrated else None,
        draw_deviation=_by_attribute(profile, slate.drawn_deviations) if calibrated else None,
        gap=policy.gap,
        shares=_named(profile, slate.shares),
        target=_named(profile, slate.target) if calibrated else None,
        probability=slate.probability,
        status=ranked.status.text,
        left_out=left_out,
        reason=ranked.reason,
    )


def _unknown_items(profile: Profile, given: GivenItems, after: int) -> list[SlateItem]:
    """The items that the table does not have, after the slate, where that is wanted."""
    return appended(given.labels, given.given_scores, given.unknown, after) if profile.append_unknown else []


def appended(labels: list[Any], scores: Sequence[float], unknown: list[int], after: int) -> list[SlateItem]:
    """Some of a request's items after its slate, in their order."""
    return [SlateItem(labels[at], scores[at], rank, 1.0) for rank, at in enumerate(unknown, after + 1)]


def _by_attribute(profile: Profile, deviations: list[float]) -> float | dict[str, float]:
    if not profile.attributes:
        return deviations[0]
    return {each.name: deviation for each, deviation in zip(profile.attributes, deviations, strict=True)}


def _named(profile: Profile, values: list[float]) -> Any:
    """Numbers by category, or by attribute and category."""
    if not profile.attributes:
        return dict(zip(profile.numbers[""], values, strict=True))
    return {
        each.name: dict(zip(profile.numbers[each.name], values[each.columns], strict=True))
        for each in profile.attributes
    }


def _explained(profile: Profile, given: GivenItems, policy: Policy) -> dict[str, Any] | None:
    """What the slate's items cost and where they stood before."""
    if policy.category_prices is None:
        return None
    labels = [given.labels[at] for at in given.picked.tolist()]
    names: Any = {each.name: list(profile.numbers[each.name]) for each in profile.items.parts}
    why = policy.explain(labels, names if profile.attributes else names[""])
    tables = {
        name: {column: np.asarray(values, dtype=object).tolist() for column, values in part.items()}
        for name, part in why.to_dict().items()
    }
    return {**tables, "relevance_kept": why.relevance_kept, "deviation_removed": why.deviation_removed}
