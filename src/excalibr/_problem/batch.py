"""Batch: what is asked for any number of users, checked once and immutable afterwards; a single user is a batch of one.

What is wrong with the arrays as such (shapes, types) is an error. What is wrong with one user's numbers is that user's
status, and stops nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from excalibr._arrays import floats, frozen, numbers, require_all, whole_numbers
from excalibr._messages import Message, Option
from excalibr._native import kernel
from excalibr._options import Options
from excalibr._problem.faults import Status, error_of_fault, status_of_faults
from excalibr._problem.memberships import CategoriesLike, Memberships, read_rows
from excalibr._problem.reading import Pinned, read_terms, total_attention
from excalibr._problem.targets import Targets
from excalibr._problem.terms import AttributeSpan, BatchTerms
from excalibr._types import Booleans, Floats, Integers
from excalibr.errors import ExcalibrError, InputError

if TYPE_CHECKING:
    from excalibr._problem.problem import Problem

_MUSTS = {
    Status.NO_CANDIDATES: "have at least one",
    Status.BAD_TRADE_OFF: "have one from 0 to 1",
    Status.BAD_K: "have a whole number of slots of at least 1",
}

WIDEST_PRICE = 1e150
"""Prices may be no larger: beyond it the squares of differences overflow."""


@dataclass(frozen=True, eq=False, init=False)
class Batch:
    """The questions of many users, user by user in flat arrays."""

    checked: kernel.Checked  # scores, category rows and targets, checked and packed by the kernel
    options: Options
    starts: Integers  # (users + 1,) where each user's candidates begin
    slots: Integers  # (users,) no more than the user has candidates
    trade_offs: Floats  # (users,)
    weight_starts: Integers  # (users,) where the weights of each user's slots begin
    position_weights: Floats
    statuses: Integers  # (users,) codes of :class:`Status`, as far as the inputs tell
    reasons: Mapping[int, str]  # why users failed, in words
    attributes: tuple[AttributeSpan, ...] = ()  # which columns are which; empty for a single attribute
    terms: BatchTerms | None = None  # what is asked beyond that
    items: Integers | None = None  # (N,) which row of the categories each candidate is; None: its own
    banded: bool = False  # whether a target is a band
    item_prices: Floats | None = None  # (rows,) what a unit of exposure of each row costs, subtracted from the gains

    def __init__(self, **fields: Any) -> None:
        # One update in place of a guarded assignment per field, which would take as long as all checks of one call.
        # Defaults are found in the class.
        self.__dict__.update(fields)

    @classmethod
    def of_one(cls, checked: kernel.Checked, setting: dict[str, Any]) -> Batch:
        """A batch of one user, of whom all else is known: in a third of the time of the constructor."""
        batch = cls.__new__(cls)
        fields = batch.__dict__
        fields.update(setting)
        fields["checked"] = checked
        return batch

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        indptr: ArrayLike,
        categories: Any,
        targets: CategoriesLike | Targets,
        *,
        options: Options | None = None,
        items: ArrayLike | None = None,
        trade_offs: ArrayLike | None = None,
        slots: ArrayLike | None = None,
        attributes: tuple[AttributeSpan, ...] = (),
        highs: Floats | None = None,
        pinned: Pinned | None = None,
        shown: tuple[Integers, Integers, Floats] | None = None,
    ) -> Batch:
        """Check the arguments of :func:`excalibr.calibrate_batch` and build the batch.

        Beyond them: ``attributes`` says what the columns are, ``targets`` may be :class:`Targets`, and ``highs`` are
        the upper edges of dense ones that are bands; ``pinned`` has slots and candidates by user, ``shown`` users in
        rising order, rows of the categories and their attention.
        """
        options = options or Options()
        values = floats("scores", scores, ("N",))
        starts = _starts(indptr, len(values))
        users, sizes = len(starts) - 1, np.diff(starts)
        rows, height, r = read_rows("categories", categories)
        item_rows = _items(items, len(values), height)
        lows, upper = _targets(targets, highs, users, r)
        ends = np.array([each.stop for each in attributes]) if attributes else None
        checked = kernel.Checked(
            values, starts, item_rows, rows, lows, upper, ends, None, options.normalise is not None
        )
        user_trade_offs, bad_trade_offs = _trade_offs(trade_offs, users, options)
        user_slots, bad_slots = _slots(slots, sizes, options)
        weight_starts, position_weights = _position_weights(user_slots, options)
        batch = cls(
            checked=checked,
            options=options,
            attributes=attributes,
            starts=starts,
            items=item_rows,
            slots=user_slots,
            trade_offs=user_trade_offs,
            weight_starts=weight_starts,
            position_weights=position_weights,
            statuses=frozen(_statuses(checked, bad_slots, bad_trade_offs, sizes)),
            reasons={},
            banded=upper is not None,
        )
        return batch._with_terms(pinned or {}, shown) if options.asks_terms or pinned or shown is not None else batch

    @property
    def users(self) -> int:
        return len(self.starts) - 1

    @property
    def r(self) -> int:
        """Number of categories, of all attributes together."""
        return self.checked.r

    @property
    def plain(self) -> bool:
        """Whether nothing is asked beyond the paper's program: one attribute, distributions, the L1 divergence."""
        return self.terms is None and not self.attributes and not self.banded and self.options.plain

    @property
    def good(self) -> Booleans:
        """(users,) whether the user can be calibrated."""
        return np.asarray(self.statuses < Status.NO_CANDIDATES)

    @cached_property
    def scores(self) -> Floats:
        """(N,) the scores of all candidates, brought to the range from 0 to 1 where that is asked."""
        return frozen(self.checked.scores)

    @cached_property
    def memberships(self) -> Memberships:
        """The rows of the categories, with sums of 1 for each attribute."""
        checked = self.checked
        return Memberships(frozen(checked.indptr), frozen(checked.indices), frozen(checked.values), checked.r)

    def edges(self, user: int) -> tuple[Floats, Floats]:
        """(r,) the lower and the upper edge of what a user's page should show; the same where the target is no band."""
        low, high = self.checked.edges(user)
        if self.terms is None or self.terms.page_parts is None or self.terms.seen is None:
            return low, high
        part, base = self.terms.page_parts[user], self.terms.seen.row(user)
        return frozen(low / part - base), frozen(high / part - base)

    def problem(self, user: int) -> Problem:
        """One user's question; an error where it cannot be asked."""
        from excalibr._problem.problem import Problem

        if self.statuses[user] >= Status.NO_CANDIDATES:
            raise self.error(user)
        return Problem(self, user, float(self.trade_offs[user]))

    def error(self, user: int) -> ExcalibrError:
        """Why a user cannot be calibrated: the error that :func:`excalibr.calibrate` raises for the same numbers."""
        if user in self.reasons:
            return InputError(self.reasons[user])
        fault = self.checked.fault(user)
        if fault[0]:
            return error_of_fault(fault, self.attributes)
        status = Status(self.statuses[user])
        must = _MUSTS.get(status, "be one who can be calibrated")
        return InputError(f"user {user}", f"has {status.text}", must)

    def with_statuses(self, statuses: Integers) -> Batch:
        """The same batch with what is known of its users from elsewhere; a worse status of our own stays."""
        return self.renewed(statuses=frozen(np.where(self.good, statuses, self.statuses)))

    def with_item_prices(self, prices: ArrayLike | None) -> Batch:
        """The same users with a price for each row of the categories."""
        checked = None if prices is None else _item_prices(prices, self.memberships.n_candidates)
        if checked is not None and self.options.asked[1]:
            name = "max_deviation" if self.options.relevance_loss is None else "relevance_loss"
            hint = Message("give ", Option("trade_off"), " instead.")
            raise InputError(name, "is given with prices of items", "be left out", hint)
        return self.renewed(item_prices=checked)

    def _with_terms(self, pinned: Pinned, shown: tuple[Integers, Integers, Floats] | None) -> Batch:
        """The same batch with what its options ask beyond the paper, and with pins and earlier pages by user."""
        statuses, reasons = self.statuses.copy(), dict(self.reasons)

        def refuse(user: int, error: ExcalibrError) -> None:
            if statuses[user] < Status.NO_CANDIDATES:
                statuses[user], reasons[user] = Status.FAILED, error.args[0]

        seen = None
        if shown is not None:
            owners, rows, weights = shown
            users, begins = np.unique(owners, return_index=True)
            attentions = np.zeros(self.users)
            attentions[users] = [total_attention(own) for own in np.split(weights, begins[1:])] if len(users) else []
            seen = self.memberships.sums(rows, owners, weights, self.users), attentions
        terms = read_terms(self, pinned, seen, None, refuse)
        return self.renewed(terms=terms, statuses=frozen(statuses), reasons=reasons)

    def renewed(self, **changes: Any) -> Batch:
        """The same with other fields, and with what was computed from those that stay."""
        made = replace(self, **changes)
        kept = vars(self).keys() - vars(made).keys()
        vars(made).update({name: vars(self)[name] for name in kept})
        return made


def _item_prices(prices: ArrayLike, rows: int) -> Floats:
    """Finite numbers of any sign."""
    array = numbers("item_prices", prices, (rows,), "a price for each row of categories")
    require_all("item_prices", array, np.abs(array) <= WIDEST_PRICE, f"be within ±{WIDEST_PRICE:g}")
    return frozen(array)


def _starts(indptr: ArrayLike, size: int) -> Integers:
    starts = whole_numbers("indptr", indptr, ("users + 1",))
    if not len(starts):
        raise InputError("indptr", "is empty", "have at least a 0: it has shape (users + 1,)")
    if starts[0] != 0 or starts[-1] != size or (np.diff(starts) < 0).any():
        found = f"goes from {starts[0]} to {starts[-1]}"
        raise InputError("indptr", found, f"rise from 0 to the number of scores ({size}), never falling")
    return frozen(starts)


def _items(items: ArrayLike | None, size: int, rows: int) -> Integers | None:
    if items is None:
        if rows != size:
            must = f"have {size} rows, one for each score"
            raise InputError("categories", f"have {rows} rows", must, "pass items=… to share rows.")
        return None
    return frozen(whole_numbers("items", items, (size,), "a row of categories for each score", below=rows))


def _targets(targets: Any, highs: Floats | None, users: int, r: int) -> tuple[Any, Floats | None]:
    """The lower edges as the kernel takes them, and the upper ones; a single target for all alike stays one."""
    if isinstance(targets, Targets):
        return targets.for_kernel
    is_sparse = hasattr(targets, "tocsr")
    given = targets if is_sparse else floats("targets", targets)
    if tuple(given.shape) not in ((users, r), *([] if is_sparse else [(r,)])):
        must = f"have shape ({users}, {r}), a row for each user, or ({r},), one for all"
        raise InputError("targets", f"have shape {tuple(given.shape)}", must)
    if is_sparse:
        rows, each = Memberships.of_sparse("targets", given), np.arange(users)
        return Targets.of_one_attribute(rows.sums(each, each, np.ones(users), users)).for_kernel
    return given.reshape(-1), None if highs is None else np.ascontiguousarray(highs, dtype=np.float64).reshape(-1)


def _trade_offs(given: ArrayLike | None, users: int, options: Options) -> tuple[Floats, Booleans]:
    """Each user's trade-off, and which of them cannot be; those are 0."""
    values = _each(given, "trade_offs", users, options.asked_trade_off)
    bad = ~((values >= 0) & (values <= 1))
    return frozen(np.where(bad, 0.0, values)), bad


def _slots(given: ArrayLike | None, sizes: Integers, options: Options) -> tuple[Integers, Booleans]:
    """Each user's slots, no more than candidates or position weights, and which cannot be; those are one at most."""
    values = _each(given, "slots", len(sizes), np.inf if options.k is None else float(options.k))
    bad = ~((values >= 1) & (values == np.floor(values)))
    most = np.minimum(sizes, options.most_slots())
    return frozen(np.minimum(np.where(bad, 1, values), most).astype(np.int64)), bad


def _statuses(checked: kernel.Checked, bad_slots: Booleans, bad_trade_offs: Booleans, sizes: Integers) -> Integers:
    """The most serious status that holds for each user."""
    statuses = np.zeros(len(sizes), dtype=np.int64)
    statuses[bad_slots] = Status.BAD_K
    statuses[bad_trade_offs] = Status.BAD_TRADE_OFF
    if not checked.sound:
        status_of_faults(checked.faults, statuses)
    statuses[sizes == 0] = Status.NO_CANDIDATES
    return statuses


def _position_weights(slots: Integers, options: Options) -> tuple[Integers, Floats]:
    """Where the weights of each user's slots begin, and the weights: once for each different number of slots."""
    sizes, group = np.unique(slots, return_inverse=True)
    weights = [np.empty(0), *(options.weights_of(int(size)) for size in sizes if size)]
    return frozen((np.cumsum(sizes) - sizes)[group]), frozen(np.concatenate(weights))


def _each(values: ArrayLike | None, argument: str, users: int, default: float) -> Floats:
    return np.full(users, default) if values is None else numbers(argument, values, (users,), "one for each user")
