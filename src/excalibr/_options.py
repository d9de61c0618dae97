"""How to rank, written once: ``Reranker``, ``calibrate_batch``, the command line and Spark derive from it.

An option of :func:`excalibr.calibrate` that is the same for all users is one field here, with its help text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from excalibr._calibration import DRAWS
from excalibr._messages import Message, Option, Wording
from excalibr._problem import Attribute, Limits
from excalibr.errors import InputError, explain, unknown_name
from excalibr.methods import METHODS
from excalibr.positions import NAMES as POSITION_WEIGHTS
from excalibr.positions import position_weights as weigh_positions

__all__ = ["Settings", "option", "read_settings"]

Kind = TypeVar("Kind")
Own = TypeVar("Own", bound="Settings")

AIMS = ("trade_off", "relevance_loss", "max_deviation")
BY_CATEGORY = ("category_weights", "floors", "caps", "max_per_category")
"""Options with a value for each category, which tables name and :func:`excalibr.calibrate` numbers."""

DIVERGENCES = ("l1", "kl")

OR_NONE = Wording(", or None", "")
"""Python's word for an option that is left out."""


def option(default: Any, explanation: str) -> Any:
    """A field with the line that help texts show for it."""
    return field(default=default, metadata={"help": explanation})


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """The options of :func:`excalibr.calibrate` that hold for every user, in the same words and with its defaults.

    Examples
    --------
    >>> Settings(k=10, trade_off=0.3).given()
    {'k': 10, 'trade_off': 0.3}
    """

    k: int | None = option(None, "Slots a user gets; without it, as many as the user has candidates.")
    trade_off: float | None = option(
        None, "0 is relevance only, 1 is calibration only; 0.5 when nothing else is asked."
    )
    relevance_loss: float | None = option(None, "Instead of a trade-off: give up at most this part of the relevance.")
    max_deviation: float | None = option(None, "Instead of a trade-off: deviate at most this much from the target.")
    position_weights: str | ArrayLike = option(
        "log", "Attention of each slot: log, sqrt, reciprocal, uniform, or numbers."
    )
    divergence: str = option("l1", "How the distance from the target is measured: l1 or kl.")
    attribute_weights: Any = option(None, "What an attribute's deviation counts, by attribute: genre=1,decade=0.5.")
    category_weights: Any = option(None, "What a category's deviation counts, by category: drama=2,epic=0.5.")
    relative: bool = option(False, "Count a deviation relative to the category's target.")
    floors: Any = option(None, "The least share that a category must have, by category: drama=0.1.")
    caps: Any = option(None, "The largest share that a category may have, by category.")
    max_per_category: Any = option(None, "At most so many slots for a category in every ranking: 2, or drama=2,epic=1.")
    normalise: str | None = option(None, "range maps each user's scores to the range from 0 to 1 first.")
    method: str = option("excalibr", "excalibr is the exact one; lp, greedy, top-k, … to compare with.")
    draws: str = option("lottery", "lottery: a policy may mix rankings; single: one good ranking; even: even draws.")
    tolerance: float = option(1e-9, "Stop at this proven gap.")
    max_sorts: int | None = option(None, "Stop after so many sorts of a user's candidates.")

    def __post_init__(self) -> None:
        if self.k is not None and not is_slots(self.k):
            raise InputError(explain("k", f"is {self.k!r}", Message("be a whole number of at least 1", OR_NONE)))
        if self.trade_off is not None and not _is_share(self.trade_off):
            must = "be from 0 (relevance only) to 1 (calibration only)"
            raise InputError(explain("trade_off", f"is {self.trade_off!r}", must))
        aims = {name: getattr(self, name) for name in AIMS if getattr(self, name) is not None}
        if len(aims) > 1:
            first, second, *_ = aims
            raise InputError(explain(second, Message("is given with ", Option(first)), "be given alone"))
        for name, known in {"method": METHODS, "draws": DRAWS, "divergence": DIVERGENCES}.items():
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        if not isinstance(self.position_weights, str):
            size = np.size(np.asarray(self.position_weights))
            weigh_positions(self.position_weights, size if self.k is None else self.k)
        elif self.position_weights not in POSITION_WEIGHTS:
            raise unknown_name("position_weights", self.position_weights, POSITION_WEIGHTS)
        self.limits()

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, as :func:`excalibr.calibrate` takes them."""
        fields = dataclasses.fields(Settings)
        return {each.name: value for each in fields if _differs(value := getattr(self, each.name), each.default)}

    def numbered(self: Own, categories: Sequence[str], attributes: Sequence[Attribute] = ()) -> Own:
        """The same with the categories' names in options by category turned into their numbers.

        Where there are several attributes these options go by attribute, ``{"genre": {"drama": 0.1}}``.
        """
        given = {name: value for name in BY_CATEGORY if (value := getattr(self, name)) is not None}
        if not attributes:
            changes = {name: _numbered(name, value, categories) for name, value in given.items()}
        else:
            changes = {name: _by_attribute(name, value, categories, attributes) for name, value in given.items()}
        _check_attributes("attribute_weights", self.attribute_weights, attributes)
        return dataclasses.replace(self, **changes) if changes else self

    def limits(self) -> Limits:
        """When a solver may stop."""
        return Limits(tolerance=self.tolerance, max_sorts=self.max_sorts)

    def most_slots(self) -> float:
        """How many slots there can be: as many as position weights, where these are numbers."""
        return np.inf if isinstance(self.position_weights, str) else np.size(np.asarray(self.position_weights))

    def weights_of(self, k: int) -> Any:
        """The weights of the first ``k`` slots, summing to 1: users with few candidates have the first slots only."""
        if isinstance(self.position_weights, str):
            return weigh_positions(self.position_weights, k)
        given = np.asarray(self.position_weights, dtype=np.float64)
        return weigh_positions(given[:k] if given[:k].any() else np.ones(k), k)


def read_settings(kind: type[Kind], options: dict[str, Any]) -> Kind:
    """Settings from keywords; a name that is not an option is answered with the nearest one.

    >>> read_settings(Settings, {"trade_of": 0.5})
    Traceback (most recent call last):
    excalibr.errors.InputError: option: is 'trade_of', must be one of 'k', 'trade_off', 'relevance_loss', \
'max_deviation', 'position_weights', 'divergence', 'attribute_weights', 'category_weights', 'relative', 'floors', \
'caps', 'max_per_category', 'normalise', 'method', 'draws', 'tolerance', 'max_sorts'. Hint: did you mean 'trade_off'?
    """
    known = [each.name for each in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    return kind(**options)


def is_slots(k: object) -> bool:
    """Whether this can be a number of slots."""
    return isinstance(k, (int, np.integer)) and not isinstance(k, bool) and int(k) >= 1


def _numbered(option_name: str, value: Any, categories: Sequence[str]) -> Any:
    """A value by category, with numbers for names; one for all categories as it is."""
    if not isinstance(value, Mapping):
        return value
    numbers = {name: number for number, name in enumerate(categories)}
    for category in value:
        if category not in numbers:
            raise unknown_name(option_name, category, categories)
    return {numbers[category]: amount for category, amount in value.items()}


def _by_attribute(option_name: str, value: Any, categories: Sequence[str], attributes: Sequence[Attribute]) -> Any:
    _check_attributes(option_name, value, attributes)
    columns = {each.name: each.columns for each in attributes}
    return {
        name: _numbered(f"{option_name}[{name!r}]", part, categories[columns[name]]) for name, part in value.items()
    }


def _check_attributes(option_name: str, value: Any, attributes: Sequence[Attribute]) -> None:
    """What goes by attribute names attributes that there are."""
    if value is None:
        return
    names = [each.name for each in attributes]
    if not isinstance(value, Mapping) or not names:
        columns = Message("name the columns of the attributes, ", Option("category", ["genre", "decade"]), ".")
        hint = columns if not names else ""
        must = f"be a mapping by attribute, of {names}" if names else "go with several attributes"
        raise InputError(explain(option_name, f"is {value!r}", must, hint))
    for name in value:
        if name not in names:
            raise unknown_name(option_name, name, names)


def _is_share(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) <= 1.0


def _differs(value: Any, default: Any) -> bool:
    return (
        not (isinstance(value, type(default)) and bool(value == default)) if default is not None else value is not None
    )
