"""Methods by name: every method takes a :class:`Problem` and returns a :class:`Policy`.

The names are those of ``METHOD_NAMES`` in ``_options``; the module of a method is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from excalibr._options import METHOD_NAMES, check_option
from excalibr._policy import Policy
from excalibr._problem import Problem, require_plain

__all__ = ["METHODS", "Method", "apply"]

Rank: TypeAlias = Callable[[Problem], Policy]


@dataclass(frozen=True, slots=True)
class Method:
    """A function from a problem to a policy, imported when it is first called."""

    load: Callable[[], Rank]

    def __call__(self, problem: Problem) -> Policy:
        """Import the method's module, where that has not happened, and run it."""
        return self.load()(problem)


def _load(name: str) -> Rank:
    if name == "excalibr":
        from excalibr._solver import solve

        return solve
    if name in ("lp", "lp-full"):
        from excalibr import paper

        return {"lp": paper.lp, "lp-full": paper.lp_full}[name]
    from excalibr import baselines

    rank: Rank = getattr(baselines, name.replace("-", "_"))
    return rank


METHODS = {name: Method(partial(_load, name)) for name in METHOD_NAMES}


def apply(name: str, problem: Problem) -> Policy:
    """Run the method of this name; a problem that asks for more than it can do is refused.

    Parameters
    ----------
    name
        A key of :data:`METHODS`.
    problem
        What is asked. Only "excalibr" takes more than one attribute, one distribution and the L1 divergence.

    Returns
    -------
    Policy

    Raises
    ------
    InputError
        For a name that is none, or a problem that asks for more than the method can do.

    Examples
    --------
    >>> problem = Problem.of([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
    >>> apply("top-k", problem).rankings.tolist()
    [[0, 1]]
    """
    check_option("method", name)
    if name != "excalibr":
        require_plain(problem, name)
    return METHODS[name](problem)
