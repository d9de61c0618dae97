from __future__ import annotations

import gc
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import streams
from benchmarks.families import Family
from benchmarks.problems import skewed, uniform
from benchmarks.sides import PRESENT, Side, Worker, present
from benchmarks.streams import Stream, compared, measure_streams, store, told
from benchmarks.workers import solving
from benchmarks.workers.problems_file import read
from benchmarks.workers.solving import Streams

PROBLEMS, SPARE = 7, 1
OLD, NEW = Side("old", ""), Side("new", "")


@pytest.fixture
def made() -> list[Family]:
    plain = uniform(20, 5, 4, 1, PROBLEMS + SPARE)
    curved = skewed(20, 5, 4, PROBLEMS + SPARE)
    return [Family("plain", "", plain.instances, SPARE), Family("curved", "", curved.instances, SPARE, "kl")]


@pytest.fixture
def path(made: list[Family], tmp_path: Path) -> Path:
    store(made, tmp_path / "problems.npz")
    return tmp_path / "problems.npz"


class InThisProcess:
    """In place of a worker's process; the old side takes twice as long by its own clock."""

    asked: list[tuple[str, Any]]

    def __init__(self, side: Side, worker: str, path: str) -> None:
        assert worker == "solving"
        self.side, self.streams = side, Streams(read(Path(path)))

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *error: object) -> None: ...

    def ask(self, **question: Any) -> Any:
        self.asked.append((self.side.name, dict(question)))
        if "warm_up" in question:
            return None
        if question.pop("check", False):
            return self.streams.check(**question)
        size = question["last"] - question["first"]
        seconds = 2.0 if self.side is OLD else 1.0
        return {"call": [seconds] * size, "kernel": [seconds / 2.0] * size}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    monkeypatch.setattr(streams, "Worker", InThisProcess)
    monkeypatch.setattr(streams, "RUN", 4)
    InThisProcess.asked = []
    return InThisProcess.asked


def test_each_problem_is_solved_once_a_round_by_either_side(
    made: list[Family], path: Path, asked: list[tuple[str, Any]]
) -> None:
    measure_streams([OLD, NEW], made, path, 3, lambda text: None)
    solved = [
        (side, question["family"], place)
        for side, question in asked
        if "check" not in question and "first" in question
        for place in range(question["first"], question["last"])
    ]
    assert len(solved) == 3 * 2 * 2 * PROBLEMS
    assert all(solved.count(one) == 3 for one in solved)


def test_the_sides_take_turns_at_being_first(made: list[Family], path: Path, asked: list[tuple[str, Any]]) -> None:
    measure_streams([OLD, NEW], made[:1], path, 2, lambda text: None)
    order = [side for side, question in asked if "first" in question and "check" not in question]
    assert order == ["old", "new", "new", "old", "new", "old", "old", "new"]


def test_times_of_both_sides_become_a_ratio(made: list[Family], path: Path, asked: list[tuple[str, Any]]) -> None:
    found = measure_streams([OLD, NEW], made, path, 2, lambda text: None)
    for stream in found:
        assert np.shape(stream.call["old"]) == (PROBLEMS, 2)
        assert stream.ratio("kernel", "new", "old").value == pytest.approx(0.5)
        assert stream.disagreement() == 0.0
        assert not stream.greedy
    assert "| plain | 0.5 (measured once) |" in compared(found, "new", "old")
    assert "| curved | 7 | 1,000 | 1,000 |" in told(found, "old")


def test_greedy_is_measured_where_a_hundred_slots_are_filled(asked: list[tuple[str, Any]], tmp_path: Path) -> None:
    family = Family("many slots", "", uniform(110, 100, 3, 1, 2).instances)
    store([family], tmp_path / "problems.npz")
    (found,) = measure_streams([OLD, NEW], [family], tmp_path / "problems.npz", 1, lambda text: None)
    assert found.against_greedy("new", "old").value == pytest.approx(0.5)
    assert [question["method"] for _, question in asked if "method" in question] == ["greedy"] * 2


def test_objectives_that_differ_are_seen() -> None:
    found = {"old": {"objective": [1.0, 2.0]}, "new": {"objective": [1.0, 2.5]}}
    assert Stream("", "", 5, "l1", [0.5, 0.5], found=found).disagreement() == 0.5


def test_a_worker_answers_line_by_line(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions: list[dict[str, Any]] = [
        {"warm_up": ["excalibr"]},
        {"family": "plain", "first": 0, "last": 3},
        {"family": "curved", "first": 0, "last": 2, "check": True},
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(map(json.dumps, questions))))
    collects = gc.isenabled()
    with warnings.catch_warnings():
        solving.main([str(path)])
    if collects:
        gc.enable()
    nothing, times, found = map(json.loads, capsys.readouterr().out.splitlines())
    assert nothing is None
    assert len(times["call"]) == len(times["kernel"]) == 3
    assert all(0.0 < kernel < call for kernel, call in zip(times["kernel"], times["call"], strict=True))
    assert len(found["objective"]) == 2
    assert all(gap <= 1e-8 for gap in found["gap"])


def test_a_call_that_was_interrupted_is_made_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([0, 1, 1, 1, 1, 1])  # before and after: the first call is interrupted, the second and third are not
    monkeypatch.setattr(solving, "interruptions", lambda: next(counts))
    assert len(Streams(read(path)).times("plain", 0, 2)["call"]) == 2
    assert next(counts, None) is None


def test_a_worker_that_ends_early_is_told_of() -> None:
    with Worker(present(), "no_such_worker") as worker, pytest.raises(SystemExit, match=f"{PRESENT} ended early"):
        worker.ask(family="plain")


def test_a_side_has_only_its_own_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    assert "PYTHONPATH" not in Side("old", "python").environment()
    assert Side("new", "python", "here").environment({"MORE": "1"})["PYTHONPATH"] == "here"
    assert present().path == str(Path("elsewhere").resolve())
