"""Methods by name: every method takes a :class:`Problem` and returns a :class:`Policy`.

A method is one entry of :data:`METHODS`, and its name one of ``METHOD_NAMES`` in ``_options``; its module is imported
when the method is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from excalibr._messages import Message, Option
from excalibr._options import check_option
from excalibr._policy import Policy
from excalibr._problem import Problem
from excalibr.errors import InputError, explain

__all__ = ["METHODS", "Method", "apply"]

Rank: TypeAlias = Callable[[Problem], Policy]


@dataclass(frozen=True, slots=True)
class Method:
    """A function from a problem to a policy, imported when it is first called."""

    load: Callable[[], Rank]

    def __call__(self, problem: Problem) -> Policy:
        """Import the method's module, where that has not happened, and run it."""
        return self.load()(problem)


def _exact() -> Rank:
    from excalibr._solver import solve

    return solve


def _of_the_paper(name: str) -> Method:
    def load() -> Rank:
        from excalibr import paper

        return {"lp": paper.lp, "lp-full": paper.lp_full}[name]

    return Method(load)


def _baseline(name: str) -> Method:
    def load() -> Rank:
        from excalibr import baselines

        rank: Rank = getattr(baselines, name.replace("-", "_"))
        return rank

    return Method(load)


METHODS = {
    "excalibr": Method(_exact),
    "lp": _of_the_paper("lp"),
    "lp-full": _of_the_paper("lp-full"),
    **{name: _baseline(name) for name in ("greedy", "greedy-simple", "greedy-projected", "mip-greedy", "top-k", "mmr")},
}


def apply(name: str, problem: Problem) -> Policy:
    """Run the method of this name, on a problem that it can take.

    Examples
    --------
    >>> problem = Problem.of([0.9, 0.8, 0.5], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=2)
    >>> apply("top-k", problem).rankings.tolist()
    [[0, 1]]
    """
    check_option("method", name)
    if name != "excalibr" and not problem.plain:
        others = " takes every option; the others one attribute, a distribution and the L1 divergence."
        hint = Message(Option("method", "excalibr"), others)
        raise InputError(explain("method", f"is {name!r}", "be 'excalibr' for what is asked beyond the paper", hint))
    return METHODS[name](problem)
