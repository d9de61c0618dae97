"""Which visit of each user this is: one for all, or a column of the users table."""

from __future__ import annotations

from typing import Any

import numpy as np

from excalibr._types import Booleans, Floats, Integers
from excalibr._visits import LATEST_VISIT
from excalibr.errors import InputError, explain
from excalibr.tables._ids import keys_of
from excalibr.tables._options import Tables
from excalibr.tables._user_targets import read_own_numbers

__all__ = ["read_visits", "visits_of"]

NO_VISIT = -1


def visits_of(own: Floats | None, options: Tables) -> tuple[Integers | None, Booleans | None]:
    """(users,) each user's visit, −1 for none, and which users' own cannot be; None and None where nobody has any.

    ``own`` (users,) has nan for users without a visit of their own, who are on the visit for all, if there is one.

    >>> visits, bad = visits_of(np.array([2.0, np.nan, 0.5]), Tables(targets={}, visit=0))
    >>> visits.tolist(), bad.tolist()
    ([2, 0, -1], [False, False, True])
    """
    if own is None and options.visit is None:
        return None, None
    for_all = NO_VISIT if options.visit is None else options.visit
    if own is None:
        return np.array(for_all), None
    given = np.where(np.isnan(own), for_all, own)
    bad = ~np.isnan(own) & ~((own >= 0) & (own <= LATEST_VISIT) & (own == np.floor(own)))
    return np.where(bad, NO_VISIT, given).astype(np.int64), bad


def read_visits(users: Any, options: Tables) -> Integers | None:
    """(users,) each user's visit, −1 for none, or None where nobody has any; a visit that cannot be is an error."""
    own = read_own_numbers(users, options)[-1]
    visits, bad = visits_of(own, options)
    if own is not None and bad is not None and bad.any():
        at = int(np.argmax(bad))
        found = f"has the visit {own[at]:g} for user {keys_of(users)[at]!r}"
        raise InputError(explain("users", found, "have visits that are whole numbers of at least 0"))
    return None if visits is None else np.broadcast_to(visits, len(users))
