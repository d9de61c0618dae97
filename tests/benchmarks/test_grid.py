from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import excalibr
from benchmarks import __main__ as command
from benchmarks import grid
from benchmarks.many_categories import TARGETS, instance
from tests.fuzz.asking import ask
from tests.fuzz.program import Program
from tests.fuzz.questions import Question

SMALL = [
    grid.Named(60, 20, 40, target, per_item, divergence, 0.5, 0, limited)
    for target in TARGETS
    for per_item, limited in (("one", False), ("one", True), ("two", False), ("thirty", False))
    for divergence in grid.DIVERGENCES
]


def solved(named: grid.Named) -> excalibr.Policy:
    given = named.instance()
    options: dict[str, Any] = {"k": given.k, "divergence": named.divergence}
    options["max_per_category"] = named.most(given.categories)
    return excalibr.calibrate(given.scores, given.categories, given.target, trade_off=given.trade_off, **options)


def gap_of(named: grid.Named, policy: object) -> float:
    given = named.instance()
    return grid.certified_gap(given, named.divergence, named.most(given.categories), policy)


@pytest.mark.parametrize("named", SMALL, ids=lambda named: named.name)
def test_the_gap_is_that_of_the_other_checker(named: grid.Named) -> None:
    given = named.instance()
    options = {"k": given.k, "divergence": named.divergence, "trade_off": given.trade_off}
    most = named.most(given.categories)
    question = Question(given.scores, given.categories, given.target, options | {"max_per_category": most})
    program, (answer,) = Program.of(question), ask(question).policies
    assert answer.prices is not None
    effect = program.effect(answer.rankings, answer.weights)
    other = program.bound(answer.prices, 0.5) - effect.objective(0.5)
    assert gap_of(named, answer) == pytest.approx(float(other), abs=1e-15)
    assert grid.measure(named).is_certified


@pytest.mark.parametrize("named", SMALL, ids=lambda named: named.name)
def test_a_worse_lottery_and_worse_prices_prove_less(named: grid.Named) -> None:
    policy = solved(named)
    assert policy.prices is not None
    best = SimpleNamespace(rankings=policy.rankings, weights=policy.weights, prices=policy.prices)
    plain = np.argsort(-named.instance().scores)[None, : named.k]
    if not named.limited:
        assert gap_of(named, SimpleNamespace(**vars(best) | {"rankings": plain, "weights": np.ones(1)})) > 1e-8
    assert gap_of(named, SimpleNamespace(**vars(best) | {"prices": 0.5 * policy.prices})) > 1e-8


def test_what_is_no_lottery_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    named = SMALL[0]
    policy = solved(named)
    twice = policy.rankings.copy()
    twice[:, 0] = twice[:, 1]
    answers = {
        "a ranking is none": SimpleNamespace(rankings=twice, weights=policy.weights),
        "the weights are none of a lottery": SimpleNamespace(rankings=policy.rankings, weights=0.9 * policy.weights),
    }
    for said, answer in answers.items():
        full = SimpleNamespace(**vars(answer), prices=policy.prices, objective=policy.objective, info=policy.info)
        monkeypatch.setattr(excalibr, "calibrate", lambda *arrays, full=full, **options: full)
        found = grid.measure(named)
        assert found.error == said
        assert not found.is_certified


def test_an_error_is_a_problem_that_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arrays: object, **options: object) -> None:
        raise excalibr.errors.InputError("no")

    monkeypatch.setattr(excalibr, "calibrate", fail)
    found = grid.measure(SMALL[0])
    assert not found.is_certified
    assert "no" in grid.told(found)


def test_the_grid_has_distinct_problems_with_names_of_their_own() -> None:
    problems = list(grid.grid())
    assert len(problems) == 5 * (5 * 4 * 3 + 3) * 2 * 3 * 3 + 5 * 3 * 4 * 2 * 3 * 3
    assert len({each.name for each in problems}) == len(problems)
    few = [each for each in problems if (each.n, each.r) == (150, 50)]
    assert len({each.instance().scores.tobytes() for each in few}) == len(few)
    assert few[0].instance().target.tobytes() == few[0].instance().target.tobytes()


def test_targets_are_as_their_names_say() -> None:
    random = np.random.default_rng(0)
    drawn = {
        target: np.array([instance(random, 50, 5, 100, 2, target, 0.5).target for _ in range(60)]) for target in TARGETS
    }
    for target in drawn.values():
        np.testing.assert_allclose(target.sum(axis=1), 1.0)
    assert (drawn["thin"] == 0).any(axis=1).all()
    assert (drawn["prior"] >= 0.1 / 100).all()
    assert (drawn["full"] >= 0.1 / 100).all()
    assert (drawn["falling"].min(axis=1) < 1e-12).all()


def test_options_leave_some_of_the_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--n", "150", "--k", "10", "--r", "50", "--target", "thin", "--per-item", "two", "--limited", "no"]
    with pytest.raises(SystemExit) as ended:
        command.main(["grid", *few, "--problems", "1", "--json", str(tmp_path / "found.json")])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "not certified: 0 of 6\n" in printed
    assert printed.count("\n150/10/50 thin, two an item, ") == 2
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert {each["problem"]["trade_off"] for each in found} == {0.1, 0.5, 0.9}
    with pytest.raises(SystemExit):
        command.main(["grid", "--only", "150/10/50 thin, two an item, kl, 0.9 #2"])
    assert "150/10/50 thin, two an item, kl, 0.9 #2" in capsys.readouterr().out


def test_what_is_beyond_the_limits_is_counted_and_named() -> None:
    found = [grid.measure(named) for named in SMALL[:4]]
    slow = replace(found[1], seconds=9.0)
    failed = replace(found[2], gap=1e-3 * found[2].unit)
    told = grid.report([found[0], slow, failed, found[3]], 5)
    assert "\nnot certified: 1 of 4\n" in told
    assert "too large a mean: 1 of 4\n" in told
    assert "take too long: 1\n" in told
    assert told.index(failed.problem.name) < told.index(slow.problem.name)


def test_processes_find_the_same() -> None:
    problems = grid.chosen(argparse.Namespace(problems=1, only=[each.name for each in list(grid.grid(1))[:3]]))
    alone, beside = ([(each.gap, each.objective) for each in grid.run(problems, workers)] for workers in (1, 2))
    assert alone == beside
