"""What must hold of every answer, recomputed in extended precision and, for some, by the literal linear program.

:func:`check` returns what does not hold; nothing in here raises. A failure has a *kind*, by which they are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from excalibr import errors
from tests.fuzz import against_highs, refusals
from tests.fuzz.asking import Answer, Told, alone, ask
from tests.fuzz.enumeration import every_ranking
from tests.fuzz.literal import fits
from tests.fuzz.program import LIMIT_KEPT, LIMIT_TOLD, Effect, Program
from tests.fuzz.questions import Floats, Question
from tests.fuzz.reading import LONG
from tests.fuzz.tolerance import NO_SPREAD, SMALLEST, allowed_gap, rounding

AGREEMENT = LONG(1e-12)
"""How far reported figures may be from recomputed ones, as a part of the largest number they are made of."""

EVEN_SLACK = LONG(1e-3)
"""How far the expectation of an even lottery may move: all shares together, and relevance as a part of its range."""

MEANINGFUL = 1e12
"""Slopes and shares beyond this leave no digits for figures: rankings must be valid and the gap a number, no more."""

SLOW, SLOW_CURVE, SLOW_MANY = 1.0, 5.0, 10.0
"""Processor seconds that a problem, and a path or a frontier, may take at n ≤ 400 and r ≤ 80, and anything beyond."""


@dataclass(frozen=True)
class Failure:
    """What does not hold: a short name to count by, and the numbers."""

    kind: str
    detail: str


def check(question: Question, answer: Answer, *, literally: bool = False) -> list[Failure]:
    """Everything that does not hold of an answer, once a kind; with ``literally`` the linear program has its say."""
    return list({failure.kind: failure for failure in reversed(_found(question, answer, literally))}.values())[::-1]


def _found(question: Question, answer: Answer, literally: bool) -> list[Failure]:
    program = Program.of(question)
    failures = _check_warnings(answer)
    if answer.error is not None:
        return failures + [Failure(*each) for each in refusals.check(question, program, answer)]
    if not program.has_a_ranking():
        return [*failures, Failure("not refused", "no ranking can fill the slots")]
    for policy in answer.policies:
        failures += check_policy(question, program, policy, answer)
    if failures or not is_meaningful(program):
        return failures
    failures += _check_call(question, program, answer)
    if literally and fits(program):
        failures += [Failure(*each) for each in against_highs.check(question, program, answer.policies)]
    return failures


def check_policy(question: Question, program: Program, policy: Told, answer: Answer) -> list[Failure]:
    """What must hold of one policy by itself."""
    failures = _check_lottery(question, program, policy)
    if failures:
        return failures
    if not (np.isfinite(policy.gap) and policy.gap >= 0):
        failures.append(Failure("gap not finite", f"{policy.gap}"))
    if policy.prices is None or not np.isfinite(policy.prices).all():
        return [*failures, Failure("prices not finite", f"{policy.prices}")]
    if failures or not is_meaningful(program):
        return failures
    effect = program.effect(policy.rankings, policy.weights)
    failures += _check_figures(program, policy, effect)
    failures += _check_limits(question, program, answer, effect)
    return failures + _check_gap(question, program, policy, answer, effect)


def is_meaningful(program: Program) -> bool:
    """Whether the numbers of the question leave doubles any digits to answer it with."""
    return bool(max(program.steepest, program.around) <= MEANINGFUL)


def check_time(question: Question, answer: Answer) -> list[Failure]:
    """Whether an answer took too long. Not for tests, which have no say in what else a machine does."""
    rows = list(question.categories.values()) if isinstance(question.categories, dict) else [question.categories]
    allowed = SLOW_CURVE if question.call in ("calibrate_path", "frontier") else SLOW
    if len(question.scores) > 400 or sum(part.shape[1] for part in rows) > 80:
        allowed = SLOW_MANY
    return [Failure("slow", f"{answer.seconds:.2f} s")] if answer.seconds > allowed else []


def _check_warnings(answer: Answer) -> list[Failure]:
    unknown = [each for each in answer.warnings if not issubclass(each.category, errors.ExcalibrWarning)]
    return [
        Failure(f"warning {each.category.__name__}", f"{each.message} {each.filename}:{each.lineno}")
        for each in unknown
    ]


def _check_lottery(question: Question, program: Program, policy: Told) -> list[Failure]:
    """Rankings of k distinct candidates that may be shown, pins in place, groups kept; weights of a lottery."""
    rankings, weights = policy.rankings, policy.weights
    if rankings.ndim != 2 or rankings.shape != (len(weights), program.k) or not len(weights):
        return [Failure("shape of the rankings", f"{rankings.shape} for {weights.shape} weights")]
    if rankings.min() < 0 or rankings.max() >= program.n:
        return [Failure("no such candidate", f"{rankings.min()} to {rankings.max()}")]
    draws = question.options.get("draws", "lottery")
    most = {"lottery": program.r + 1, "single": 1}.get(draws, len(weights))
    held = {
        "a candidate twice": not (np.diff(np.sort(rankings, axis=1), axis=1) == 0).any(),
        "shown again": not program.unavailable[rankings].any(),
        "pin lost": all((rankings[:, slot] == candidate).all() for slot, candidate in program.pinned.items()),
        "max_per_category not kept": _groups_kept(program, rankings),
        "weights not positive": bool((weights > 0).all()),
        "weights do not sum to 1": abs(weights.sum() - 1) <= 1e-12,
        "weights not sorted": bool((np.diff(weights) <= 0).all()),
        "too many rankings": len(weights) <= most,
    }
    return [Failure(kind, f"{len(weights)} rankings, weights {weights}") for kind, holds in held.items() if not holds]


def _groups_kept(program: Program, rankings: Floats) -> bool:
    if not len(program.group_limits):
        return True
    members, ends = program.groups[rankings], len(program.group_limits) + 1
    codes = (members + 1 + ends * np.arange(len(members))[:, None]).ravel()  # none is the first group of each ranking
    counts = np.bincount(codes, minlength=ends * len(members)).reshape(len(members), ends)
    return bool((counts[:, 1:] <= program.group_limits).all())


def _check_figures(program: Program, policy: Told, effect: Effect) -> list[Failure]:
    """Relevance, shares, deviations, cost and objective are those of the rankings."""
    trade_off = LONG(policy.trade_off)
    relevance = effect.exposure @ program.scores
    distances = program.distances(effect.shares)
    parts = [columns for _, columns in program.attributes] or [slice(None)]
    deviations = np.array([distances[columns].sum() for columns in parts])
    costly = 10 * max(LONG(1), program.steepest) * program.around
    worth = (1 - trade_off) * program.largest + trade_off * costly
    compared: dict[str, tuple[Any, Any, Any]] = {
        "relevance": (policy.relevance, relevance, program.largest),
        "distribution": (policy.shares, effect.shares, LONG(1)),
        "deviation": (policy.deviations, deviations, program.around),
        "cost": (policy.cost, effect.cost, costly),
        "objective": (policy.objective, (1 - trade_off) * relevance - trade_off * effect.cost, worth),
    }
    failures = []
    for kind, (said, found, unit) in compared.items():
        off = np.abs(said - found).max()
        if not off <= AGREEMENT * unit + SMALLEST:  # nan too
            failures.append(Failure(kind, f"off by {off:.3g}: {said} for {found}"))
    return failures


def _check_limits(question: Question, program: Program, answer: Answer, effect: Effect) -> list[Failure]:
    """Floors, caps and the budget are kept; a floor or cap that is missed by a little more than rounding is told."""
    failures, options = [], question.options
    kept = (
        LIMIT_TOLD if any("misses a floor or cap by" in str(each.message) for each in answer.warnings) else LIMIT_KEPT
    )
    if program.is_limited and (missed := _missed(program, effect).max()) > kept:
        failures.append(Failure("floor or cap missed", f"by {missed:.3g}"))
    moved = EVEN_SLACK if options.get("draws") == "even" else LONG(0)
    if "relevance_loss" in options:
        floor = program.relevance_floor(options["relevance_loss"])
        slack = (LIMIT_KEPT + moved) * program.spread + 8 * LONG(2) ** -52 * program.largest + SMALLEST
        if effect.relevance < floor - slack:
            failures.append(Failure("relevance budget missed", f"{effect.relevance:.9g} for {floor:.9g}"))
    if "max_deviation" in options:
        steepest, allowed = max(LONG(1), program.steepest), options["max_deviation"]
        slack = LIMIT_KEPT + AGREEMENT * steepest + moved * steepest * (10 if program.curved else 1)
        if effect.cost > allowed + slack:
            failures.append(Failure("deviation budget missed", f"{effect.cost:.9g} for {allowed:.9g}"))
    return failures


def _missed(program: Program, effect: Effect) -> Floats:
    """By how much each share is outside its floor and cap."""
    return np.asarray(np.maximum(np.maximum(program.floors - effect.shares, effect.shares - program.caps), 0))


def _check_gap(question: Question, program: Program, policy: Told, answer: Answer, effect: Effect) -> list[Failure]:
    """The prices prove the gap, and it is as small as was promised."""
    assert policy.prices is not None
    trade_off, failures = policy.trade_off, []
    rounded = rounding(program, trade_off, policy.prices)
    single = question.options.get("draws") == "single"
    bound = reached = program.bound(policy.prices, trade_off)
    if single:  # of rankings that keep the limits; the answer's own may miss one by rounding, as every answer may
        bound, reached = (
            min(bound, program.bound(policy.prices, trade_off, single=True, missed=missed))
            for missed in (0, LIMIT_KEPT)
        )
    true_gap = bound - effect.objective(trade_off)
    if true_gap > policy.gap + rounded:
        failures.append(Failure("gap not proven", f"{policy.gap:.6g} for {true_gap:.6g}, rounding {rounded:.2g}"))
    least_gap = reached - effect.objective(trade_off)
    if least_gap < -rounded and least_gap < -rounded - _gained_outside(program, policy, effect):
        failures.append(Failure("better than its bound", f"{least_gap:.6g}, rounding {rounded:.2g}"))
    allowed = _allowed(question, program, policy)
    told = errors.BatchWarning if question.call == "calibrate_batch" else errors.GapWarning
    if allowed is not None and policy.gap > allowed * (1 + 1e-9) and not answer.warned(told):
        failures.append(Failure("gap above tolerance", f"{policy.gap:.6g} for {allowed:.6g}"))
    return failures


def _gained_outside(program: Program, policy: Told, effect: Effect) -> Any:
    """What a lottery may gain by missing limits, and by weights that do not quite sum to 1."""
    assert policy.prices is not None
    steepest = LONG(policy.trade_off) * program.steepest * (100 if program.curved else 1)
    slopes = np.abs(program.slopes(policy.prices, policy.trade_off)).max() + steepest
    outside = _missed(program, effect).sum() + abs(np.asarray(policy.weights, LONG).sum() - 1)
    return 4 * outside * (slopes + (1 - LONG(policy.trade_off)) * program.spread)


def _allowed(question: Question, program: Program, policy: Told) -> Any:
    """The largest gap without a warning; none for a single ranking, which is no lottery's equal by its nature."""
    draws = question.options.get("draws", "lottery")
    if draws == "single":
        return None
    tolerance = question.options["tolerance"] if question.call == "frontier" else None
    cost = "relevance_loss" in question.options
    allowed = allowed_gap(program, policy.trade_off, frontier=tolerance, cost=cost)
    if draws == "lottery":
        return allowed
    steepest = program.steepest * (100 if program.curved else 1)
    trade_off = LONG(policy.trade_off)
    return allowed + EVEN_SLACK * ((1 - trade_off) * program.spread + trade_off * steepest)


def _check_call(question: Question, program: Program, answer: Answer) -> list[Failure]:
    """What must hold of the policies of a call together."""
    options, policies = question.options, answer.policies
    match question.call:
        case "frontier":
            return _check_frontier(question, program, answer)
        case "calibrate_path":
            return _check_path(question, program, policies)
        case "calibrate_batch":
            return _check_batch(question, policies[0])
    if "trade_off" in options:
        if policies[0].trade_off != options["trade_off"]:
            return [Failure("another trade-off", f"{policies[0].trade_off}")]
        if options.get("draws") == "single":
            return _check_single(program, policies[0])
    return []


def _check_single(program: Program, policy: Told) -> list[Failure]:
    """Where there are few rankings, the best of those that keep the limits is found."""
    rankings = every_ranking(program)
    if rankings is None:
        return []
    trade_off = LONG(policy.trade_off)
    values, kept = refusals.single_values(program, rankings, trade_off)
    reached = refusals.single_values(program, policy.rankings, trade_off)[0][0]
    size = (1 - trade_off) * program.spread + trade_off * max(LONG(1), program.steepest)
    short = values[kept].max(initial=reached) - reached
    return [Failure("not the best single ranking", f"short by {short:.6g}")] if short > 1e-9 * size + SMALLEST else []


def _check_path(question: Question, program: Program, policies: list[Told]) -> list[Failure]:
    """A policy for each trade-off in the order asked, and one of them again by itself."""
    asked = question.options["trade_offs"]
    if [policy.trade_off for policy in policies] != asked:
        return [Failure("path out of order", f"{[policy.trade_off for policy in policies]} for {asked}")]
    if question.options.get("draws", "lottery") != "lottery":
        return []
    place = len(asked) // 2
    answer = ask(alone(question, asked[place]))
    if not answer.policies:
        return [Failure("path is not calibrate", f"{answer.error!r}")]
    one, other = policies[place], answer.policies[0]
    assert one.prices is not None
    size = rounding(program, asked[place], one.prices) + AGREEMENT * abs(LONG(one.objective))
    off = abs(LONG(one.objective) - LONG(other.objective))
    if off > LONG(one.gap) + LONG(other.gap) + 2 * size:
        return [Failure("path is not calibrate", f"{one.objective} for {other.objective}")]
    return []


def _check_batch(question: Question, policy: Told) -> list[Failure]:
    """One user of several is answered as by ``calibrate``, bit for bit."""
    answer = ask(alone(question, question.options["trade_off"]))
    if not answer.policies:
        return [Failure("batch is not calibrate", f"{answer.error!r}")]
    other = answer.policies[0]
    same = np.array_equal(policy.rankings, other.rankings) and np.array_equal(policy.weights, other.weights)
    return [] if same and policy.gap == other.gap else [Failure("batch is not calibrate", f"{policy} for {other}")]


def _check_frontier(question: Question, program: Program, answer: Answer) -> list[Failure]:
    """Both measures fall, and no optimum at other trade-offs is further above the polyline than was certified."""
    curve, failures = answer.curve, []
    assert curve is not None
    unit = program.spread if program.spread > NO_SPREAD else LONG(1)
    blurred = 16 * LONG(2) ** -52 * program.largest / unit + AGREEMENT * max(LONG(1), program.steepest)
    if (np.diff(curve.relevance) > blurred * unit).any() or (np.diff(curve.deviation) > blurred).any():
        failures.append(Failure("frontier rises", f"{curve.relevance}, {curve.deviation}"))
    if not (np.isfinite(curve.error) and curve.error >= 0):
        return [*failures, Failure("frontier error not finite", f"{curve.error}")]
    cut = len(curve.relevance) >= question.options["max_vertices"] or answer.warnings
    if curve.error > question.options["tolerance"] * 1.001 + 2e-9 + blurred and not cut:
        failures.append(Failure("frontier error above tolerance", f"{curve.error}"))
    effects = [program.effect(policy.rankings, policy.weights) for policy in answer.policies]
    for trade_off in _probes(curve.trade_offs):
        probed = ask(alone(question, trade_off))
        if not probed.policies:
            failures.append(Failure("frontier has what calibrate has not", f"{probed.error!r}"))
            continue
        above = _proven(program, probed.policies[0]) - max(effect.objective(trade_off) for effect in effects)
        distance = above / np.hypot((1 - LONG(trade_off)) * unit, LONG(trade_off))
        if distance > curve.error + blurred:
            failures.append(Failure("frontier error understated", f"{curve.error:.6g}, at {trade_off} {distance:.6g}"))
    return failures


def _proven(program: Program, policy: Told) -> Any:
    """The objective of a policy, without what it gains by missing limits by rounding: at most its prices · misses."""
    assert policy.prices is not None
    effect = program.effect(policy.rankings, policy.weights)
    reached = effect.objective(policy.trade_off)
    if not program.is_limited:
        return reached
    gained = np.abs(policy.prices) @ _missed(program, effect)
    return min(reached - gained, program.bound(policy.prices, policy.trade_off))


def _probes(trade_offs: Floats) -> list[float]:
    """Where a polyline is furthest from its curve: where two vertices are worth the same; and somewhere."""
    breaks = trade_offs[1:].tolist()
    return list(dict.fromkeys([*breaks[:1], *breaks[len(breaks) // 2 :][:1], *breaks[-1:], 0.37]))
