from __future__ import annotations

from dataclasses import replace

from benchmarks.comparing import changes, drift, report
from benchmarks.results import EARLIER_PROTOCOL, Results
from tests.benchmarks.invented import results


def test_a_slowdown_is_found() -> None:
    found = [change for change in changes(results(), results(ours=1.15, seed=2)) if change.is_real]
    assert len(found) == len(changes(results(), results()))
    assert all(1.1 < change.times.value < 1.2 for change in found)
    assert "slower: excalibr, target 150, 100, 20" in report(results(), results(ours=1.15, seed=2))


def test_a_speed_up_is_told_as_one() -> None:
    told = report(results(), results(ours=0.5, seed=2))
    assert "faster" in told
    assert "slower:" not in told
    assert told.endswith(
        f"0 of {len(changes(results(), results()))} measurements got slower by more than the runs' own noise."
    )


def test_noise_is_not_a_slowdown() -> None:
    real = [change for change in changes(results(seed=1), results(seed=2)) if change.is_real]
    assert not real


def test_too_few_problems_tell_nothing() -> None:
    def few(run: Results) -> Results:
        return replace(run, sets=[replace(each, solves=each.solves[:4]) for each in run.sets])

    assert changes(few(results()), few(results(ours=2.0, seed=2))) == []


def test_a_slower_machine_is_not_a_slowdown() -> None:
    old, new = results(seed=1), results(ours=1.4, peers=1.4, seed=2)
    assert 1.38 < drift(old, new) < 1.42
    assert all(abs(change.times.value - 1.0) < 0.02 for change in changes(old, new))


def test_another_machine_is_pointed_out() -> None:
    other = replace(results(seed=2), machine={"processor": "Other"})
    assert report(results(), other).startswith("The two runs are from different machines")


def test_a_run_that_measured_otherwise_compares_with_nothing() -> None:
    other = replace(results(), protocol=EARLIER_PROTOCOL)
    assert report(other, results(ours=2.0)).startswith("Nothing compares: the old run measured one problem repeated")


def test_sets_that_only_one_run_has_are_left_out() -> None:
    fewer = replace(results(seed=2), sets=results(seed=2).sets[:1])
    assert [change.where for change in changes(results(), fewer)] == ["excalibr, target 150, 100, 20"]
