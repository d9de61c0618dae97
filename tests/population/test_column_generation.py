"""Column generation over all users, held against the whole program as one linear program in HiGHS."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from excalibr._population import BatchPopulation, balance_population, restricted_master, warm_start
from excalibr._population.column_generation import limit_tolerance
from excalibr.errors import InputError
from tests.population.whole_program import best_value, random_case


@pytest.mark.parametrize("hundred", range(10))
def test_the_optimum_is_that_of_the_whole_program(hundred: Any) -> None:
    for seed in range(20 * hundred, 20 * hundred + 20):
        case = random_case(seed)
        best = best_value(case)
        assert best is not None, f"seed {seed}: the limits were meant to be possible"
        found = balance_population(case.population, case.terms, tolerance=1e-7, max_passes=200)
        assert found.objective <= found.bound + 1e-12, f"seed {seed}"
        assert found.objective == pytest.approx(best, abs=1e-6), f"seed {seed}"
        assert found.bound == pytest.approx(best, abs=1e-6), f"seed {seed}"
        assert found.relative_gap <= 1e-7, f"seed {seed}"
        assert found.terms.violation(found.primal.shares) <= 1e-6, f"seed {seed}"


@pytest.mark.parametrize("seed", range(5))
def test_a_smoothed_master_proves_its_gap_with_the_same_bits_on_any_number_of_threads(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restricted_master, "SMALL", 0)
    for module in (restricted_master, warm_start):
        monkeypatch.setattr(module, "CHUNK", 6)
    case = random_case(seed)
    best = best_value(case)
    assert best is not None
    found = [
        balance_population(replace(case.population, threads=threads), case.terms, tolerance=1e-2, max_passes=12)
        for threads in (1, 2, 3)
    ]
    assert found[0].objective - 1e-9 <= best <= found[0].bound + 1e-9
    for other in found[1:]:
        assert other.prices.tobytes() == found[0].prices.tobytes()
        assert other.primal.weights.tobytes() == found[0].primal.weights.tobytes()
        assert (other.objective, other.bound) == (found[0].objective, found[0].bound)


@pytest.mark.parametrize("lacking", ["scores", "weights"])
def test_a_population_in_which_nobody_who_counts_can_be_ranked_is_refused(lacking: str) -> None:
    case = random_case(1)
    if lacking == "scores":
        case.scores = np.full_like(case.scores, np.nan)
    else:
        case.scores[:, 0], case.user_weights = (
            np.where(case.user_weights > 0.5, np.nan, 0.5),
            np.where(case.user_weights > 0.5, 1.0, 0.0),
        )
    with pytest.raises(
        InputError, match="candidates: have no user with finite scores and a weight above 0, must have at least one"
    ):
        balance_population(case.population, case.terms)


def test_a_sample_in_which_nobody_counts_leaves_the_start_without_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(1)
    nobody = replace(case.population, user_weights=np.zeros(len(case.user_weights)))
    monkeypatch.setattr(BatchPopulation, "sample", lambda population, users: nobody)
    found = balance_population(case.population, case.terms)
    assert not found.prices[0].any()
    assert found.relative_gap <= 1e-3


@pytest.mark.parametrize(("tolerance", "missed"), [(1e-3, 1e-4), (1e-9, 1e-6)])
def test_a_limit_is_kept_to_a_tenth_of_the_tolerance(tolerance: float, missed: float) -> None:
    assert limit_tolerance(tolerance) == pytest.approx(missed)
