"""The certificate against a few lines of numpy, for any lottery and any prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from excalibr._types import Floats, Integers
from tests.kernel.programs import ABOVE, BELOW, Arrays, Draw, programs

parts = pytest.importorskip("excalibr._kernel_parts", reason="built by `make`, not in wheels")

PRICES = st.sampled_from([0.0, 1.0, -1.0, 1e-6, -1e6]) | st.floats(-2.0, 2.0, allow_subnormal=False)


@st.composite
def claims(draw: Draw, /, **kind: Any) -> tuple[Arrays, Integers, Floats, Floats]:
    """A program, a lottery by slot, and prices that nobody has looked at."""
    program = draw(programs(**kind))
    allowed = program.rankings()
    chosen = draw(st.lists(st.integers(0, len(allowed) - 1), min_size=1, max_size=4))
    weights = draw(arrays.arrays(np.float64, len(chosen), elements=st.floats(0.01, 1.0)))
    prices = draw(arrays.arrays(np.float64, program.r, elements=PRICES))
    return program, np.ascontiguousarray(allowed[chosen]), weights / weights.sum(), prices


@given(claims(), st.data())
def test_straight_certificates_are_those_of_five_lines(drawn: Any, data: st.DataObject) -> None:
    program, rankings, weights, prices = drawn
    start = np.array(data.draw(st.permutations(range(program.n))))
    objective, bound, gap = parts.certify(program.of(parts), rankings, weights, prices, start)
    inside = np.clip(prices, -program.penalties[:, BELOW], program.penalties[:, ABOVE])
    rounding = 1e-12 * program.unit
    assert objective == pytest.approx(program.objective(rankings, weights), abs=rounding)
    assert bound == pytest.approx(program.bound(inside), abs=rounding)
    assert gap == max(bound - objective, 0.0)


@given(claims(curved=True, grouped=True) | claims(grouped=True) | claims(curved=True))
def test_no_ranking_that_is_allowed_exceeds_the_bound(drawn: Any) -> None:
    program, rankings, weights, prices = drawn
    objective, bound, _ = parts.certify(program.of(parts), rankings, weights, prices, np.arange(program.n))
    rounding = 1e-12 * (program.unit + abs(bound))
    assert objective == pytest.approx(program.objective(rankings, weights), abs=rounding)
    for ranking in program.rankings():
        assert program.objective(ranking[None], np.ones(1)) <= bound + rounding


@given(claims(grouped=True))
def test_with_groups_the_bound_is_that_of_the_allowed_rankings(drawn: Any) -> None:
    program, rankings, weights, prices = drawn
    _, bound, _ = parts.certify(program.of(parts), rankings, weights, prices, np.arange(program.n))
    inside = np.clip(prices, -program.penalties[:, BELOW], program.penalties[:, ABOVE])
    assert bound == pytest.approx(program.bound(inside), abs=1e-12 * program.unit)


@given(claims(), st.sampled_from([1e-9, 1e-6, 0.0]))
def test_the_allowed_gap_is_relative_to_the_spread_and_never_below_rounding(drawn: Any, tolerance: float) -> None:
    program, _, _, prices = drawn
    spread = np.ptp(program.gains)
    scale = spread if spread > 0 else program.penalties[:, BELOW : ABOVE + 1].max()
    expected = max(tolerance * scale, 1e-13 * (spread + abs(prices).max()))
    assert parts.allowed_gap(program.of(parts), tolerance, prices) == pytest.approx(expected, rel=1e-12)
