"""Workers that are watched: what crashes or hangs is recorded with its seed, and the others go on."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from tests import cases
from tests.fuzz import __main__ as command
from tests.fuzz import running
from tests.fuzz.checks import Failure
from tests.fuzz.running import Examined, Plan, Report, Task, run


class Pretended(Task):
    """A library that crashes at 13, hangs at 16 and is wrong at 21."""

    def prepare(self) -> None:
        """Nothing to load."""

    def examine(self, plan: Plan, seed: int) -> Examined:
        if seed == 13:
            os._exit(3)
        while seed == 16:
            pass
        failures = [Failure("cost", "off by 1")] if seed == 21 else []
        return Examined(failures, 0.001 * seed, "calibrate")


def test_a_crash_and_a_hang_are_recorded_and_the_run_goes_on() -> None:
    plan = Plan("small", first=10, problems=20, workers=2, hang=3.0, memory=0)
    report = run(plan, lambda report: None, Pretended())
    assert sorted((seed, failure.kind) for seed, failure in report.failures) == [
        (13, "crash"),
        (16, "hang"),
        (21, "cost"),
    ]
    assert report.tried == 20
    assert report.answers["calibrate"] >= 14  # workers that die had the kinds of some answers left to tell
    assert max(seed for _, seed, _ in report.slowest) == 29


class Waiting(Pretended):
    """At 12 it waits for what never comes."""

    def examine(self, plan: Plan, seed: int) -> Examined:
        if seed == 12:
            threading.Event().wait()
        return super().examine(plan, seed)


def test_a_worker_that_waits_without_end_is_a_hang_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "WAITING", 2)
    report = run(Plan("small", first=11, problems=2, workers=1, hang=1.0, memory=0), lambda report: None, Waiting())
    assert [(seed, failure.kind) for seed, failure in report.failures] == [(12, "hang")]


class Broken(Pretended):
    def prepare(self) -> None:
        os._exit(5)


def test_a_worker_that_cannot_start_is_not_started_for_ever() -> None:
    report = run(Plan("small", first=0, problems=50, workers=1, memory=0), lambda report: None, Broken())
    assert [failure.kind for _, failure in report.failures] == ["crash at the start"]


def test_a_run_ends_when_its_time_is_over() -> None:
    report = run(Plan("small", first=100, seconds=0.5, workers=1, memory=0), lambda report: None, Pretended())
    assert report.tried > 0
    assert report.failures == []


def test_failures_are_counted_by_kind_and_can_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report(tried=100, seconds=2.0)
    for seed in (3, 4, 5):
        report.add(seed, "cost", "off by 1")
    report.add(9, "crash", "exit code -11")
    command._print(Plan("scales", first=0), report)
    printed = capsys.readouterr().out
    assert "100 questions in 2 s (50 a second)" in printed
    assert "cost: 3 (scales 3)\n  --profile scales --show 3: off by 1" in printed
    assert "crash: 1 (scales 1)\n  --profile scales --show 9: exit code -11" in printed


def test_a_question_is_kept_by_its_seed(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cases, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["tests.fuzz", "--profile", "small", "--keep", "7", "a hard one"])
    assert command.main() == 0
    assert "a-hard-one.npz" in capsys.readouterr().out
    assert cases.names() == ["a hard one"]


@pytest.mark.parametrize("failures", [[], [Failure("cost", "off by 1")]])
def test_one_question_can_be_looked_at(
    failures: list[Failure], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "examine", lambda asked, literally: Examined(failures, 0.25, "calibrate"))
    monkeypatch.setattr(sys, "argv", ["tests.fuzz", "--profile", "small", "--show", "1"])
    assert command.main() == len(failures)
    printed = capsys.readouterr().out
    assert "small 1: calibrate(n=11, k=3, r=2" in printed
    assert printed.endswith("calibrate, 0.250 s of the library\n" + "cost: off by 1\n" * len(failures))
