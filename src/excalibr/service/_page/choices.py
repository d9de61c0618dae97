"""What the page asks: requests decoded and checked by msgspec, and choices as the options of a ``Reranker``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from excalibr._options import AIMS
from excalibr.service._page.explored import Explored
from excalibr.tables import Reranker

DEFAULT_SLOTS = 10
"""Slots where nothing says how many."""

MOST_LIMITS = 100

OWN_WEIGHTS = "as given"
"""Position weights that the command line or a profile has as numbers."""

Name = Annotated[str, Meta(max_length=1000)]


class ShareLimit(Struct, forbid_unknown_fields=True, frozen=True):
    """A floor, a cap or a largest number for a category."""

    category: Name
    amount: float
    attribute: Name = ""


class PinnedItem(Struct, forbid_unknown_fields=True, frozen=True):
    """An item, by its place in the items table, that keeps a rank for everybody who has it among the candidates."""

    item: Annotated[int, Meta(ge=0)]
    rank: int


class Choices(Struct, forbid_unknown_fields=True, frozen=True):
    """How to rank, but for the aim."""

    k: int
    divergence: Name = "l1"
    draws: Name = "lottery"
    position_weights: Name = "log"
    attribute_weights: Annotated[dict[Name, float], Meta(max_length=MOST_LIMITS)] = {}
    floors: Annotated[tuple[ShareLimit, ...], Meta(max_length=MOST_LIMITS)] = ()
    caps: Annotated[tuple[ShareLimit, ...], Meta(max_length=MOST_LIMITS)] = ()
    at_most: Annotated[tuple[ShareLimit, ...], Meta(max_length=MOST_LIMITS)] = ()
    pinned: PinnedItem | None = None


class Aim(Struct, forbid_unknown_fields=True, frozen=True):
    """How much of what: a trade-off, or a budget in its place."""

    kind: Literal["trade_off", "relevance_loss", "max_deviation"]
    value: float


class PageRequest(Struct, forbid_unknown_fields=True, frozen=True):
    """Choices and an aim."""

    choices: Choices
    aim: Aim


class SampleRequest(PageRequest, forbid_unknown_fields=True, frozen=True):
    """The same for the users ``first`` to ``last`` of the sample."""

    first: Annotated[int, Meta(ge=0)]
    last: Annotated[int, Meta(ge=0)]


class PersonRequest(PageRequest, forbid_unknown_fields=True, frozen=True):
    """The same for one user, by number in the tables."""

    user: Annotated[int, Meta(ge=0)]


class FindRequest(Struct, forbid_unknown_fields=True, frozen=True):
    """Users or items whose id or title has a text in it."""

    what: Literal["users", "items"]
    text: Annotated[str, Meta(max_length=200)]


def first_choices(explored: Explored) -> tuple[Choices, Aim]:
    """What the source says, as the page shows it at first."""
    given = explored.source.reranker
    weights = given.position_weights
    kind = AIMS[given.asked[1]]
    value = given.asked_trade_off if kind == "trade_off" else given.budget
    choices = Choices(
        k=DEFAULT_SLOTS if given.k is None else int(given.k),
        divergence=given.divergence,
        draws=given.draws,
        position_weights=weights if isinstance(weights, str) else OWN_WEIGHTS,
        attribute_weights=dict(given.attribute_weights or {}),
        floors=_limits(given.floors, explored),
        caps=_limits(given.caps, explored),
        at_most=_limits(given.max_per_category, explored),
    )
    return choices, Aim(kind, value)  # type: ignore[arg-type]


def _limits(given: Any, explored: Explored) -> tuple[ShareLimit, ...]:
    """Limits by category, or by attribute and category, as a list; one for all as one for each."""
    if given is None:
        return ()
    labels = explored.items.categories.to_pylist()
    found = []
    for part in explored.items.parts:
        named = given.get(part.name, {}) if part.name and isinstance(given, dict) else given
        own: dict[str, Any] = named if isinstance(named, dict) else dict.fromkeys(labels[part.columns], named)
        found += [ShareLimit(str(category), float(amount), part.name) for category, amount in own.items()]
    return tuple(found)


def reranker_of(explored: Explored, choices: Choices) -> Reranker:
    """The source's re-ranker with the page's choices, at a trade-off that stands for any aim."""
    base, several = explored.source.reranker, bool(explored.items.attributes)
    weights = base.position_weights if choices.position_weights == OWN_WEIGHTS else choices.position_weights
    changes: dict[str, Any] = {
        "k": choices.k,
        "divergence": choices.divergence,
        "draws": choices.draws,
        "position_weights": weights,
        "attribute_weights": dict(choices.attribute_weights) or None,
        "floors": _by_category(choices.floors, several),
        "caps": _by_category(choices.caps, several),
        "max_per_category": _by_category(choices.at_most, several, whole=True),
    }
    return replace(base, trade_off=0.0, relevance_loss=None, max_deviation=None, **changes)


def _by_category(limits: tuple[ShareLimit, ...], several: bool, *, whole: bool = False) -> Any:
    if not limits:
        return None
    found: dict[str, Any] = {}
    for each in limits:
        amount = int(each.amount) if whole and each.amount.is_integer() else each.amount
        (found.setdefault(each.attribute, {}) if several else found)[each.category] = amount
    return found


def aimed(reranker: Reranker, aim: Aim) -> Reranker:
    """The re-ranker with this aim and no other."""
    return replace(reranker, **aim_options(aim))


def aim_options(aim: Aim) -> dict[str, Any]:
    """The options that an aim sets: one of them, and the others to nothing."""
    return {name: aim.value if name == aim.kind else None for name in AIMS}


_FIELDS = {
    **{name: name for name in Choices.__struct_fields__},
    "max_per_category": "at_most",
    **dict.fromkeys(AIMS, "aim"),
}
"""Where the page has what the library calls by these names."""


def field_of(message: str) -> str:
    """Which choice a message of the library is about; empty where it names none.

    >>> field_of("floors: category 3 cannot reach 0.9; the most that any policy shows of it is 0.4.")
    'floors'
    """
    begins = re.match(r"(\w+)", message)
    return _FIELDS.get(begins[1], "") if begins else ""
