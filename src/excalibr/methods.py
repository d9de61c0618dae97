"""Methods by name: every method takes a :class:`Problem` and returns a :class:`Policy`.

A method is one entry of :data:`METHODS`; its module is imported when the method is first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from excalibr._messages import Message, Option
from excalibr._policy import Policy
from excalibr._problem import Limits, Problem
from excalibr.errors import InputError, explain, unknown_name

__all__ = ["METHODS", "Method", "apply"]


@dataclass(frozen=True, slots=True)
class Method:
    """Where a method lives, and whether it can stop at :class:`Limits` (it then takes them as a second argument)."""

    module: str
    function: str
    takes_limits: bool = False

    def __call__(self, problem: Problem, limits: Limits) -> Policy:
        """Import the method's module and run it."""
        function = _loaded(self.module, self.function)
        policy: Policy = function(problem, limits) if self.takes_limits else function(problem)
        return policy


@cache
def _loaded(module: str, function: str) -> Any:
    return getattr(import_module(module), function)


METHODS = {
    "excalibr": Method("excalibr._solver", "solve", takes_limits=True),
    "lp": Method("excalibr.paper", "lp"),
    "lp-full": Method("excalibr.paper", "lp_full"),
    "greedy": Method("excalibr.baselines", "greedy"),
    "greedy-simple": Method("excalibr.baselines", "greedy_simple"),
    "greedy-projected": Method("excalibr.baselines", "greedy_projected"),
    "mip-greedy": Method("excalibr.baselines", "mip_greedy"),
    "top-k": Method("excalibr.baselines", "top_k"),
    "mmr": Method("excalibr.baselines", "mmr"),
}


def apply(name: str, problem: Problem, limits: Limits | None = None) -> Policy:
    """Run the method of this name."""
    if not isinstance(name, str) or name not in METHODS:
        raise unknown_name("method", name, METHODS)
    if problem.terms is not None and name != "excalibr":
        others = " takes every option; the others one attribute, a distribution and the L1 divergence."
        hint = Message(Option("method", "excalibr"), others)
        raise InputError(explain("method", f"is {name!r}", "be 'excalibr' for what is asked beyond the paper", hint))
    return METHODS[name](problem, limits or Limits())
