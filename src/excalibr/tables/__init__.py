"""From tables to the arrays of a batch: ids as numbers, items as rows of shares, histories as targets.

Everything is put in the order of its ids first, so that the order of input rows can never change a result.
"""

import typing
import warnings

from excalibr.tables._candidates import CandidateArrays, read_candidates
from excalibr.tables._from_arrays import from_arrays
from excalibr.tables._items import ItemArrays, read_items
from excalibr.tables._options import Tables
from excalibr.tables._pages import Pinned, Seen, read_pinned, read_shown
from excalibr.tables._reranker import Reranker
from excalibr.tables._results import Results
from excalibr.tables._summary import NO_ROOM, Note, items_text, review_items, warn_all
from excalibr.tables._user_targets import Wanted, read_visits, read_wanted, visits_of

__all__ = [
    "NO_ROOM",
    "CandidateArrays",
    "ItemArrays",
    "Note",
    "Pinned",
    "Reranker",
    "Results",
    "Seen",
    "Tables",
    "Wanted",
    "from_arrays",
    "items_text",
    "read_candidates",
    "read_items",
    "read_pinned",
    "read_shown",
    "read_visits",
    "read_wanted",
    "review_items",
    "visits_of",
    "warn_all",
]

_RENAMED = {"Candidates": "CandidateArrays", "Items": "ItemArrays"}


def __getattr__(name: str) -> typing.Any:
    if name not in _RENAMED:
        raise AttributeError(f"module 'excalibr.tables' has no attribute {name!r}")
    message = f"excalibr.tables.{name} goes with the next version. Hint: it is {_RENAMED[name]}."
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return globals()[_RENAMED[name]]
