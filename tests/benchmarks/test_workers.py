from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import excalibr
from benchmarks.sides import present
from benchmarks.users import write_users
from benchmarks.workers import clocks, first_uses, many_users
from benchmarks.workers.clocks import KernelClock, entries_clocked, interruptions
from benchmarks.workers.first_answer import answer, peak
from benchmarks.workers.installed import megabytes

ARRAYS = np.array([0.9, 0.8, 0.5]), np.eye(2)[[0, 0, 1]], np.array([0.5, 0.5])


class nb_func:
    """A function of an extension, by the name of its type."""

    def __call__(self, number: int) -> int:
        return sum(range(number))


def test_a_policy_that_knows_its_seconds_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "_has_info", lambda kind: True)
    clock = KernelClock()
    clock.start()
    assert clock.seconds(SimpleNamespace(info=SimpleNamespace(seconds=0.25))) == 0.25
    assert np.isnan(clock.seconds(SimpleNamespace()))


def test_the_kernels_part_is_less_than_the_call() -> None:
    clock = KernelClock()
    for _ in range(2):
        clock.start()
        policy = excalibr.calibrate(*ARRAYS, k=2)
        assert 0.0 < clock.seconds(policy) < 60.0


def test_every_function_of_the_kernel_is_clocked_wherever_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    module, entry = ModuleType("excalibr.invented"), nb_func()
    module.entry = entry  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "excalibr.invented", module)
    with entries_clocked() as seconds:
        assert module.entry(100_000) == sum(range(100_000))
        assert seconds() > 0.0
    assert module.entry is entry


def test_interruptions_only_grow() -> None:
    before = interruptions()
    assert 0 <= before <= interruptions()


def test_a_first_answer_and_its_memory() -> None:
    assert -1.0 < answer() < 1.0
    if Path("/proc/self/status").exists():
        assert 10.0 < peak() < 100_000.0


def test_first_and_second_uses_of_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []
    options = {name: lambda *arrays, name=name: used.append(name) for name in first_uses.OPTIONS}
    monkeypatch.setattr(first_uses, "OPTIONS", options)
    found = first_uses.first_uses()
    assert used == [name for name in options for _ in range(2)]
    assert all(len(seconds) == 2 for seconds in found.values())


def test_an_installation_has_what_it_needs_in_it() -> None:
    found = megabytes("scipy")
    assert found["scipy"] > found["numpy"] > 1.0
    assert "pytest" not in found  # which is of an extra


def test_a_side_tells_how_large_it_is() -> None:
    found = present().ask("installed")
    assert found["excalibr"] > 0.1
    assert found["numpy"] > 1.0  # which a tree that is not installed asks for in its pyproject.toml


def test_many_users_through_tables_and_arrays(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_users(tmp_path / "users.npz", 4, 5)
    with np.load(tmp_path / "users.npz") as stored:
        arrays = dict(stored)
    for option in ("plain", "pins"):
        found = many_users.reranked(arrays, many_users.OPTIONS[option])
        assert found["users"] > 0.0
        assert 0.0 < found["share"] < 1.0
    assert {threads: len(rates) for threads, rates in many_users.by_threads(arrays).items()} == {1: 2, 2: 2}
