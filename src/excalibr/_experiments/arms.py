"""The arms of the experiment: each turns one user's question into a policy for every trade-off of a sweep."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from excalibr import baselines
from excalibr._calibration import calibrate_path
from excalibr._policy import Policy
from excalibr._problem import Problem
from excalibr._types import Floats
from excalibr.baselines._greedy import falling_weights, one_ranking, select
from excalibr.errors import ExcalibrWarning

MIP_NODES, MIP_GAP = 30, 1e-3
"""Where MIP greedy's branch and bound stops with its best set so far, so that no user holds up the rest."""


@dataclass(frozen=True, slots=True)
class Question:
    """One user's candidates, best score first, the target and the slots; weighting and trade-off are still open."""

    scores: Floats
    categories: Any
    target: Floats
    slots: int

    def problem(self, weighting: str) -> Problem:
        """The checked problem, for methods that take one."""
        return Problem.of(self.scores, self.categories, self.target, k=self.slots, position_weights=weighting)


Sweep = Callable[[Question, Sequence[str], Sequence[float]], list[list[Policy]]]
"""(question, weightings, trade-offs) → for each weighting a policy for each trade-off."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A method as the experiment runs it."""

    label: str  # what figures and tables call it
    sweep: Sweep
    aim: str  # the metric that it is made to be best at, by which it is judged as well as by the common ones
    sample: Literal["", "sample", "mip_users"] = ""  # the plan's field with how many users it runs on, where it is slow
    needs_choice: bool = False  # whether it needs more candidates than slots
    sweeps: bool = True  # False where the trade-off plays no part: it then runs once, at 0


def answer(arm: Arm, question: Question, weightings: Sequence[str], trade_offs: Sequence[float]) -> list[list[Policy]]:
    """The arm's policies; that n = k, or a stop at a limit, is part of the experiment and no cause for a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)
        return arm.sweep(question, weightings, trade_offs)


def _exact(
    question: Question, weightings: Sequence[str], trade_offs: Sequence[float], **how: Any
) -> list[list[Policy]]:
    asked = (question.scores, question.categories, question.target)
    return [
        calibrate_path(*asked, k=question.slots, position_weights=weighting, trade_offs=trade_offs, **how)
        for weighting in weightings
    ]


def _each(
    method: Callable[[Problem], Policy], question: Question, weightings: Sequence[str], trade_offs: Sequence[float]
) -> list[list[Policy]]:
    problems = [question.problem(weighting) for weighting in weightings]
    return [[method(problem.with_trade_off(trade_off)) for trade_off in trade_offs] for problem in problems]


def _mip(question: Question, weightings: Sequence[str], trade_offs: Sequence[float]) -> list[list[Policy]]:
    """MIP greedy; the program knows no positions, so one set serves every weighting and only its order differs."""
    first = question.problem(weightings[0])
    limits: dict[str, Any] = {"max_nodes": MIP_NODES, "relative_gap": MIP_GAP}
    policies = [baselines.mip_greedy(first.with_trade_off(value), **limits) for value in trade_offs]
    sets = [np.sort(policy.rankings[0]) for policy in policies]
    others = [
        [
            one_ranking(problem, select(problem, falling_weights(problem), candidates=chosen), "mip-greedy")
            for chosen, problem in zip(sets, map(question.problem(weighting).with_trade_off, trade_offs), strict=True)
        ]
        for weighting in weightings[1:]
    ]
    return [policies, *others]


_SINGLE = partial(_exact, draws="single")

ARMS: MappingProxyType[str, Arm] = MappingProxyType(
    {
        "relevance": Arm("relevance only", partial(_each, baselines.top_k), "ndcg", sweeps=False),
        "greedy-simple": Arm("greedy simple", partial(_each, baselines.greedy_simple), "kl_of_draw_mean"),
        "greedy": Arm("greedy", partial(_each, baselines.greedy), "kl_of_draw_mean"),
        "greedy-projected": Arm("greedy, projected", partial(_each, baselines.greedy_projected), "kl_of_draw_mean"),
        "mip-greedy": Arm("MIP greedy", _mip, "l1_of_draw_mean", "mip_users", needs_choice=True),
        "excalibr": Arm("ExCalibR", _exact, "l1_of_expectation"),
        "excalibr-kl": Arm("ExCalibR, KL", partial(_exact, divergence="kl"), "kl_of_expectation"),
        "single": Arm("one ranking, L1", _SINGLE, "l1_of_draw_mean", "sample"),
        "single-kl": Arm("one ranking, KL", partial(_SINGLE, divergence="kl"), "kl_of_draw_mean", "sample"),
    }
)
"""The arms by name, in the order of every legend and table."""
