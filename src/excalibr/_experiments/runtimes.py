"""Seconds a user: the paper's stack with program and decomposition apart, full and reduced, the greedies, our solver.

One call after the other on one process, each method once for every user and trade-off, none of them with a warm start.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from excalibr import baselines
from excalibr._experiments.plan import Plan, Setting
from excalibr._experiments.processes import Progress
from excalibr._experiments.study import Study
from excalibr._parallel import one_blas_thread
from excalibr._problem import Problem
from excalibr._solver import solve
from excalibr.errors import ExcalibrWarning
from excalibr.paper import lottery, solve_full, solve_reduced

__all__ = ["Call", "Runtimes", "time_methods"]

_NODES = 1000  # of MIP greedy's branch and bound: a few users would take minutes without a limit


@dataclass(frozen=True, slots=True)
class Call:
    """One timed call: seconds for the program (with its building), for the decomposition, and in all.

    ``objective`` is the value of the L1 program, by which methods that should agree can be seen to.
    """

    attribute: str
    method: str
    user: int
    trade_off: float
    program: float
    decomposition: float
    seconds: float
    objective: float


@dataclass(frozen=True, slots=True, eq=False)
class Runtimes:
    """All timed calls, and with which solvers, in which setting."""

    calls: list[Call]
    setting: Setting
    linear: str
    integer: str

    def mean(self, attribute: str, method: str, what: str = "seconds", above: float = 0.0, below: float = 1.0) -> float:
        """Mean over users and the trade-offs of a range; nan where nothing was timed."""
        chosen = [
            getattr(call, what)
            for call in self.calls
            if call.attribute == attribute and call.method == method and above <= call.trade_off <= below
        ]
        return float(np.mean(chosen)) if chosen else float("nan")

    def drop(self, attribute: str, what: str) -> float:
        """By which share the reduced formulation is quicker than the full one."""
        return 1.0 - self.mean(attribute, "reduced", what) / self.mean(attribute, "full", what)

    def disagreement(self) -> float:
        """The largest difference between the objectives of the paper's stack and of our solver."""
        by_call: dict[tuple[str, int, float], dict[str, float]] = {}
        for call in self.calls:
            by_call.setdefault((call.attribute, call.user, call.trade_off), {})[call.method] = call.objective
        return max(
            (
                abs(each["reduced"] - each["excalibr"])
                for each in by_call.values()
                if {"reduced", "excalibr"} <= each.keys()
            ),
            default=float("nan"),
        )

    def columns(self) -> dict[str, list[Any]]:
        """As a table."""
        size = len(self.calls)
        constant = {"candidates": self.setting.candidates, "slots": self.setting.slots}
        solvers = {"linear_solver": self.linear, "integer_solver": self.integer}
        listed = {each.name: [getattr(call, each.name) for call in self.calls] for each in fields(Call)}
        return listed | {name: [value] * size for name, value in (constant | solvers).items()}

    @classmethod
    def from_columns(cls, columns: dict[str, list[Any]]) -> Runtimes:
        """From the table that :meth:`columns` made."""
        names = [each.name for each in fields(Call)]
        calls = [Call(*row) for row in zip(*(columns[name] for name in names), strict=True)]
        setting = Setting(columns["candidates"][0], columns["slots"][0])
        return cls(calls, setting, columns["linear_solver"][0], columns["integer_solver"][0])


def time_methods(study: Study, plan: Plan, progress: Progress) -> Runtimes:
    """Time every method on the same users, in the first setting with more candidates than slots."""
    setting = next((each for each in plan.settings if each.candidates > each.slots), plan.settings[0])
    linear, integer = _solvers()
    users = study.sample(plan.timed_users).tolist()
    total, calls = float(len(study.attributes) * len(users) * len(plan.trade_offs)), list[Call]()
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)
        progress("runtimes", 0.0, total)
        _warm_up(study, setting, linear, integer)
        done = 0
        for attribute in study.attributes:
            for user in users:
                problem = study.question(user, attribute, setting).problem(plan.weightings[0])
                for trade_off in plan.trade_offs:
                    asked = problem.with_trade_off(trade_off)
                    calls += [
                        Call(attribute, method, user, trade_off, *found)
                        for method, found in _timed(asked, linear, integer)
                    ]
                    done += 1
                    progress(f"runtimes, {attribute}", float(done), total)
    return Runtimes(calls, setting, linear, integer)


def _solvers() -> tuple[str, str]:
    """The paper's own solvers where they are installed, scipy's HiGHS where they are not."""
    linear = all(find_spec(package) for package in ("cvxpy", "ortools"))
    integer = all(find_spec(package) for package in ("cvxpy", "pyscipopt"))
    return "glop" if linear else "highs", "scip" if integer else "highs"


def _warm_up(study: Study, setting: Setting, linear: str, integer: str) -> None:
    """So that no timed call loads a package."""
    for attribute in study.attributes:
        question = study.question(0, attribute, Setting(min(12, setting.candidates), min(6, setting.slots)))
        for _ in _timed(question.problem("log"), linear, integer):
            pass


def _timed(problem: Problem, linear: str, integer: str) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    for method, program in (("reduced", solve_reduced), ("full", solve_full)):
        solution = program(problem, linear)
        seconds = solution.seconds_building + solution.seconds_solving
        started = perf_counter()
        policy = lottery(problem, solution)
        apart = perf_counter() - started
        yield method, (seconds, apart, seconds + apart, policy.objective)
    ours: dict[str, Callable[[Problem], Any]] = {"greedy": baselines.greedy, "excalibr": solve}
    if problem.n > problem.k:
        ours["mip-greedy"] = lambda asked: baselines.mip_greedy(asked, solver=integer, max_nodes=_NODES)
    for method, call in ours.items():
        started = perf_counter()
        policy = call(problem)
        seconds = perf_counter() - started
        yield method, (seconds, 0.0, seconds, policy.objective)
