"""Limits of shares that cannot be kept, or are not yet."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from excalibr._population import balance_population, limit_terms
from excalibr._population.column_generation import PATIENCE
from excalibr._population.infeasibility import find_conflict
from excalibr.errors import InfeasibleError, SolverError
from tests.population.whole_program import random_case

LABELS = [("seller", name) for name in "abcdefgh"]


def floors(case: Any, least: Any) -> Any:
    groups = np.arange(len(least))
    return replace(case, terms=limit_terms(groups, np.array(least), -1.0, case.groups.shape[1]))


def search(case: Any, max_passes: int = 30) -> Any:
    return balance_population(case.population, case.terms, tolerance=1e-3, max_passes=max_passes)


def test_limits_that_are_kept_are_no_conflict() -> None:
    case = floors(random_case(0), [0.1])
    assert find_conflict(case.population, search(case), 1e-3) is None


def test_floors_of_more_than_everything_conflict_by_what_they_ask_too_much() -> None:
    case = floors(random_case(1), [0.5, 0.5, 0.5])  # an attribute whose three shares sum to 1
    conflict = find_conflict(case.population, search(case), 1e-3)
    assert conflict is not None
    assert conflict.proven
    assert conflict.missed == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(InfeasibleError, match="no lotteries of all users keep these limits together: floor 0.5"):
        raise conflict.error(LABELS)


def test_a_limit_that_too_few_passes_leave_missed_is_told_with_what_it_is_missed_by() -> None:
    case = floors(random_case(4), [0.45])
    found = search(case, max_passes=1)
    missed = found.terms.violation(found.primal.shares)
    conflict = find_conflict(case.population, found, 1e-3)
    assert missed > 1e-3
    assert conflict is not None
    with pytest.raises(SolverError, match=f"a limit of a group is missed by {missed:.3g} after .* raise max_passes"):
        raise conflict.error(LABELS)


def test_a_partition_in_which_nobody_can_be_ranked_has_limits_too() -> None:
    case = floors(random_case(5), [0.9])
    case.scores = np.full_like(case.scores, np.nan)
    nothing = case.population.without_scores().sums(np.zeros(case.groups.shape[1]))
    assert not nothing.weights.any()


@pytest.mark.parametrize("size", [1e-9, 1e-12, 1e-50])
def test_limits_that_cost_calibration_are_kept_where_scores_are_all_but_alike(size: float) -> None:
    case = floors(random_case(5), [0.4])
    case.scores, case.trade_off = size * case.scores, 0.3
    found = search(case)
    assert find_conflict(case.population, found, 1e-3) is None
    assert found.primal.shares[0] >= 0.4 - 1e-4


@pytest.mark.parametrize(("seed", "passes"), [(5, 5), (0, PATIENCE + 2)])  # the first search of 0 gets nowhere
def test_passes_of_all_searches_are_counted_and_numbered_as_one(seed: int, passes: int) -> None:
    case, reported = floors(random_case(seed), [0.3]), list[Any]()
    case.scores = 1e-9 * case.scores
    found = balance_population(case.population, case.terms, on_pass=reported.append)
    assert [each.number for each in found.history] == list(range(1, passes + 1))
    assert found.history == reported
    assert found.work == pytest.approx(passes + 2)  # with two looks at the sample, which is everybody
    assert find_conflict(case.population, found, 1e-3) is None


@pytest.mark.parametrize("most", [1, 2, 4])
def test_all_searches_together_take_no_more_passes_than_allowed(most: int) -> None:
    case = floors(random_case(5), [0.3])
    case.scores = 1e-9 * case.scores
    assert len(search(case, max_passes=most).history) == most
