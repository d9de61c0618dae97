from __future__ import annotations

import pytest

from benchmarks import profiling
from benchmarks.profiling import NAMELESS, OUTSIDE, count_samples, plain_name, profile

SCRIPT = """\
        7f21 excalibr::(anonymous namespace)::pool_blocks(double*, int) (/x/excalibr/_kernel.abi3.so)
        7f22 excalibr::(anonymous namespace)::pool_blocks(double*, int)+0x12 (/x/excalibr/_kernel.abi3.so)
        7f23 [unknown] (/x/excalibr/_kernel.abi3.so)
        7f24 _PyEval_EvalFrameDefault (/usr/lib/libpython3.13.so)
        7f25 [unknown] ([unknown])

"""


def test_a_sample_belongs_to_the_function_that_it_falls_into() -> None:
    counted = count_samples(SCRIPT, "_kernel.abi3.so")
    assert counted == {"excalibr::pool_blocks": 2, NAMELESS: 1, OUTSIDE: 2}


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("excalibr::solve_range(excalibr::Users const&, int)", "excalibr::solve_range"),
        ("void excalibr::sort_runs<unsigned int, std::span<double, 4> >(unsigned int*)", "excalibr::sort_runs"),
        ("memset", "memset"),
    ],
)
def test_names_are_those_of_the_source(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda tool: None)
    with pytest.raises(SystemExit, match="needs Linux's 'perf'"):
        profile(10, 5, 2, 1.0)
    monkeypatch.setattr("shutil.which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(profiling, "EXTENSION", "excalibr._no_such_extension")
    with pytest.raises(SystemExit, match="finds no excalibr._no_such_extension"):
        profile(10, 5, 2, 1.0)
