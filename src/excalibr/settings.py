"""How to rank, written once: ``Reranker``, ``calibrate_batch``, the command line and Spark derive from it.

An option of :func:`excalibr.calibrate` that is the same for all users is one field here, with its help text.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from excalibr.errors import InputError, explain, unknown_name
from excalibr.methods import METHODS
from excalibr.positions import NAMES as POSITION_WEIGHTS
from excalibr.positions import position_weights as weigh_positions
from excalibr.problem import Limits

__all__ = ["Settings", "option", "read_settings"]

Kind = TypeVar("Kind")


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
    position_weights: str | ArrayLike = option(
        "log", "Attention of each slot: log, sqrt, reciprocal, uniform, or numbers."
    )
    divergence: str = option("l1", "How far from the target is measured: l1.")
    method: str = option("excalibr", "excalibr is the exact one; lp, greedy, top-k, … to compare with.")
    draws: str = option("lottery", "lottery: a policy may mix rankings.")
    tolerance: float = option(1e-9, "Stop at this proven gap.")
    max_sorts: int | None = option(None, "Stop after so many sorts of a user's candidates.")

    def __post_init__(self) -> None:
        if self.k is not None and not is_slots(self.k):
            raise InputError(explain("k", f"is {self.k!r}", "be a whole number of at least 1, or None"))
        if self.trade_off is not None and not _is_share(self.trade_off):
            must = "be from 0 (relevance only) to 1 (calibration only)"
            raise InputError(explain("trade_off", f"is {self.trade_off!r}", must))
        if self.method not in METHODS:
            raise unknown_name("method", self.method, METHODS)
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

    def limits(self) -> Limits:
        """When a solver may stop."""
        return Limits(tolerance=self.tolerance, max_sorts=self.max_sorts)

    def is_plain(self) -> bool:
        """Whether the compiled loop over users answers exactly this: the paper's program by the exact method."""
        numbers = {"k", "trade_off", "position_weights", "tolerance", "max_sorts"}
        return self.given().keys() <= numbers

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
    excalibr.errors.InputError: option: is 'trade_of', must be one of 'k', 'trade_off', 'position_weights', \
'divergence', 'method', 'draws', 'tolerance', 'max_sorts'. Hint: did you mean 'trade_off'?
    """
    known = [each.name for each in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    return kind(**options)


def is_slots(k: object) -> bool:
    """Whether this can be a number of slots."""
    return isinstance(k, (int, np.integer)) and not isinstance(k, bool) and int(k) >= 1


def _is_share(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) <= 1.0


def _differs(value: Any, default: Any) -> bool:
    return (
        not (isinstance(value, type(default)) and bool(value == default)) if default is not None else value is not None
    )
