"""Targets for everybody together: prices by group, a bound for all lotteries of all users, and the gap to it."""

from excalibr._population.balancing import Balanced, Progress, balance_crowd, sample_share
from excalibr._population.crowd import BatchCrowd, Crowd
from excalibr._population.many import JoinedCrowd
from excalibr._population.mixture import Mixture, block_of, mixed_solver, solve_mixed
from excalibr._population.sums import Pass, Sums
from excalibr._population.terms import Terms, join_terms, limit_terms, target_terms

__all__ = [
    "Balanced",
    "BatchCrowd",
    "Crowd",
    "JoinedCrowd",
    "Mixture",
    "Pass",
    "Progress",
    "Sums",
    "Terms",
    "balance_crowd",
    "block_of",
    "join_terms",
    "limit_terms",
    "mixed_solver",
    "sample_share",
    "solve_mixed",
    "target_terms",
]
