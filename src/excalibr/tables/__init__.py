"""From tables to the arrays of a batch: ids as numbers, items as rows of shares, histories as targets.

Everything is put in the order of its ids first, so that the order of input rows can never change a result.
"""

from excalibr.tables._candidates import Candidates, read_candidates
from excalibr.tables._items import Items, read_items
from excalibr.tables._options import Tables
from excalibr.tables._pages import Pinned, Seen, read_pinned, read_shown
from excalibr.tables._reranker import Reranker
from excalibr.tables._results import Results
from excalibr.tables._summary import NO_ROOM, Note, items_text, review_items, warn_all
from excalibr.tables._user_targets import Wanted, read_wanted

__all__ = [
    "NO_ROOM",
    "Candidates",
    "Items",
    "Note",
    "Pinned",
    "Reranker",
    "Results",
    "Seen",
    "Tables",
    "Wanted",
    "items_text",
    "read_candidates",
    "read_items",
    "read_pinned",
    "read_shown",
    "read_wanted",
    "review_items",
    "warn_all",
]
