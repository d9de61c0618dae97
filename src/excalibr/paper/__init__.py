"""The paper to the letter: its two linear programs, augmentation, Birkhoff–von Neumann, and its method end to end.

>>> from excalibr import Problem, paper
>>> problem = Problem.of([3.0, 1.0, 2.9], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1)
>>> augmented = paper.augment(paper.solve_reduced(problem).matrix)
>>> lottery = paper.birkhoff(augmented.matrix)
>>> augmented.kept[lottery.permutations.argmin(axis=1)].tolist(), lottery.weights.round(6).tolist()
([0, 2], [0.5, 0.5])
"""

from excalibr.paper._algorithm import lottery, lp, lp_full
from excalibr.paper._augmentation import Augmented, augment
from excalibr.paper._decomposition import Decomposition, birkhoff
from excalibr.paper._program import Solution, solve_full, solve_reduced

__all__ = [
    "Augmented",
    "Decomposition",
    "Solution",
    "augment",
    "birkhoff",
    "lottery",
    "lp",
    "lp_full",
    "solve_full",
    "solve_reduced",
]
