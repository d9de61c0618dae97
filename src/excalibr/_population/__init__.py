"""Targets for all users together, by Lagrangian decomposition: dual prices of groups, a bound, and the gap to it."""

from excalibr._population.column_generation import BalanceSolution, Progress, balance_population, sample_share
from excalibr._population.coupling import CouplingTerms, join_terms, limit_terms, target_terms
from excalibr._population.mixture import Mixture, block_of, mixed_solver, solve_mixed
from excalibr._population.partitions import PartitionedPopulation
from excalibr._population.passes import Pass, PassSums
from excalibr._population.subproblems import BatchPopulation, Population

__all__ = [
    "BalanceSolution",
    "BatchPopulation",
    "CouplingTerms",
    "Mixture",
    "PartitionedPopulation",
    "Pass",
    "PassSums",
    "Population",
    "Progress",
    "balance_population",
    "block_of",
    "join_terms",
    "limit_terms",
    "mixed_solver",
    "sample_share",
    "solve_mixed",
    "target_terms",
]
