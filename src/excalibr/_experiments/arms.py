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
    aim
        What it is made to be best at: the metric that it is judged by as well as by the common ones.
    sample
        The field of the plan with how many users it runs on, where that is not all of them.
    sampled
        (slots, one category an item) → whether a sample must do.
    needs_choice
        Whether it needs more candidates than slots.
    sweeps
        False where the trade-off plays no part: it then runs once, at 0.
    """

    label: str
    of_paper: bool
    sweep: Sweep
    aim: str
    sample: Literal["", "sample", "mip_users"] = ""
    sampled: Callable[[int, bool], bool] = lambda slots, one_hot: False
    needs_choice: bool = False
    sweeps: bool = True


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


def _many_slots(slots: int, one_hot: bool) -> bool:
    return slots > 50


def _mixed_rows(slots: int, one_hot: bool) -> bool:
    """Where items have one category each, the best set needs no branch and bound."""
    return not one_hot


_GREEDY, _SINGLE = partial(_each, method=baselines.greedy), partial(_exact, draws="single")

ARMS: MappingProxyType[str, Arm] = MappingProxyType(
    {
        "relevance": Arm("relevance only", True, partial(_each, method=baselines.top_k), "ndcg", sweeps=False),
        "greedy-simple": Arm("greedy simple", True, partial(_each, method=baselines.greedy_simple), "kl_of_draw_mean"),
        "greedy": Arm("greedy", True, _GREEDY, "kl_of_draw_mean"),
        "greedy-projected": Arm(
            "greedy, projected", False, partial(_each, method=baselines.greedy_projected), "kl_of_draw_mean"
        ),
        "mip-greedy": Arm("MIP greedy", True, _mip, "l1_of_draw_mean", "mip_users", _mixed_rows, needs_choice=True),
        "excalibr": Arm("ExCalibR", True, _exact, "l1_of_expectation"),
        "excalibr-kl": Arm("ExCalibR, KL", False, partial(_exact, divergence="kl"), "kl_of_expectation"),
        "single": Arm("one ranking, L1", False, _SINGLE, "l1_of_draw_mean", "sample", _many_slots),
        "single-kl": Arm(
            "one ranking, KL", False, partial(_SINGLE, divergence="kl"), "kl_of_draw_mean", "sample", _many_slots
        ),
    }
)
"""The arms by name, in the order of every legend and table."""
