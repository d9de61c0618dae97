"""Why the kernel has no answer, as errors: which limits conflict, and how far one can get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from excalibr._messages import Message, Option
from excalibr._problem import AttributeSpan, Batch, too_few_candidates
from excalibr._types import Floats
from excalibr.errors import ExcalibrError, InfeasibleError, InputError, SolverError, explain

__all__ = ["Failure", "error_of"]

(
    FLOOR_OUT_OF_REACH,
    CAP_OUT_OF_REACH,
    LIMITS_CONFLICT,
    LIMITS_NEED_SORTS,
    PINNED_BREAK_LIMITS,
    RELEVANCE_OUT_OF_REACH,
    DEVIATION_OUT_OF_REACH,
    DEVIATION_NOT_FOUND,
    NO_SINGLE_RANKING,
    SINGLE_NOT_FOUND,
    OUT_OF_MEMORY,
    TOO_FEW_CANDIDATES,
    NUMBERS_TOO_LARGE,
) = range(1, 14)

_MISSED = {1: "floors and caps", 2: "relevance_loss", 4: "max_deviation"}


class Failure(NamedTuple):
    """What the kernel says of a user without an answer; ``limit_prices`` (r,) tell which limits conflict."""

    kind: int
    category: int
    wanted: float
    reached: float
    limit_prices: Floats | None


def error_of(failure: Failure, batch: Batch) -> ExcalibrError:
    """The error that says what a failure of one of a batch's users means."""
    wanted, reached, name = failure.wanted, failure.reached, _name(batch.attributes, failure.category)
    budget, max_sorts = batch.options.budget, batch.options.max_sorts
    more = "weights that are more alike leave more digits." if max_sorts is None else "allow more sorts."
    texts = {
        FLOOR_OUT_OF_REACH: f"floors: category {name} cannot reach {wanted:g}; "
        f"the most that any policy shows of it is {reached:.6g}.",
        CAP_OUT_OF_REACH: f"caps: category {name} cannot stay within {wanted:g}; "
        f"the least that any policy shows of it is {reached:.6g}.",
        LIMITS_NEED_SORTS: f"floors and caps: no policy that keeps them was found within max_sorts={max_sorts}, "
        "and there is one. Hint: allow more sorts.",
        PINNED_BREAK_LIMITS: "floors and caps: every slot is pinned, and the pinned items do not keep them.",
        RELEVANCE_OUT_OF_REACH: f"relevance_loss: is {budget:g}, and the other limits alone cost more: the relevance "
        f"within them is at most {reached:.6g}, and {wanted:.6g} was asked.",
        DEVIATION_OUT_OF_REACH: f"max_deviation: is {wanted:g}, and no policy comes nearer than {reached:.6g}.",
        DEVIATION_NOT_FOUND: f"max_deviation: is {wanted:g}, and the nearest policy that was found is at "
        f"{reached:.6g}; that none is nearer is not proven. Hint: {more}",
    }
    if failure.kind in texts:
        return InfeasibleError(texts[failure.kind])
    if failure.kind == LIMITS_CONFLICT:
        return _conflict(failure, batch)
    if failure.kind in (NO_SINGLE_RANKING, SINGLE_NOT_FOUND):
        return _no_single(failure)
    if failure.kind == TOO_FEW_CANDIDATES:
        return too_few_candidates(wanted, reached)
    if failure.kind == NUMBERS_TOO_LARGE:
        return InputError(explain("scores, weights and targets", "overflow", f"be numbers of at most {wanted:g}"))
    return SolverError("the solver ran out of memory. Hint: fewer candidates, slots or categories need less.")


def _conflict(failure: Failure, batch: Batch) -> InfeasibleError:
    """The limits that stand against one another: those with a price when nothing but the limits counts."""
    floors: Any = batch.terms and batch.terms.floors
    caps: Any = batch.terms and batch.terms.caps
    prices = np.zeros(0) if failure.limit_prices is None else failure.limit_prices
    priced = [
        f"{'floor' if prices[category] < 0 else 'cap'} "
        f"{(floors if prices[category] < 0 else caps)[category]:g} of category {_name(batch.attributes, category)}"
        for category in np.flatnonzero(np.abs(prices) > 1e-6).tolist()
    ]
    return InfeasibleError(
        f"floors and caps: no policy keeps all of them; these conflict: {', '.join(priced)}. "
        f"Together they miss by at least {failure.reached:.6g}."
    )


def _no_single(failure: Failure) -> InfeasibleError:
    missed = " and ".join(text for part, text in _MISSED.items() if int(failure.wanted) & part)
    proven = failure.kind == NO_SINGLE_RANKING
    found = "no single ranking keeps it" if proven else "no single ranking that keeps it was found"
    said = f"{missed}: {found}; a lottery does, in expectation. Hint: "
    return InfeasibleError(Message(said, Option("draws", "lottery"), " or wider limits."))


def _name(attributes: Sequence[AttributeSpan], category: int) -> str:
    for attribute in attributes:
        if attribute.start <= category < attribute.stop:
            return f"{category - attribute.start} of {attribute.name!r}"
    return str(category)
