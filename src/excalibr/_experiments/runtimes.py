"""Seconds a user: the paper's stack with program and decomposition apart, full and reduced, the greedies, our solver.

One call after the other on one process, each method once for every user and trade-off, none of them with a warm start.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from importlib.util import find_spec
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from excalibr import baselines
from excalibr._experiments.plan import Plan, Setting
from excalibr._experiments.scoring import Progress
from excalibr._experiments.study import Study
from excalibr._parallel import one_blas_thread
from excalibr._problem import Problem
from excalibr._solver import solve
from excalibr.errors import ExcalibrWarning
from excalibr.paper import lottery, solve_full, solve_reduced

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
        found = {(each.method, each.attribute, each.user, each.trade_off): each.objective for each in self.calls}
        pairs = [(value, found.get(("excalibr", *key[1:]))) for key, value in found.items() if key[0] == "reduced"]
        return max((abs(paper - ours) for paper, ours in pairs if ours is not None), default=float("nan"))

    def columns(self) -> dict[str, list[Any]]:
        same: dict[str, Any] = {"candidates": self.setting.candidates, "slots": self.setting.slots}
        same |= {"linear_solver": self.linear, "integer_solver": self.integer}
        listed = {each.name: [getattr(call, each.name) for call in self.calls] for each in fields(Call)}
        return listed | {name: [value] * len(self.calls) for name, value in same.items()}

    @classmethod
    def from_columns(cls, columns: dict[str, list[Any]]) -> Runtimes:
        names = [each.name for each in fields(Call)]
        calls = [Call(*row) for row in zip(*(columns[name] for name in names), strict=True)]
        setting = Setting(columns["candidates"][0], columns["slots"][0])
        return cls(calls, setting, columns["linear_solver"][0], columns["integer_solver"][0])


def time_methods(study: Study, plan: Plan, progress: Progress) -> Runtimes:
    """Time every method on the same users, in the first setting with more candidates than slots."""
    setting = next((each for each in plan.settings if each.candidates > each.slots), plan.settings[0])
    linear, integer = _solvers()
    users = study.sample(plan.timed_users).tolist()
    total, done, calls = float(len(study.attributes) * len(users) * len(plan.trade_offs)), 0.0, list[Call]()
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)
        progress("runtimes", done, total)
        for attribute in study.attributes:  # so that no timed call loads a package
            small = Setting(min(12, setting.candidates), min(6, setting.slots))
            list(_timed(study.question(0, attribute, small).problem("log"), linear, integer))
        for attribute, user in product(study.attributes, users):
            problem = study.question(user, attribute, setting).problem(plan.weightings[0])
            for trade_off in plan.trade_offs:
                timed = _timed(problem.with_trade_off(trade_off), linear, integer)
                calls += [Call(attribute, method, user, trade_off, *found) for method, found in timed]
                done += 1.0
                progress(f"runtimes, {attribute}", done, total)
    return Runtimes(calls, setting, linear, integer)


def _solvers() -> tuple[str, str]:
    """The paper's own solvers where they are installed, scipy's HiGHS where they are not."""
    linear = all(find_spec(package) for package in ("cvxpy", "ortools"))
    integer = all(find_spec(package) for package in ("cvxpy", "pyscipopt"))
    return "glop" if linear else "highs", "scip" if integer else "highs"


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
