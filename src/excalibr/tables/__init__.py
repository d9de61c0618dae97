"""From tables to the arrays of a batch: ids as numbers, items as rows of shares, histories as targets.

Everything is put in the order of its ids first, so that the order of input rows can never change a result.
"""

from excalibr.tables.candidates import Candidates, read_candidates
from excalibr.tables.items import Items, read_items
from excalibr.tables.options import Tables
from excalibr.tables.pages import Pinned, Seen, read_pinned, read_shown
from excalibr.tables.summary import NO_ROOM, Note, items_text, review_items, warn_all
from excalibr.tables.visits import read_visits, visits_of
from excalibr.tables.wanted import Wanted, read_wanted

__all__ = [
    "NO_ROOM",
    "Candidates",
    "Items",
    "Note",
    "Pinned",
    "Seen",
    "Tables",
    "Wanted",
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
