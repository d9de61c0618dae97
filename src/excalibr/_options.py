"""Every option of how to rank, declared once: its name, type, default, help text and check.

``calibrate`` spells them out, and a test holds it to this list; ``calibrate_batch``, ``Reranker``, the command line,
Spark and Ray derive theirs from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from math import inf, nan
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import frozen, is_real, is_whole, numbers
from excalibr._messages import Message, Option, Wording
from excalibr._types import Floats
from excalibr.errors import ExcalibrError, InputError, InputTypeError, unknown_name
from excalibr.positions import NAMES as POSITION_WEIGHTS
from excalibr.positions import position_weights as weigh_positions
from excalibr.positions import weights_at

Kind = TypeVar("Kind")
Check: TypeAlias = Callable[[str, Any], object]

AIMS = ("trade_off", "relevance_loss", "max_deviation")
DRAWS = ("lottery", "single", "even")
"""In the order of the kernel's numbers."""

KL_SMOOTHING = 0.01
"""Steck's α: a distribution p is compared with the target q as (1 − α)·p + α·q, which keeps KL finite where p_j = 0."""

DIVERGENCES = {"l1": 0.0, "kl": KL_SMOOTHING}
"""With the smoothing that makes their penalty."""

METHOD_NAMES = (
    *("excalibr", "lp", "lp-full", "greedy", "greedy-simple", "greedy-projected", "mip-greedy", "top-k", "mmr"),
)
"""The methods are in :data:`excalibr.methods.METHODS`."""

DEFAULT_TRADE_OFF = 0.5

MOST_SORTS = 2**63 - 1
"""The largest number that the kernel takes, which nothing ever counts up to."""


def whole_number(least: int, *, or_none: bool = True) -> Check:
    """The check of a whole number."""
    must = Message(f"be a whole number of at least {least}", Wording(", or None", "") if or_none else "")
    return _number(is_whole, must, lambda value: value >= least)


def one_of(names: Collection[str]) -> Check:
    """The check of a choice by name."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or value not in names:
            raise unknown_name(name, value, names)

    return check


def real_number(must: str, holds: Callable[[float], bool], hint: str = "") -> Check:
    """The check of a number for which something holds; a whole number too large for a float is none."""
    return _number(is_real, must, lambda value: holds(_as_float(value)), hint)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return nan


def _number(is_one: Callable[[Any], bool], must: str, holds: Callable[[Any], bool], hint: str = "") -> Check:
    def check(name: str, value: Any) -> None:
        if not is_one(value):
            raise InputTypeError(name, f"is {value!r}", must, hint)
        if not holds(value):
            raise InputError(name, f"is {value!r}", must, hint)

    return check


def _check_seconds(name: str, value: Any) -> None:
    if not (is_real(value) and 0.0 < _as_float(value) < inf):
        raise InputError(name, f"is {value!r}", "be a positive, finite number of seconds, or None")


def truth_value(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(name, f"is {value!r}", "be True or False")


def by_category(must: str = "be a number, an array or a mapping") -> Check:
    """The check of numbers by category: arrays are read with the categories, truth values are refused before."""

    def check(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, own in value.items():
                check(f"{name}[{key!r}]", own)
        elif isinstance(value, (bool, np.bool_)):
            raise InputTypeError(name, f"is {value}", must)

    return check


def option(default: Any, explanation: str, check: Check | None = None) -> Any:
    """A field with the line that help texts show for it, and what checks a value that is given."""
    return field(default=default, metadata={"help": explanation, "check": check})


class CheckedOptions:
    """A dataclass of options, each checked as its field declares; what is left at its default needs no check."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, default, check in _checks(kind):
            value = getattr(self, name)
            if value is not default:
                check(name, value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Options(CheckedOptions):
    """The options of :func:`excalibr.calibrate` that hold for every user, in the same words and with its defaults.

    Examples
    --------
    >>> Options(k=10, trade_off=0.3).given()
    {'k': 10, 'trade_off': 0.3}
    """

    k: int | None = option(None, "Slots a user gets; without it, as many as the user has candidates.", whole_number(1))
    trade_off: float | None = option(
        None,
        "0 is relevance only, 1 is calibration only; 0.5 when nothing else is asked.",
        real_number("be from 0 (relevance only) to 1 (calibration only)", lambda value: 0.0 <= value <= 1.0),
    )
    relevance_loss: float | None = option(
        None,
        "Instead of a trade-off: give up at most this part of the relevance.",
        real_number(
            "be a number from 0 to 1", lambda value: 0.0 <= value <= 1.0, "0.02 gives up at most 2 % of the relevance."
        ),
    )
    max_deviation: float | None = option(
        None,
        "Instead of a trade-off: deviate at most this much from the target.",
        real_number("be a finite number of at least 0", lambda value: 0.0 <= value < inf),
    )
    position_weights: str | ArrayLike = option(
        "log", "Attention of each slot: log, sqrt, reciprocal, uniform, or numbers."
    )
    divergence: str = option("l1", "How the distance from the target is measured: l1 or kl.", one_of(DIVERGENCES))
    attribute_weights: Any = option(None, "What an attribute's deviation counts, by attribute: genre=1,decade=0.5.")
    category_weights: Any = option(
        None, "What a category's deviation counts, by category: drama=2,epic=0.5.", by_category()
    )
    relative: bool = option(False, "Count a deviation relative to the category's target.", truth_value)
    floors: Any = option(None, "The least share that a category must have, by category: drama=0.1.", by_category())
    caps: Any = option(None, "The largest share that a category may have, by category.", by_category())
    max_per_category: Any = option(
        None,
        "At most so many slots for a category in every ranking: 2, or drama=2,epic=1.",
        by_category("be a whole number, an array or a mapping"),
    )
    normalise: str | None = option(
        None, "range maps each user's scores to the range from 0 to 1 first.", one_of(("range",))
    )
    method: str = option(
        "excalibr", "excalibr is the exact one; lp, greedy, top-k, … to compare with.", one_of(METHOD_NAMES)
    )
    draws: str = option(
        "lottery", "lottery: a policy may mix rankings; single: one good ranking; even: even draws.", one_of(DRAWS)
    )
    tolerance: float = option(
        1e-9, "Stop at this proven gap.", real_number("be a positive number", lambda value: 0.0 < value < inf)
    )
    max_sorts: int | None = option(None, "Stop after so many sorts of a user's candidates.", whole_number(1))
    time_limit: float | None = option(
        None, "Stop after so many seconds with a user; what this cuts short depends on the machine.", _check_seconds
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = self.position_weights
        if isinstance(weights, str):
            one_of(POSITION_WEIGHTS)("position_weights", weights)
        else:
            own = frozen(numbers("position_weights", weights))  # the caller's may change, and they are read again later
            weigh_positions(own, max(own.size, 1) if self.k is None else self.k)
            object.__setattr__(self, "position_weights", own)
        self._check_combination()

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        fields = dataclasses.fields(Options)
        return {each.name: value for each in fields if _differs(value := getattr(self, each.name), each.default)}

    @cached_property
    def asked_trade_off(self) -> float:
        """The trade-off, where users have none of their own."""
        return DEFAULT_TRADE_OFF if self.trade_off is None else abs(float(self.trade_off))  # -0.0 is 0.0

    @cached_property
    def asks_terms(self) -> bool:
        """Whether categories have weights or limits of their own."""
        by_category = (self.attribute_weights, self.category_weights, self.floors, self.caps, self.max_per_category)
        return bool(self.relative) or any(value is not None for value in by_category)

    @property
    def plain(self) -> bool:
        """Whether nothing is asked of the categories beyond the paper's program."""
        return self.divergence == "l1" and not self.asks_terms

    @cached_property
    def asked(self) -> tuple[float, int, float, int, float, int, float]:
        """What the kernel is asked of every user alike.

        Smoothing, aim, budget, draws, tolerance, cap on sorts and seconds.
        """
        aim = next((number for number in (1, 2) if getattr(self, AIMS[number]) is not None), 0)
        smoothing, budget = DIVERGENCES[self.divergence], float(getattr(self, AIMS[aim]) or 0.0)
        sorts = -1 if self.max_sorts is None else min(int(self.max_sorts), MOST_SORTS)
        seconds = inf if self.time_limit is None else float(self.time_limit)
        return smoothing, aim, budget, DRAWS.index(self.draws), float(self.tolerance), sorts, seconds

    @property
    def budget(self) -> float:
        """What ``relevance_loss`` or ``max_deviation`` allow."""
        return self.asked[2]

    def most_slots(self) -> float:
        """How many slots there can be: as many as position weights, where these are numbers."""
        return inf if isinstance(self.position_weights, str) else np.size(np.asarray(self.position_weights))

    def weights_of(self, k: int) -> Floats:
        """The weights of the first ``k`` slots, summing to 1: users with few candidates have the first slots only."""
        if isinstance(self.position_weights, str):
            return weigh_positions(self.position_weights, k)
        given = np.asarray(self.position_weights, dtype=np.float64)
        return weigh_positions(given[:k] if given[:k].any() else np.ones(k), k)

    def attention_at(self, slots: Floats) -> Floats:
        """The weights of slots, counted from 1, as they are given, not brought to a sum of 1, so that pages compare.

        However far down they are; 0 beyond the last.
        """
        if isinstance(self.position_weights, str):
            return weights_at(self.position_weights, slots)
        given = np.append(np.asarray(self.position_weights, dtype=np.float64), 0.0)
        return given[np.minimum(slots, len(given)).astype(np.int64) - 1]

    def _check_combination(self) -> None:
        """One aim, and the exact method for what only it can do."""
        aims = [name for name in AIMS if getattr(self, name) is not None]
        if len(aims) > 1:
            both = Message(Option(aims[0]), " and ", Option(aims[1]))
            raise InputError(both, "are both given", "not go together", "keep one of them.")
        self.check_method(self.method)

    def check_method(self, method: str) -> None:
        """An error where another method than the exact one would leave out a budget, the kind of draws or the clock."""
        only = [name for name in ("draws", *AIMS[1:], "time_limit") if getattr(self, name) not in (None, "lottery")]
        if method != "excalibr" and only:
            must = Message("be 'excalibr' where ", Option(only[0]), " is given")
            hint = Message("leave out ", Option(only[0]), ", or the method.")
            raise InputError("method", f"is {method!r}", must, hint)


def options_of(*values: Any) -> Options:
    """Options from the values of all of them, in their order; the same object for the same values, where it can be."""
    if isinstance(values[_POSITION_WEIGHTS], (str, tuple)):
        try:
            return _kept(*values)
        except TypeError as error:  # an array or a mapping is among them, which has no hash
            if isinstance(error, ExcalibrError):
                raise
    return Options(**dict(zip(_NAMES, values, strict=True)))  # weights in an array, which may change, are read again


@lru_cache(maxsize=256, typed=True)
def _kept(*values: Any) -> Options:
    return Options(**dict(zip(_NAMES, values, strict=True)))


def check_option(name: str, value: Any) -> None:
    """The check of one option, for a value that comes in another way."""
    next(check for each, _, check in _checks(Options) if each == name)(name, value)


def read_options(kind: type[Kind], given: dict[str, Any], also: tuple[str, ...] = ()) -> Kind:
    """Options from keywords; a name that is none is answered with the nearest, or of what could be given ``also``."""
    known = [each.name for each in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise unknown_name("option", name, [*known, *also])
    return kind(**given)


def split_keywords(given: Mapping[str, Any], *kinds: Any) -> tuple[dict[str, Any], ...]:
    """The keywords that are fields of each of these dataclasses, and last those of none.

    >>> split_keywords({"k": 10, "history": None}, Options)
    ({'k': 10}, {'history': None})
    """
    left, parts = dict(given), []
    for kind in kinds:
        names = [each.name for each in dataclasses.fields(kind) if each.name in left]
        parts.append({name: left.pop(name) for name in names})
    return *parts, left


@cache
def _checks(kind: Any) -> list[tuple[str, Any, Check]]:
    declared = [each for each in dataclasses.fields(kind) if each.metadata.get("check") is not None]
    return [(each.name, each.default, each.metadata["check"]) for each in declared]


def _differs(value: Any, default: Any) -> bool:
    if default is None:
        return value is not None
    return not (isinstance(value, type(default)) and bool(value == default))


_NAMES = tuple(each.name for each in dataclasses.fields(Options))
_POSITION_WEIGHTS = _NAMES.index("position_weights")
