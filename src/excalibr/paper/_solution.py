"""What a linear program of the paper returns, whichever solver it went to."""

from __future__ import annotations

from dataclasses import dataclass

from excalibr._problem import Problem
from excalibr._types import Floats
from excalibr.errors import SolverError

__all__ = ["Solution", "gave_up"]


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum of the reduced or the full program.

    Attributes
    ----------
    matrix
        P̂ (n, k) or P (n, n): the probability of candidate i in slot j, with the solver's own rounding noise.
    excess, shortfall
        ε⁺ and ε⁻, (r,): how far each category is above its band, and below it, as the program has it. Where that
        costs nothing (λ = 0), it may be any number.
    objective
        The program's value, to be maximised.
    prices
        (r,) the dual values y of the category constraints: positive where more of the category would cost.
    program
        "reduced" or "full".
    solver
        The solver's name.
    status
        What it said.
    seconds_building, seconds_solving
        Time to put the program in the solver's form, and to solve it; with GLOP, measured in its own process.
    """

    matrix: Floats
    excess: Floats
    shortfall: Floats
    objective: float
    prices: Floats
    program: str
    solver: str
    status: str
    seconds_building: float
    seconds_solving: float

    @property
    def deviations(self) -> Floats:
        """ε = ε⁺ + ε⁻, (r,): the paper's one variable a category."""
        return self.excess + self.shortfall

    def __repr__(self) -> str:
        rows, columns = self.matrix.shape
        return (
            f"Solution({self.program}, {rows} × {columns}: objective {self.objective:.9g}, "
            f"{self.status} by {self.solver}, "
            f"built in {self.seconds_building:.3g} s, solved in {self.seconds_solving:.3g} s)"
        )


def gave_up(solver: str, problem: Problem, said: str) -> SolverError:
    """The error for a program that a solver left without an optimum."""
    sizes = f"n={problem.n}, k={problem.k}, r={problem.r}, trade_off={problem.trade_off:g}"
    return SolverError(f"{solver} found no optimum of the linear program ({sizes}); it said: {said}")
