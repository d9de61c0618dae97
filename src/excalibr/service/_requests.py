"""Requests as msgspec reads them: decoded, checked and described in one go.

The body is Metarank's, or columnar (``items`` and ``scores`` side by side). Fields of Metarank's that say nothing about
the ranking are taken and ignored; others are refused.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

Id: TypeAlias = int | str
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Weight: TypeAlias = Annotated[float, Meta(ge=0)]


class Field(msgspec.Struct):
    """A field of Metarank's, with any value; only ``relevancy`` is read."""

    name: str
    value: Any = None


class Candidate(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A candidate with its score, or with a field ``relevancy``."""

    id: Id
    score: float | None = None
    fields: list[Field] | None = None
    label: float | None = None


class Past(msgspec.Struct, forbid_unknown_fields=True):
    """An item of a history; ``timestamp`` in the unit of the profile's half-life."""

    item: Id
    weight: Weight = 1.0
    timestamp: float | None = None


class SeenItem(msgspec.Struct, forbid_unknown_fields=True):
    """An item that was shown: the attention that it got, as a weight or as its rank."""

    item: Id
    rank: Annotated[int, Meta(ge=1)] | None = None
    weight: Weight | None = None


class Pin(msgspec.Struct, forbid_unknown_fields=True):
    """An item that keeps a place."""

    item: Id
    rank: Annotated[int, Meta(ge=1)]


class RankRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One slate that is asked for."""

    items: list[Id | Candidate]
    scores: list[float] | None = None
    id: Id | None = None
    user: Id | None = None
    session: Id | None = None
    timestamp: float | str | None = None
    event: str | None = None
    fields: list[Field] | None = None
    k: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    trade_off: Share | None = None
    relevance_loss: Share | None = None
    max_deviation: Weight | None = None
    divergence: Literal["l1", "kl"] | None = None
    draws: Literal["lottery", "single", "even"] | None = None
    target: dict[str, Weight | dict[str, Weight]] | None = None
    history: list[Id | Past] | None = None
    shown: list[Id | SeenItem] | None = None
    pinned: list[Pin] | None = None
    categories: dict[str, list[str] | dict[str, Weight | list[str]]] | None = None
    max_sorts: Annotated[int, Meta(ge=1, le=2**53 - 1)] | None = None
    time_limit: Annotated[float, Meta(gt=0)] | None = None
    visit: Annotated[int, Meta(ge=0, le=2**53 - 1)] | None = None
    day: datetime.date | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    explain: bool = False
    lottery: bool = False


class BatchRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Several at once; each is read by itself, so that a bad one spoils no other."""

    requests: list[msgspec.Raw]


decode_rank = msgspec.json.Decoder(RankRequest).decode
decode_batch = msgspec.json.Decoder(BatchRequest).decode
