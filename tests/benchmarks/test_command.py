from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import run as running
from benchmarks.plan import FULL, QUICK, Scale
from benchmarks.results import Repeats, Results
from tests.benchmarks.invented import results


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(command, "STORE", tmp_path)
    return tmp_path


def test_run_keeps_results_and_the_ones_before_them(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Scale] = []

    def run(scale: Scale, data: Path | None, progress: object) -> Results:
        asked.append(scale)
        return results(seed=len(asked))

    monkeypatch.setattr(command, "run", run)
    for options in ([], ["--problems", "7", "--rounds", "4", "--highs", "2"]):
        command.main(["run", "--page", str(store / "page.md"), *options])
    assert asked[0] == QUICK
    assert (asked[1].headline, asked[1].rounds, asked[1].highs) == (7, 4, 2)
    assert Results.load(store / "quick.json") == results(seed=2)
    assert Results.load(store / "quick.before.json") == results(seed=1)
    assert (store / "page.md").read_text(encoding="utf-8").startswith("# Benchmarks")


def test_full_is_asked_for_by_name(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Scale] = []

    def only_headline(scale: Scale, progress: object, row: str | None) -> Results:
        asked.append(scale)
        return results()

    monkeypatch.setattr(command, "only_headline", only_headline)
    command.main(["headline", "--full", "--json", str(store / "headline.json")])
    assert asked == [FULL]
    assert Results.load(store / "headline.json") == results()


def test_compare_takes_the_latest_run_of_the_same_mode(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results().save(store / "old.json")
    results(ours=1.5, seed=2).save(store / "quick.json")
    command.main(["compare", str(store / "old.json")])
    assert "slower: excalibr" in capsys.readouterr().out


def test_repeats_are_added_to_the_results(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results().save(store / "quick.json")
    monkeypatch.setattr(running, "_in_a_process", lambda problems, rounds, row: results(seed=5))
    path = str(store / "quick.json")
    command.main(["repeat", path, "--times", "4", "--page", str(store / "page.md")])
    assert len(Results.load(store / "quick.json").repeats[0].values) == 4
    assert "4 of 4" in capsys.readouterr().out
    assert "## Do repeats agree" in (store / "page.md").read_text(encoding="utf-8")


def test_a_row_that_is_repeated_alone_leaves_the_others_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_in_a_process", lambda problems, rounds, row: results(seed=5))
    before = replace(results(), repeats=[Repeats("150, 100, 20", [1.0]), Repeats("150, 100, 10", [2.0])])
    after = running.repeat(before, 2, 1, lambda text: None, "150, 100, 20")
    assert {each.row: len(each.values) for each in after.repeats} == {"150, 100, 20": 2, "150, 100, 10": 1}
    assert after.repeats[1].values == [2.0]
