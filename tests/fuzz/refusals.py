"""Whether an error was right: a refusal needs a reason that can be shown, and a wrong number is none of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from excalibr import errors
from tests.fuzz import literal
from tests.fuzz.asking import Answer, alone, ask
from tests.fuzz.enumeration import every_ranking
from tests.fuzz.literal import Literal
from tests.fuzz.program import Program
from tests.fuzz.questions import Floats, Question
from tests.fuzz.reading import LONG

TOO_LARGE = 1e100
"""Scores, slopes or shares beyond this may be refused."""

KEPT = 1e-8
"""A limit that is missed by less can be kept."""


def check(question: Question, program: Program, answer: Answer) -> list[tuple[str, str]]:
    """What is wrong with an error."""
    error = answer.error
    if isinstance(error, errors.InputError):
        return _check_refusal(question, program, error)
    if isinstance(error, errors.InfeasibleError):
        return _check_infeasible(question, program, str(error))
    kind = "solver gave up" if isinstance(error, errors.SolverError) else f"exception {type(error).__name__}"
    return [(kind, answer.where)]


def _check_refusal(question: Question, program: Program, error: Exception) -> list[tuple[str, str]]:
    if may_be_refused(program) or np.abs(question.scores).max() > TOO_LARGE:  # before they are normalised
        return []
    if question.call == "calibrate_batch":
        by_itself = ask(alone(question, question.options["trade_off"])).error
        if type(by_itself) is not type(error):
            return [("batch is not calibrate", f"{error!r} for {by_itself!r}")]
    return [("wrongly refused", str(error))]


def may_be_refused(program: Program) -> bool:
    """Whether the question has no answer by its form, or numbers that nobody means."""
    if not program.has_a_ranking() or (program.floors > program.caps).any():
        return True
    return bool(max(program.largest, program.steepest, program.around) > TOO_LARGE)


def single_values(program: Program, rankings: Floats, trade_off: Any) -> tuple[Floats, Floats]:
    """(L,) the objective of each ranking by itself, on centred scores, and whether it keeps floors and caps.

    To the rounding of sums: one that misses a cap by 9e-10 and gains 9e-8 is not owed beside one that keeps it.
    """
    relevance, shares = _single_effects(program, rankings)
    kept: Any = ((shares >= program.floors - 1e-12) & (shares <= program.caps + 1e-12)).all(axis=1)
    return (1 - trade_off) * relevance - trade_off * program.cost(shares), kept


def _single_effects(program: Program, rankings: Floats) -> tuple[Floats, Floats]:
    relevance = (program.centred[rankings] * program.slots).sum(axis=1)
    return relevance, (program.rows[rankings] * program.slots[:, None]).sum(axis=1)


def _check_infeasible(question: Question, program: Program, message: str) -> list[tuple[str, str]]:
    """Limits are out of reach only where the linear program, or every ranking there is, says so too."""
    options = question.options
    budget = {"relevance_loss", "max_deviation"} & options.keys()
    if not (program.is_limited or budget):
        return [("wrongly infeasible", f"nothing is limited: {message}")]
    if _limits_conflict(program):
        return []
    if options.get("draws") == "single":
        return _check_no_single(question, program, message)
    if not budget:
        known = _is_small(program)
        return [("wrongly infeasible", f"a lottery keeps all limits: {message}")] if known else []
    return _check_budget(question, program, message)


def _is_small(program: Program) -> bool:
    return program.n * program.k <= literal.MOST_ENTRIES and program.r <= literal.MOST_CATEGORIES


def _limits_conflict(program: Program) -> bool:
    """Whether no lottery keeps floors and caps."""
    if not (program.is_limited and _is_small(program)):
        return False
    missed = Literal(program).least_miss()
    return missed is None or missed > KEPT


def _check_no_single(question: Question, program: Program, message: str) -> list[tuple[str, str]]:
    """Where there are few rankings, none of them keeps the limits with room to spare."""
    rankings = every_ranking(program)
    if rankings is None or not len(rankings):
        return []
    relevance, shares = _single_effects(program, rankings)
    kept = ((shares >= program.floors) & (shares <= program.caps)).all(axis=1)
    if "relevance_loss" in question.options:
        kept &= relevance >= program.relevance_floor(question.options["relevance_loss"])
    if "max_deviation" in question.options:
        kept &= program.cost(shares) <= question.options["max_deviation"]
    if not kept.any():
        return []
    return [("wrongly infeasible", f"{rankings[np.argmax(kept)]} keeps all limits: {message}")]


def _check_budget(question: Question, program: Program, message: str) -> list[tuple[str, str]]:
    """The budget is out of reach unless the policy at the end of the curve, which is one, is within it."""
    if "relevance_loss" in question.options and not program.is_limited:
        return [("wrongly infeasible", f"the most relevant ranking loses nothing: {message}")]
    name, trade_off = ("relevance_loss", 0.0) if "relevance_loss" in question.options else ("max_deviation", 1.0)
    end = ask(alone(question, trade_off)).policies
    if not end:
        return []
    effect = program.effect(end[0].rankings, end[0].weights)
    if name == "relevance_loss":
        floor = program.relevance_floor(question.options[name])
        spare = effect.relevance - floor - 1e-9 * program.spread - 8 * LONG(2) ** -52 * program.largest
    else:
        spare = LONG(question.options[name]) - effect.cost - 1e-9 * max(LONG(1), program.steepest)
    return [("wrongly infeasible", f"there is {spare:.3g} to spare: {message}")] if spare > 0 else []
