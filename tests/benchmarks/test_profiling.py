from __future__ import annotations

import pytest

from benchmarks.profiling import OUTSIDE, Function, count_samples, plain_name

MEND = Function(100, 50, "ordering.mend")
POOL = Function(200, 20, "permutohedron.pool_blocks")


def test_a_sample_belongs_to_the_function_that_it_falls_into() -> None:
    counted = count_samples([100, 149, 150, 199, 219, 220, 0], [POOL, MEND])
    assert counted == {MEND.name: 2, POOL.name: 1, OUTSIDE: 4}


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN8excalibr6solver13permutohedron11pool_blocksB4v155B66c8tJTIeFIjxB2IKSgI", "permutohedron.pool_blocks"),
        ("_ZN7cpython8excalibr6solver6kernel13solve_programB4v135B56c8tJTIe", "kernel.solve_program"),
        ("NRT_decref", "NRT_decref"),
    ],
)
def test_names_are_those_of_the_source(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name
