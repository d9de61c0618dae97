"""The fast path: most requests in one call of the kernel, from the lists of a body to the drawn slate, as JSON.

What asks for more (pins, earlier pages, bands, visits, every ranking, …) and what is wrong takes the general path,
through ``_candidates``, ``_ranking``, a policy and ``_answers``. Where both can be taken, they give the same answer.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import msgspec

from excalibr._problem import Status
from excalibr.service._answers import Answer, LeftOut, PolicySummary, appended
from excalibr.service._candidates import MAX_SCORE, columns_of
from excalibr.service._draws import drawn_number
from excalibr.service._profiles import Profile
from excalibr.service._ranking import RequestOptions
from excalibr.service._requests import RankRequest
from excalibr.service._targets import RequestTarget

_OK, _STOPPED_EARLY, _TIME_LIMIT_REACHED = (
    status.text for status in (Status.OK, Status.STOPPED_EARLY, Status.TIME_LIMIT_REACHED)
)


class EncodedSlate(NamedTuple):
    """A slate as the kernel encodes it.

    Attributes
    ----------
    items, shares, target
        The ranking that was drawn, the lottery's shares and what they should be, as JSON.
    relevance, deviation
        Of the lottery.
    draw_deviation, probability
        Of the ranking.
    gap, stopped_early, seconds
        Of the solve: what it proves, whether that is more than was asked for, and how long it took.
    slots
        How many items the ranking has.
    unknown
        Which of the request's items the table does not have.
    lottery
        Every ranking as JSON, where the time limit was reached.
    """

    items: bytes
    shares: bytes
    target: bytes
    relevance: float
    deviation: float
    draw_deviation: float
    probability: float
    gap: float
    stopped_early: bool
    seconds: float
    slots: int
    unknown: list[int]
    lottery: bytes | None


def fast_slate(
    profile: Profile,
    asked: RequestOptions,
    request: RankRequest,
    wanted: RequestTarget,
    named: Hashable,
    *,
    alone: bool = False,
) -> EncodedSlate | None:
    """The slate of a request that asks for nothing out of the ordinary; None for all others.

    ``alone`` says that one request is worked on at a time, so that a short solve need not let other threads run.
    """
    catalogue = profile.catalogue
    if catalogue is None or wanted.status != Status.OK or wanted.is_band or _asks_more(request):
        return None
    columns = columns_of(request)
    if columns is None or not columns[0]:
        return None
    setting = asked.setting(len(columns[0]))
    if setting is None:
        return None
    draw = drawn_number(profile, request, named)
    found = catalogue.slate(*columns, MAX_SCORE, wanted.low, setting, draw, alone)
    return None if found is None else EncodedSlate._make(found)


def _asks_more(request: RankRequest) -> bool:
    if request.visit is not None or request.lottery or request.explain:
        return True
    return bool(request.shown or request.pinned or request.categories)


def answer_of_encoded(profile: Profile, request: RankRequest, slate: EncodedSlate, took: float) -> Answer:
    """The answer around an encoded slate, which has the form of `SlateItem` and `PolicySummary`."""
    items, unknown = slate.items, slate.unknown
    columns = columns_of(request) if unknown and profile.append_unknown else None
    if columns is not None:
        more = msgspec.json.encode(appended(*columns, unknown, slate.slots))
        items = items[:-1] + b"," + more[1:]
    late = slate.lottery is not None
    summary = PolicySummary(
        relevance=slate.relevance,
        deviation=slate.deviation,
        draw_deviation=slate.draw_deviation,
        gap=slate.gap,
        shares=_written(slate.shares),
        target=_written(slate.target),
        probability=slate.probability,
        status=_TIME_LIMIT_REACHED if late else _STOPPED_EARLY if slate.stopped_early else _OK,
        left_out=LeftOut(len(unknown), 0),
    )
    return Answer(request.id, took, _written(items), summary, _written(slate.lottery) if slate.lottery else None)


def _written(text: bytes) -> Any:
    return msgspec.Raw(text)
