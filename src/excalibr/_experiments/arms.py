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
from excalibr.baselines._greedy import select
from excalibr.baselines._single import falling_weights, one_ranking
from excalibr.errors import ExcalibrWarning

__all__ = ["ARMS", "MIP_GAP", "MIP_NODES", "Arm", "Question", "answer"]

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


@dataclass(frozen=True, slots=True)
class Arm:
    """A method as the experiment runs it.

    Attributes
    ----------
    label
        What figures and tables call it.
    of_paper
        Whether the paper has it.
    sweep
        (question, weightings, trade-offs) → for each weighting a policy for each trade-off.
    cost
        Milliseconds a policy, roughly, by which progress is counted.
    sample
        The field of the plan with how many users it runs on, where that is not all of them.
    sample_above
        It runs on all users with so many slots or fewer.
    needs_choice
        Whether it needs more candidates than slots.
    sweeps
        False where the trade-off plays no part: it then runs once, at 0.
    """

    label: str
    of_paper: bool
    sweep: Sweep
    cost: float
    sample: Literal["", "sample", "mip_users"] = ""
    sample_above: int = 0
    needs_choice: bool = False
    sweeps: bool = True

    def sample_with(self, slots: int) -> str:
        """The field of the plan with how many users it runs on with so many slots; empty is all of them."""
        return self.sample if slots > self.sample_above else ""


def answer(arm: Arm, question: Question, weightings: Sequence[str], trade_offs: Sequence[float]) -> list[list[Policy]]:
    """The arm's policies; that n = k, or a stop at a limit, is part of the experiment and no cause for a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)
        return arm.sweep(question, weightings, trade_offs)


def _exact(
    question: Question, weightings: Sequence[str], trade_offs: Sequence[float], **how: Any
) -> list[list[Policy]]:
    return [
        calibrate_path(
            question.scores,
            question.categories,
            question.target,
            k=question.slots,
            position_weights=weighting,
            trade_offs=trade_offs,
            **how,
        )
        for weighting in weightings
    ]


def _each(
    question: Question,
    weightings: Sequence[str],
    trade_offs: Sequence[float],
    *,
    method: Callable[[Problem], Policy],
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


ARMS: MappingProxyType[str, Arm] = MappingProxyType(
    {
        "relevance": Arm("relevance only", True, partial(_each, method=baselines.top_k), cost=0.1, sweeps=False),
        "greedy-simple": Arm("greedy simple", True, partial(_each, method=baselines.greedy_simple), cost=0.2),
        "greedy": Arm("greedy", True, partial(_each, method=baselines.greedy), cost=0.2),
        "mip-greedy": Arm("MIP greedy", True, _mip, cost=60.0, sample="mip_users", needs_choice=True),
        "excalibr": Arm("ExCalibR", True, _exact, cost=0.25),
        "excalibr-kl": Arm("ExCalibR, KL", False, partial(_exact, divergence="kl"), cost=1.5),
        "single": Arm(
            "one ranking, L1", False, partial(_exact, draws="single"), cost=4.0, sample="sample", sample_above=50
        ),
        "single-kl": Arm(
            "one ranking, KL",
            False,
            partial(_exact, draws="single", divergence="kl"),
            cost=4.0,
            sample="sample",
            sample_above=50,
        ),
    }
)
"""The arms by name, in the order of every legend and table."""
