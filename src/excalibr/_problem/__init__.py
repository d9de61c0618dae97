"""What is asked for one user, checked once and then immutable: the only room where inputs are checked."""

from excalibr._problem.checks import SUM_TOLERANCE, WIDEST_BAND, WIDEST_RANGE, is_real, is_whole, without_negligible
from excalibr._problem.memberships import CategoriesLike, Memberships
from excalibr._problem.penalty import KL_SMOOTHING, Penalty
from excalibr._problem.question import Limits, Problem
from excalibr._problem.reading import ByCategory, Wishes
from excalibr._problem.sorting import first_allowed, relevance_order, room_left
from excalibr._problem.terms import Attribute, Band, Shown, Terms

__all__ = [
    "KL_SMOOTHING",
    "SUM_TOLERANCE",
    "WIDEST_BAND",
    "WIDEST_RANGE",
    "Attribute",
    "Band",
    "ByCategory",
    "CategoriesLike",
    "Limits",
    "Memberships",
    "Penalty",
    "Problem",
    "Shown",
    "Terms",
    "Wishes",
    "first_allowed",
    "is_real",
    "is_whole",
    "relevance_order",
    "room_left",
    "without_negligible",
]
