"""Many users at once, on plain arrays: checked together, solved on threads, one bad user stopping nobody."""

from excalibr._batch.answers import Effort, Lotteries, Policies, choose_rankings, join
from excalibr._batch.checked import Batch, Beyond, Status
from excalibr._batch.solving import calibrate_batch, measure, solve_users

__all__ = [
    "Batch",
    "Beyond",
    "Effort",
    "Lotteries",
    "Policies",
    "Status",
    "calibrate_batch",
    "choose_rankings",
    "join",
    "measure",
    "solve_users",
]
