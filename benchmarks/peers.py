"""The methods that are measured against one another: how each is called, what of it is timed, and what it claims.

Ours are timed as the whole public call, and as the part of it that compiled code has. The linear programs of others
are timed without the checks and the transfer that our wrappers add: building and solving, and for the paper its
decomposition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

import excalibr
from benchmarks.plain_greedy import greedy_at_once, greedy_by_candidate
from benchmarks.problems import Instance
from excalibr import Policy, paper
from excalibr.baselines import mip_greedy
from excalibr.errors import SolverError
from excalibr.paper import _glop as glop
from excalibr.paper import _program as linear_programs

__all__ = ["PEERS", "Measured", "Peer", "available", "restart"]

MIP_NODES = 1000
"""Of MIP greedy's branch and bound: a few problems would take minutes without a limit."""

PATH = 25

USUAL_TOLERANCE = 1e-7
"""HiGHS's own default, of feasibility and optimality."""


@dataclass(frozen=True)
class Measured:
    """Seconds of one call, and the value of its policy in the paper's (L1) program."""

    seconds: float
    objective: float


@dataclass(frozen=True)
class Peer:
    """A method by name.

    Attributes
    ----------
    like
        The method whose objective it claims to reach, and to within what (relative to the scores' spread).
    needs
        Packages that must be installed.
    """

    name: str
    label: str
    call: Callable[[Instance], Measured]
    like: str | None = None
    within: float = 0.0
    needs: tuple[str, ...] = ()

    def measured(self, instance: Instance) -> Measured:
        """The call; where a solver gives up, the time until then, and no objective."""
        started = perf_counter()
        try:
            return self.call(instance)
        except SolverError:
            return Measured(perf_counter() - started, float("nan"))


def available(names: list[str] | None = None) -> list[Peer]:
    """The peers of these names, or all, without those whose packages are not installed."""
    chosen = PEERS.values() if names is None else [PEERS[name] for name in names]
    return [peer for peer in chosen if all(find_spec(package) for package in peer.needs)]


def restart() -> None:
    """End GLOP's process, so that the next round has a fresh one: its luck with memory is then part of the noise."""
    glop.close()


def _calibrate(instance: Instance, **options: Any) -> Measured:
    started = perf_counter()
    scores, categories, target = _arrays(instance)
    policy = excalibr.calibrate(scores, categories, target, **_asked(instance), **options)
    return Measured(perf_counter() - started, _value(policy))


def _path(instance: Instance) -> Measured:
    trade_offs = [*np.linspace(0.02, 0.98, PATH - 1).tolist(), instance.trade_off]
    asked = _asked(instance)
    del asked["trade_off"]
    started = perf_counter()
    policies = excalibr.calibrate_path(*_arrays(instance), trade_offs=trade_offs, **asked)
    return Measured(perf_counter() - started, _value(policies[-1]))


def _frontier(instance: Instance) -> Measured:
    asked = _asked(instance)
    del asked["trade_off"]
    started = perf_counter()
    found = excalibr.frontier(*_arrays(instance), **asked)
    return Measured(perf_counter() - started, _value(found.at(instance.trade_off)))


def _kernel(instance: Instance) -> Measured:
    policy = excalibr.calibrate(*_arrays(instance), **_asked(instance))
    assert policy.info is not None
    return Measured(policy.info.seconds, _value(policy))


def _paper(instance: Instance, solver: str, full: bool) -> Measured:
    problem = instance.problem()
    solution = (paper.solve_full if full else paper.solve_reduced)(problem, solver)
    started = perf_counter()
    policy = paper.lottery(problem, solution)
    apart = perf_counter() - started
    return Measured(solution.seconds_building + solution.seconds_solving + apart, policy.objective)


def _program(instance: Instance, solver: str) -> Measured:
    problem = instance.problem()
    with _usual_tolerance():
        solution = paper.solve_reduced(problem, solver)
    return Measured(solution.seconds_building + solution.seconds_solving, solution.objective)


@contextmanager
def _usual_tolerance() -> Iterator[None]:
    """HiGHS as people call it: our oracle's tolerance is tighter, and too tight for its interior point method."""
    tight = linear_programs.TOLERANCE
    linear_programs.TOLERANCE = USUAL_TOLERANCE
    try:
        yield
    finally:
        linear_programs.TOLERANCE = tight


def _mip(instance: Instance, solver: str) -> Measured:
    problem = instance.problem()
    started = perf_counter()
    policy = mip_greedy(problem, solver=solver, max_nodes=MIP_NODES)
    return Measured(perf_counter() - started, policy.objective)


def _plain(instance: Instance, choose: Callable[[Instance], list[int]]) -> Measured:
    started = perf_counter()
    ranking = choose(instance)
    return Measured(perf_counter() - started, _value_of_ranking(instance, ranking))


def _sorted(instance: Instance) -> list[int]:
    best: list[int] = np.argsort(-instance.scores, kind="stable")[: instance.k].tolist()
    return best


def _arrays(instance: Instance) -> tuple[Any, Any, Any]:
    return instance.scores, instance.categories, instance.target


def _asked(instance: Instance) -> dict[str, Any]:
    return {"k": instance.k, "trade_off": instance.trade_off, "position_weights": instance.position_weights}


def _value(policy: Policy) -> float:
    """In the paper's program, whatever program the policy is for."""
    trade_off = policy.problem.trade_off
    return float((1.0 - trade_off) * policy.relevance - trade_off * policy.deviation)


def _value_of_ranking(instance: Instance, ranking: list[int]) -> float:
    return Policy(instance.problem(), np.array([ranking], dtype=np.int64), np.ones(1)).objective


_PAPER = ("cvxpy", "ortools")

PEERS = {
    peer.name: peer
    for peer in (
        Peer("excalibr", "calibrate", _calibrate),
        Peer("kernel", "calibrate, the kernel alone", _kernel, "excalibr", 1e-9),
        Peer("path", f"calibrate_path of {PATH}", _path, "excalibr", 1e-8),
        Peer("frontier", "frontier to 1e-4", _frontier, "excalibr", 1e-8),
        Peer("kl", "calibrate, KL", partial(_calibrate, divergence="kl")),
        Peer("single", "calibrate, one ranking", partial(_calibrate, draws="single")),
        Peer(
            "glop",
            "paper: CVXPY + GLOP, reduced, BvN",
            partial(_paper, solver="glop", full=False),
            "excalibr",
            1e-5,
            _PAPER,
        ),
        Peer(
            "glop-full",
            "paper: CVXPY + GLOP, full, BvN",
            partial(_paper, solver="glop", full=True),
            "excalibr",
            1e-5,
            _PAPER,
        ),
        Peer("highs-ds", "HiGHS simplex, reduced LP", partial(_program, solver="highs-ds"), "excalibr", 1e-5),
        Peer("highs-ipm", "HiGHS interior point, reduced LP", partial(_program, solver="highs-ipm"), "excalibr", 1e-5),
        Peer("greedy", "greedy, compiled", partial(_calibrate, method="greedy")),
        Peer("greedy-simple", "greedy simple, compiled", partial(_calibrate, method="greedy-simple")),
        Peer("greedy-at-once", "greedy, NumPy, vectorised", partial(_plain, choose=greedy_at_once), "greedy", 1e-9),
        Peer(
            "greedy-by-candidate",
            "greedy, NumPy, plain loops",
            partial(_plain, choose=greedy_by_candidate),
            "greedy",
            1e-9,
        ),
        Peer("mip-highs", "MIP greedy, HiGHS", partial(_mip, solver="highs")),
        Peer("mip-scip", "MIP greedy, SCIP", partial(_mip, solver="scip"), needs=("cvxpy", "pyscipopt")),
        Peer("top-k", "plain sorting through calibrate", partial(_calibrate, method="top-k")),
        Peer("sorting", "plain sorting, NumPy", partial(_plain, choose=_sorted), "top-k", 1e-9),
    )
}
