from __future__ import annotations

from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excalibr.errors import InputError
from excalibr.metrics import Summary, summarise


def test_standard_error_of_a_worked_example() -> None:
    """1, 2, 3, 4: mean 2.5, variance 5/3, over four users."""
    summary = summarise([1.0, 2.0, 3.0, 4.0])
    assert summary.mean == 2.5
    assert summary.standard_error == pytest.approx(sqrt(5 / 3 / 4))
    assert summary.count == 4


def test_users_without_a_value_are_left_out_and_not_counted() -> None:
    assert summarise([nan, 1.0, nan, 3.0]) == Summary(mean=2.0, standard_error=1.0, count=2)


def test_one_user_has_a_mean_without_an_error() -> None:
    summary = summarise([0.5])
    assert (summary.mean, summary.count) == (0.5, 1)
    assert isnan(summary.standard_error)


@pytest.mark.parametrize("values", [[], [nan, nan]])
def test_nobody_has_no_mean(values: list[float]) -> None:
    summary = summarise(values)
    assert isnan(summary.mean)
    assert isnan(summary.standard_error)
    assert summary.count == 0


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=1))
def test_mean_lies_among_the_values(values: list[float]) -> None:
    assert min(values) - 1e-9 <= summarise(values).mean <= max(values) + 1e-9


def test_columns_of_several_metrics_are_not_pooled() -> None:
    with pytest.raises(InputError, match=r"values: have shape \(2, 2\), must have shape \(users,\)"):
        summarise([[1.0, 2.0], [3.0, 4.0]])


def test_reads_as_a_line() -> None:
    assert str(summarise(np.array([1.0, 3.0]))) == "2.0000 ± 1.0000 (n = 2)"
