"""Results can be pickled and copied: in this process, and on the way to another one."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import excalibr
from excalibr import Band, Policy, Shown, errors, paper

SCORES, ROWS, TARGET = [0.9, 0.8, 0.5, 0.4], [[1, 0], [1, 0], [0, 1], [0, 1]], [0.6, 0.4]


def a_policy(**options: Any) -> Policy:
    return excalibr.calibrate(SCORES, ROWS, TARGET, k=2, **options)


def policies() -> excalibr._policy.Policies:
    with pytest.warns(errors.BatchWarning):
        return excalibr.calibrate_batch([*SCORES, np.nan], [0, 4, 5], [*ROWS, [1, 0]], TARGET, k=2)


RESULTS: dict[str, Callable[[], Any]] = {
    "policy": a_policy,
    "policy of a baseline": lambda: a_policy(method="greedy"),
    "policy with limits": lambda: a_policy(floors={1: 0.1}, pinned={0: 1}, shown=Shown(candidates=[0])),
    "policy of several attributes": lambda: excalibr.calibrate(
        SCORES, {"a": ROWS, "b": ROWS}, {"a": TARGET, "b": Band([0, 0], [1, 1])}, k=2
    ),
    "policy of one user of many": lambda: policies()[0],
    "explanation": lambda: a_policy().explain(),
    "propensities": lambda: a_policy().propensities([0, 2]),
    "frontier": lambda: excalibr.frontier(SCORES, ROWS, TARGET, k=2),
    "policies": policies,
    "problem": lambda: a_policy().problem,
    "band": lambda: Band(TARGET, [1, 1]),
    "shown": lambda: Shown(candidates=np.array([1]), position_weights=[2.0]),
    "solution of the paper's program": lambda: paper.solve_reduced(a_policy().problem),
    "augmented matrix": lambda: paper.augment(np.eye(4)[:, :2]),
    "decomposition": lambda: paper.birkhoff(np.full((2, 2), 0.5)),
    "reranker": lambda: excalibr.Reranker(k=2, position_weights=[2, 1]),
    "error": lambda: errors.InputError("k", "is 0", "be at least 1", "pass more."),
    "warning": lambda: errors.GapWarning("a gap"),
}

ASK: dict[str, Callable[[Any], Any]] = {
    "frontier": lambda curve: curve.at(0.3).rankings,
    "policies": lambda found: (found.statuses, found[0].rankings, found.sample(1, [1, 2])),
    "problem": lambda problem: excalibr.methods.apply("excalibr", problem).rankings,
    "band": lambda band: (band.low, band.high),
    "shown": lambda shown: a_policy(shown=shown).rankings,
    "propensities": lambda found: (found.in_slot, found.anywhere),
    "policy": lambda policy: (policy.info, policy.sample(1, "ada"), policy.explain()),
}
"""What is asked of a result besides its repr, of those that say more or less there."""


def answer_of(name: str, result: Any) -> str:
    return repr(ASK.get(name, repr)(result))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
@pytest.mark.parametrize("name", RESULTS)
def test_a_copy_of_a_result_answers_as_the_result_does(name: str, again: Callable[[Any], Any]) -> None:
    result = RESULTS[name]()
    copied = again(result)
    assert type(copied) is type(result)
    assert answer_of(name, copied) == answer_of(name, result)


def test_another_process_reads_them_all() -> None:
    results = {name: make() for name, make in RESULTS.items()}
    code = "import pickle, sys; from tests.test_pickling import answer_of\n"
    code += "for name, result in pickle.load(sys.stdin.buffer).items(): print(repr(answer_of(name, result)))"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(results), capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == [repr(answer_of(*each)) for each in results.items()]
