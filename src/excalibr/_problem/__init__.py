"""What is asked, for any number of users: checked once, and then immutable. One user is a view, :class:`Problem`."""

from excalibr._problem.batch import Batch
from excalibr._problem.by_category import ByCategory
from excalibr._problem.faults import NEVER_RANKED, Status, too_few_candidates
from excalibr._problem.memberships import CategoriesLike, Memberships
from excalibr._problem.ordering import relevance_order
from excalibr._problem.penalty import Penalty
from excalibr._problem.problem import Problem, read_problem, require_plain
from excalibr._problem.targets import Targets
from excalibr._problem.terms import AttributeSpan, Band, Shown

__all__ = [
    "NEVER_RANKED",
    "AttributeSpan",
    "Band",
    "Batch",
    "ByCategory",
    "CategoriesLike",
    "Memberships",
    "Penalty",
    "Problem",
    "Shown",
    "Status",
    "Targets",
    "read_problem",
    "relevance_order",
    "require_plain",
    "too_few_candidates",
]
