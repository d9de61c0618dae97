"""How far it is from a public call to the kernel: our functions that are under way when the kernel is entered."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import excalibr
from excalibr import Reranker
from excalibr._native import kernel

ROOT = Path(excalibr.__file__).parent

ENTRIES = ("Checked", "Setting", "Questions", "solve_alone", "solve_user", "solve_range")
"""Where arrays are checked and packed, where the question is put together, and where it is solved."""

SCORES, CATEGORIES, TARGET = (
    np.array([0.9, 0.8, 0.5]),
    np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    np.array([0.5, 0.5]),
)


@pytest.fixture
def walk(monkeypatch: pytest.MonkeyPatch) -> dict[str, None]:
    """Filled with the functions that lead to the kernel, in the order in which they are first met."""
    met: dict[str, None] = {}
    for name in ENTRIES:
        monkeypatch.setattr(kernel, name, _noting(getattr(kernel, name), met))
    return met


def test_calibrate_passes_five_functions_on_its_way_to_the_kernel(walk: dict[str, None]) -> None:
    excalibr.calibrate(SCORES, CATEGORIES, TARGET, k=2)
    assert {"_calibration.calibrate", "_solver.solve"} <= walk.keys()
    assert len(walk) <= 5, list(walk)


def test_reranking_a_table_passes_twelve_functions_on_its_way_to_the_kernel(walk: dict[str, None]) -> None:
    candidates = pa.table({"user_id": ["ada"] * 3, "item_id": [1, 2, 3], "score": SCORES})
    items = pa.table({"item_id": [1, 2, 3], "category": ["drama", "drama", "comedy"]})
    history = pa.table({"user_id": ["ada", "ada"], "item_id": [1, 3]})
    Reranker(k=2, threads=1).rerank(candidates, items, history=history)
    assert {"tables._reranker.Reranker.rerank", "_problem.batch.Batch.of", "_parallel.over_ranges"} <= walk.keys()
    assert len(walk) <= 12, list(walk)


def test_a_plain_call_runs_ten_functions_and_no_other() -> None:
    """Also those that have returned before the kernel is entered, and those that take its answer."""
    excalibr.calibrate(SCORES, CATEGORIES, TARGET, k=2)  # what is made once is made
    run: dict[str, None] = {}
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: event == "call" and run.update(dict.fromkeys(_under_way(frame)[:1])))
    try:
        excalibr.calibrate(SCORES, CATEGORIES, TARGET, k=2)
    finally:
        sys.setprofile(before)
    assert list(run) == [
        "_calibration.calibrate",
        "_options.options_of",
        "_problem.problem.read_problem",
        "_problem.batch.Batch.of_one",
        "_problem.problem.Problem.__init__",
        "_solver.solve",
        "_solver.seam.answer_to",
        "_solver.seam.policy_of",
        "_policy.policy.Policy._solved",
        "_calibration._warn_of_gap",
    ]


def test_a_plain_call_enters_the_kernel_where_the_walks_are_counted_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entered: dict[str, dict[str, None]] = {}
    for name in (name for name, value in vars(kernel).items() if callable(value) and not name.startswith("_")):
        monkeypatch.setattr(kernel, name, _noting(getattr(kernel, name), entered.setdefault(name, {})))
    excalibr.calibrate(SCORES, CATEGORIES, TARGET, k=2)
    assert {name for name, met in entered.items() if met} <= set(ENTRIES)


def _noting(entry: Callable[..., Any], met: dict[str, None]) -> Callable[..., Any]:
    def entered(*args: Any) -> Any:
        met.update(dict.fromkeys(reversed(_under_way(sys._getframe(1)))))
        return entry(*args)

    return entered


def _under_way(frame: FrameType | None) -> list[str]:
    """Our functions on the stack, the last one first; a comprehension is part of the function that it stands in."""
    names = []
    while frame is not None:
        code, path = frame.f_code, Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and code.co_name not in ("<genexpr>", "<listcomp>", "<dictcomp>"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            names.append(f"{module}.{code.co_qualname}")
        frame = frame.f_back
    return names
