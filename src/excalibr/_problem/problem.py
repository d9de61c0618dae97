"""One user's question: a view of a batch, which every method takes; and the way in for a single user.

Symbols: n candidates, k slots, r categories; s scores, A memberships (n × r), q target, e position weights, λ
trade-off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excalibr._arrays import floats, frozen
from excalibr._messages import Message, Option
from excalibr._native import kernel
from excalibr._options import Options, check_option, read_options
from excalibr._problem.batch import Batch
from excalibr._problem.by_category import CategoryReader
from excalibr._problem.faults import error_of_fault
from excalibr._problem.memberships import CategoriesLike, Memberships, read_rows
from excalibr._problem.penalty import Penalty
from excalibr._problem.reading import read_shown, read_terms, require_room, require_same_names
from excalibr._problem.terms import AttributeSpan, Band
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import ExcalibrError, InputError, InputTypeError
from excalibr.positions import position_weights as weigh_positions

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Problem:
    r"""A user's candidates, the target and what is asked: checked by :meth:`of`, immutable afterwards.

    .. math::

        \max_x\; (1-\lambda)\, s^\top x - \lambda \sum_j |(A^\top x)_j - q_j|
        \quad\text{over the exposures } x \text{ of lotteries over rankings of } k \text{ candidates}

    Attributes
    ----------
    batch, user
        What was checked, of which this is one user.
    trade_off
        λ in [0, 1]: 0 is relevance only, 1 is calibration only.

    Examples
    --------
    >>> problem = Problem.of([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
    >>> problem.n, problem.k, problem.r
    (3, 2, 2)
    """

    batch: Batch
    user: int
    trade_off: float

    def __init__(self, batch: Batch, user: int, trade_off: float) -> None:
        fields = self.__dict__  # past the guard of a frozen dataclass, and quicker than an update
        fields["batch"], fields["user"], fields["trade_off"] = batch, user, trade_off

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        categories: CategoriesLike | Any,
        target: ArrayLike | Any,
        *,
        pinned: Any = None,
        shown: Any = None,
        item_prices: Any = None,
        **options: Any,
    ) -> Problem:
        """Check the arguments of :func:`excalibr.calibrate` and build the problem."""
        return read_problem(scores, categories, target, read_options(Options, options), pinned, shown, item_prices)

    @property
    def options(self) -> Options:
        """How to rank."""
        return self.batch.options

    @property
    def attributes(self) -> tuple[AttributeSpan, ...]:
        """The attributes by name; empty where the caller gave a single array."""
        return self.batch.attributes

    @property
    def plain(self) -> bool:
        """Whether nothing is asked beyond the paper's program."""
        return self.batch.plain

    @property
    def n(self) -> int:
        """Number of candidates."""
        return self.batch.starts.item(self.user + 1) - self.batch.starts.item(self.user)

    @property
    def k(self) -> int:
        """Number of slots."""
        return self.batch.slots.item(self.user)

    @property
    def r(self) -> int:
        """Number of categories, of all attributes together."""
        return self.batch.r

    @property
    def scores(self) -> Floats:
        """s, (n,) finite."""
        return self._own(self.batch.scores)

    @cached_property
    def memberships(self) -> Memberships:
        """A, n × r, non-negative, rows sum to 1; for several attributes their columns side by side."""
        rows, items = self.batch.memberships, self.batch.items
        if items is None and self.batch.users == 1:
            return rows
        first, last = self.batch.starts[self.user : self.user + 2].tolist()
        return rows.of(np.arange(first, last) if items is None else items[first:last])

    @property
    def target(self) -> Floats:
        """q, (r,): what this page should show of each category.

        Non-negative with a sum of 1, but for the lower edge of a band, or what is left to show after earlier pages.
        """
        return self._edges[0]

    @property
    def high(self) -> Floats:
        """(r,) the upper edge of a band; of a target that is none, the target."""
        return self._edges[1]

    @cached_property
    def _edges(self) -> tuple[Floats, Floats]:
        return self.batch.edges(self.user)

    @cached_property
    def position_weights(self) -> Floats:
        """e, (k,) non-negative, sums to 1, in slot order."""
        start = int(self.batch.weight_starts[self.user])
        return self.batch.position_weights[start : start + self.k]

    @property
    def weights(self) -> Floats:
        """(r,) what a unit of deviation of each category costs, against 1 in the paper."""
        terms = self.batch.terms
        weights = np.ones(self.r) if terms is None or terms.weights is None else terms.weights
        if terms is None or not terms.relative:
            return weights
        return CategoryReader(self.attributes, self.r).relative(weights, *self.batch.checked.edges(self.user))

    @property
    def unavailable(self) -> Booleans:
        """(n,) true for the candidates that were shown before."""
        terms = self.batch.terms
        if terms is None or terms.unavailable is None:
            return np.zeros(self.n, dtype=np.bool_)
        return self._own(terms.unavailable)

    @property
    def pins(self) -> tuple[Integers, Integers]:
        """Pinned slots, and the candidates that keep them."""
        terms = self.batch.terms
        if terms is None or terms.pins is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        starts, slots, candidates = terms.pins
        own = slice(*starts[self.user : self.user + 2].tolist())
        return slots[own], candidates[own]

    @property
    def groups(self) -> tuple[Integers, Integers] | None:
        """(n,) each candidate's group, −1 for none, and how many of each a ranking may have; None without limits."""
        terms = self.batch.terms
        if terms is None or terms.groups is None:
            return None
        of_row, limits = terms.groups
        return self._own(of_row if self.batch.items is None else of_row[self.batch.items]), limits

    @property
    def gains(self) -> Floats:
        """(1 − λ)·s less the items' prices: what a unit of exposure of each is worth before categories count."""
        gains, prices = (1.0 - self.trade_off) * self.scores, self.item_prices
        return gains if prices is None else gains - prices

    @cached_property
    def item_prices(self) -> Floats | None:
        """(n,) what a unit of exposure of each candidate costs besides; None where nothing does."""
        prices, items = self.batch.item_prices, self.batch.items
        return None if prices is None else self._own(prices if items is None else prices[items])

    @property
    def penalty(self) -> Penalty:
        """What the category distribution costs in the objective, λ included, in the solver's general form."""
        return self.penalty_at(self.trade_off)

    @property
    def divergence(self) -> Penalty:
        """What the category distribution costs by itself: the deviation that λ multiplies."""
        return self.penalty_at(1.0)

    def penalty_at(self, trade_off: float) -> Penalty:
        """The same with another λ."""
        slopes, terms = trade_off * self.weights, self.batch.terms
        base = None if terms is None or terms.seen is None else terms.seen.row(self.user)
        return Penalty(self.target, self.high, slopes, slopes, self.options.asked[0], base)

    def distances(self, shares: Floats) -> Floats:
        """How far each share is from its target, or from the nearer edge of its band; for shapes (r,) and (…, r)."""
        return np.asarray(np.maximum(self.target - shares, 0.0) + np.maximum(shares - self.high, 0.0))

    def _prices_of(self, categories: Integers, values: Floats) -> Floats:
        """(r,) prices of which these are known; those of what cannot be shown follow from the target."""
        prices = self.penalty.price_of_nothing
        prices[categories] = values
        return prices

    def with_trade_off(self, trade_off: float) -> Problem:
        """The same problem at another trade-off."""
        check_option("trade_off", trade_off)
        asked = self.asking(relevance_loss=None, max_deviation=None) if self.options.asked[1] else self
        return Problem(asked.batch, self.user, abs(float(trade_off)))  # -0.0 is 0.0

    def with_item_prices(self, prices: ArrayLike) -> Problem:
        """The same problem, of a batch of one, with a price for each candidate, subtracted from its gain."""
        return Problem(self.batch.with_item_prices(prices), self.user, self.trade_off)

    def asking(self, **changes: Any) -> Problem:
        """The same problem with other options that are of the solve: a budget, draws, tolerance, a cap on sorts."""
        return Problem(self.batch.renewed(options=replace(self.options, **changes)), self.user, self.trade_off)

    def __repr__(self) -> str:
        return f"Problem({self.k} of {self.n} candidates, {self.r} categories, trade_off {self.trade_off:g})"

    def _own(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """The part of values of all candidates that is the user's."""
        if self.batch.users == 1:
            return values
        return values[self.batch.starts[self.user] : self.batch.starts[self.user + 1]]


def require_plain(problem: Problem, method: str) -> None:
    """An error where more is asked than other methods can do, which would leave it out in silence."""
    problem.options.check_method(method)
    if not problem.plain:
        others = " takes every option; the others one attribute, a distribution and the L1 divergence."
        hint = Message(Option("method", "excalibr"), others)
        raise InputError("method", f"is {method!r}", "be 'excalibr' for what is asked beyond the paper", hint)


def read_problem(
    scores: ArrayLike,
    categories: Any,
    target: Any,
    options: Options,
    pinned: Any = None,
    shown: Any = None,
    item_prices: Any = None,
) -> Problem:
    """One user's arrays checked and packed by the kernel, as a batch of one."""
    attributes: tuple[AttributeSpan, ...] = ()
    checked, banded, unit_range = None, False, options.normalise is not None
    kind = type(categories)
    if (kind is np.ndarray or kind is Memberships) and type(scores) is type(target) is np.ndarray:
        rows = categories if kind is np.ndarray else read_rows("", categories)[0]
        try:  # noqa: SIM105 — a context manager would take as long as a third of the check
            # Float64 arrays without gaps, as a service has them, need no conversion. Nor may they be of a class of
            # their own: the kernel sees the numbers alone, and nothing of a mask over them.
            checked = kernel.Checked(scores, None, None, rows, target, None, None, None, unit_range)
        except (TypeError, ValueError):
            pass
    if checked is None:  # all else is converted, or refused with a reason
        checked, attributes, banded = _read_arrays(scores, categories, target, options)
    if not checked.sound:
        raise error_of_fault(checked.fault(0), attributes)
    batch = Batch.of_one(checked, _setting(options, checked.candidates))
    if attributes or banded:
        batch = replace(batch, attributes=attributes, banded=banded)
    if options.asks_terms or pinned is not None or shown is not None:
        batch = _with_terms(batch, pinned, shown)
    if item_prices is not None:
        batch = batch.with_item_prices(item_prices)
    return Problem(batch, 0, options.asked_trade_off)


def _read_arrays(
    scores: ArrayLike, categories: Any, target: Any, options: Options
) -> tuple[kernel.Checked, tuple[AttributeSpan, ...], bool]:
    """What callers write as the kernel takes it; the attributes, and whether there is a band."""
    values = floats("scores", scores, ("n",))
    if not len(values):
        raise InputError("scores", "are empty", "have at least one candidate")
    # A sparse matrix by keys (DOK) is a mapping too, but not one from names.
    named = isinstance(categories, Mapping) and not hasattr(categories, "tocsr")
    parts = {"": (categories, target)}
    if named:
        require_same_names(categories, target, "target")
        parts = {f"[{name!r}]": (rows, target[name]) for name, rows in categories.items()}
    elif isinstance(target, Mapping):
        raise InputTypeError("target", "is a mapping", "be an array where categories are an array")
    rows, edges, ends = [], [], [0]
    for label, (given, wanted) in parts.items():
        part, _, r = read_rows(f"categories{label}", given, len(values))
        rows.append(part)
        edges.append(_edges(wanted, r, f"target{label}"))
        ends.append(ends[-1] + r)
    lows, highs = zip(*edges, strict=True)
    bands = np.array([high is not low for low, high in edges])
    upper = np.concatenate(highs) if bands.any() else None
    targets = (np.concatenate(lows), upper, np.array(ends[1:]), bands)
    checked = kernel.Checked(values, None, None, rows, *targets, options.normalise is not None)
    attributes = tuple(map(AttributeSpan, categories, ends[:-1], ends[1:])) if named else ()
    return checked, attributes, upper is not None


def _edges(target: Any, r: int, name: str) -> tuple[Floats, Floats]:
    """The lower and the upper edge of a target: of one that is no band, the same array."""
    if isinstance(target, Band):
        if target.low.shape != (r,):
            raise InputError(name, f"is a band of shape {target.low.shape}", f"have shape ({r},)")
        return target.low, target.high
    array = floats(name, target, (r,), "one for each category")
    return array, array


def _with_terms(batch: Batch, pinned: Any, shown: Any) -> Batch:
    seen, unavailable = (None, None) if shown is None else read_shown(shown, batch.memberships, batch.attributes)
    pins = {} if pinned is None else {0: pinned}
    terms = read_terms(batch, pins, seen, unavailable, _refuse)
    require_room(batch, terms)
    return batch.renewed(terms=terms)


def _refuse(_: int, error: ExcalibrError) -> None:
    raise error


@lru_cache(maxsize=512)
def _setting(options: Options, n: int) -> dict[str, Any]:
    """All that a batch of one has beside what was checked: the same for all users with as many candidates."""
    if not n:
        raise InputError("scores", "are empty", "have at least one candidate")
    k = n if options.k is None else int(options.k)
    if k > n:
        hint = "pass more candidates, or a smaller k."
        raise InputError("k", f"is {options.k}", f"be at most the number of candidates ({n})", hint)
    starts, slots, zero = (frozen(np.array(places, dtype=np.int64)) for places in ([0, n], [k], [0]))
    return {
        "options": options,
        "starts": starts,
        "slots": slots,
        "trade_offs": frozen(np.array([options.asked_trade_off])),
        "weight_starts": zero,
        "position_weights": weigh_positions(options.position_weights, k),
        "statuses": zero,
        "reasons": {},
    }
