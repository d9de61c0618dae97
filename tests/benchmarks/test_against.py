from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import against
from benchmarks.against import QUICK, STARTS, compare_sides
from benchmarks.against_page import BEGIN, END, block, keep_block, write_block
from benchmarks.comparison import Comparison
from benchmarks.page import page, write_page
from benchmarks.sides import Side
from benchmarks.streams import Stream
from benchmarks.targets import Target, targets
from tests.benchmarks.invented import results

PROBLEMS, ROUNDS = 30, 4
SECONDS = {"old": {"first answer": 1.3, "import excalibr": 0.2}, "new": {"first answer": 0.16, "import excalibr": 0.09}}


class Invented(Side):
    """A side whose workers answer without a process."""

    @property
    def factor(self) -> float:
        return 1.0 if self.name == "old" else 0.1

    def run(self, *arguments: str, environment: dict[str, str] | None = None) -> str:
        return ""

    def ask(self, worker: str, *arguments: str, environment: dict[str, str] | None = None) -> Any:
        rates = {"users": 100.0 / self.factor, "share": 0.3 if self.name == "old" else 0.9}
        return {
            "first_uses": {"plain": [1.0, 0.001], "KL": [0.3 * self.factor + 0.001, 0.001]},
            "first_answer": 200.0 if self.name == "old" else 70.0,
            "many_users": {
                "reranked": {"plain": rates, "KL": rates},
                "threads": {"1": [100.0, 101.0], "2": [195.0, 196.0]},
            },
            "installed": {"excalibr": 1.0, "numba": 200.0 * (self.name == "old"), "numpy": 60.0},
        }[worker]


OLD, NEW = Invented("old", ""), Invented("new", "")


def a_stream(name: str, old: float, new: float, *, k: int = 100, noise: float = 0.01) -> Stream:
    random = np.random.default_rng(1)
    hard = random.uniform(0.7, 1.3, (PROBLEMS, 1))

    def seconds(milliseconds: float) -> list[list[float]]:
        table = 1e-3 * milliseconds * hard * (1.0 + noise * random.normal(size=(PROBLEMS, ROUNDS)))
        return [[float(value) for value in row] for row in table]

    kernel = {"old": seconds(old), "new": seconds(new)}
    call = {side: (np.array(table) + (60e-6 if side == "old" else 9e-6)).tolist() for side, table in kernel.items()}
    greedy = {"old": seconds(0.3), "new": seconds(0.2)} if k == 100 else {}
    found = {side: {"objective": [0.5] * PROBLEMS} for side in kernel}
    trade_offs = [0.1, 0.5, 0.9] * (PROBLEMS // 3)
    return Stream(name, "invented", k, "l1", trade_offs, call, kernel, greedy, found)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Comparison:
    """A comparison in which everything is reached but the slates."""
    streams = [
        a_stream("genre 150/100", 0.5, 0.25),
        a_stream("gamma 150/10/20", 0.7, 0.4, k=10),
        a_stream("kl 150/100/20", 3.0, 0.8, k=10),
        a_stream("uniform 150/100/2", 0.1, 0.1),
    ]
    monkeypatch.setattr(against, "families", lambda *given, **more: [])
    monkeypatch.setattr(against, "store", lambda *given: None)
    monkeypatch.setattr(against, "measure_streams", lambda *given: streams)
    monkeypatch.setattr(against, "_seconds", _seconds)
    return compare_sides(NEW, OLD, QUICK, None, lambda text: None)


def _seconds(side: Side, program: str, environment: dict[str, str] | None = None) -> float:
    what = next(name for name, known in STARTS.items() if known == program)
    return SECONDS[side.name].get(what, 0.07)


def by_name(found: Comparison) -> dict[str, Target]:
    return {target.what.partition(",")[0].partition(" in turn")[0]: target for target in targets(found)}


def test_every_target_has_a_row_and_a_verdict(measured: Comparison) -> None:
    found = list(targets(measured))
    missed = [target.what for target in found if target.verdict != "reached"]
    assert len(found) == 13
    assert missed == ["kernel, slates of 10, gamma 150/10/20, mean over λ"]


def test_starts_are_above_a_process_that_imports_numpy(measured: Comparison) -> None:
    target = by_name(measured)["fresh process to the first answer"]
    assert (target.old, target.aim, target.reached) == ("1.23 (measured once) s", "≤ 0.12 s", "0.09 (measured once) s")


def test_an_empty_cache_counts_for_the_first_answer(measured: Comparison) -> None:
    cold = Comparison(**{**vars(measured), "empty_starts": {"old": [41.0], "new": [0.5]}})
    target = by_name(cold)["fresh process to the first answer"]
    assert "40.9 s with an empty cache" in target.old
    assert target.verdict != "reached"


def test_a_ratio_whose_interval_holds_the_aim_is_neither_reached_nor_missed(measured: Comparison) -> None:
    noisy = [a_stream("genre 150/100", 0.5, 0.35, noise=0.3)]
    near = by_name(Comparison(**{**vars(measured), "streams": noisy}))
    assert near["kernel"].verdict == "within the noise"


def test_a_set_that_got_slower_is_named(measured: Comparison) -> None:
    slower = [*measured.streams, a_stream("decade 150/100", 0.1, 0.2)]
    found = targets(Comparison(**{**vars(measured), "streams": slower}))
    row = next(target for target in found if "every other set" in target.what)
    assert row.reached.startswith("decade 150/100: ")
    assert row.verdict == "**missed**"


def test_only_what_was_measured_has_a_row(measured: Comparison) -> None:
    few = Comparison("quick", "old", "new", {}, 1, streams=measured.streams[:1])
    assert [target.what.partition(",")[0] for target in targets(few)] == [
        "kernel",
        "the public call above the kernel",
        "exact `calibrate` against the old compiled greedy",
    ]


def test_families_that_are_chosen_leave_the_processes_out(measured: Comparison) -> None:
    found = compare_sides(NEW, OLD, QUICK, None, lambda text: None, ["gamma"])
    assert found.streams
    assert not found.starts
    assert not found.installed


def test_a_version_stands_beside_itself_where_it_was_asked_for(
    measured: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides: list[str] = []

    def measure_streams(asked: list[Side], *others: object) -> list[Stream]:
        sides.extend(side.name for side in asked)
        return [replace(each, kernel=each.kernel | {"old again": each.kernel["old"]}) for each in measured.streams]

    monkeypatch.setattr(against, "measure_streams", measure_streams)
    found = compare_sides(NEW, OLD, QUICK, None, lambda text: None, ["gamma"], itself=True)
    assert sides == ["old", "new", "old again"]
    assert "kernel, old / old (95 %)" in block(found)
    assert "kernel, old / old (95 %)" not in block(measured)


def test_a_comparison_comes_back_from_its_file(measured: Comparison, tmp_path: Path) -> None:
    measured.save(tmp_path / "against.json")
    assert Comparison.load(tmp_path / "against.json") == measured


def test_the_block_is_put_after_the_targets_and_replaced_by_the_next(measured: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.md"
    path.write_text(page(results(), []), encoding="utf-8")
    for _ in range(2):
        write_block(measured, path)
        text = path.read_text(encoding="utf-8")
        assert text.count(BEGIN) == text.count(END) == 1
        titles = [line for line in text.splitlines() if line.startswith("## ")]
        assert titles[:3] == ["## Targets", "## Targets against `old`", "## Do repeats agree"]


def test_a_page_that_is_written_anew_keeps_the_block(measured: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.md"
    write_block(measured, path)
    write_page(replace(results(), growth=[], sets=[], repeats=[]), path)
    text = path.read_text(encoding="utf-8")
    assert block(measured) in text
    assert text.index("# Benchmarks") < text.index(BEGIN) < text.index("## Starting")


def test_a_page_that_is_not_there_is_begun(measured: Comparison, tmp_path: Path) -> None:
    write_block(measured, tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text(encoding="utf-8").startswith(f"# Benchmarks\n\n{BEGIN}\n")


def test_a_text_without_a_block_adds_nothing() -> None:
    assert keep_block("# Benchmarks\n", "## Targets\n") == "# Benchmarks\n"
