from __future__ import annotations

import numpy as np
import pytest

from benchmarks import sellers
from benchmarks.many_categories import sellers as drawn


def test_the_same_problem_with_the_sellers_of_its_candidates() -> None:
    given = drawn(np.random.default_rng(3), 60, 5, 400, 0.5)
    own = sellers.with_own_sellers(given)
    assert own.categories.shape[1] == len(own.target) == len(np.unique(given.categories.indices)) + 1
    assert own.target.sum() == pytest.approx(1.0)
    assert own.target[-1] > 0
    wanted = [given.target[row.indices[0]] for row in given.categories]
    assert wanted == [own.target[row.indices[0]] for row in own.categories]


def test_the_command_says_what_the_others_cost(capsys: pytest.CaptureFixture[str]) -> None:
    sellers.main(["--sellers", "200", "--problems", "3", "--rounds", "1"])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[:3] for row in rows] == [["| 200", "l1", "3"], ["| 200", "kl", "3"]]
    assert all(float(row.rstrip(" |").rpartition("| ")[2]) < 2e-9 for row in rows)
