"""Prices for everybody, held against the whole program as one linear program."""

from typing import Any

import pytest

from excalibr._population import balance_crowd
from tests.population.whole_program import best_value, random_case


@pytest.mark.parametrize("hundred", range(10))
def test_the_optimum_is_that_of_the_whole_program(hundred: Any) -> None:
    for seed in range(20 * hundred, 20 * hundred + 20):
        case = random_case(seed)
        best = best_value(case)
        assert best is not None, f"seed {seed}: the limits were meant to be possible"
        found = balance_crowd(case.crowd, case.terms, tolerance=1e-7, max_passes=200)
        assert found.objective <= found.bound + 1e-12, f"seed {seed}"
        assert found.objective == pytest.approx(best, abs=1e-6), f"seed {seed}"
        assert found.bound == pytest.approx(best, abs=1e-6), f"seed {seed}"
        assert found.relative_gap <= 1e-7, f"seed {seed}"
        assert found.terms.missed(found.mixed.shares) <= 1e-6, f"seed {seed}"
