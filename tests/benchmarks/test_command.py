from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import against
from benchmarks import run as running
from benchmarks.against import Extent
from benchmarks.comparison import Comparison
from benchmarks.families import Family
from benchmarks.plan import FULL, QUICK, Scale
from benchmarks.results import Repeats, Results
from benchmarks.sides import PRESENT, Side, present
from benchmarks.streams import Stream
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


def test_against_takes_an_environment_that_is_there(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Side, Side, Extent]] = []

    def compare_sides(new: Side, old: Side, extent: Extent, *others: object, itself: bool) -> Comparison:
        asked.append((new, old, extent))
        return Comparison(extent.mode, old.name, new.name, {"processor": "Invented", "cores": "2"}, 1)

    monkeypatch.setattr(against, "compare_sides", compare_sides)
    options = ["--old-python", "old/bin/python", "--in-place", "--page", str(store / "page.md")]
    command.main(["against", "abc", *options])
    command.main(["against", "abc", *options, "--quick", "--problems", "7"])
    assert asked[0] == (present(), Side("abc", "old/bin/python"), against.FULL)
    assert asked[1][2] == replace(against.QUICK, problems=7)
    command.main(["against", "abc", *options[:2], "--new-python", "new/bin/python", *options[3:]])
    assert asked[2][:2] == (Side(PRESENT, "new/bin/python"), Side("abc", "old/bin/python"))
    assert sorted(path.name for path in store.glob("*.json")) == ["against-abc-full.json", "against-abc-quick.json"]
    assert "## Targets against `abc`" in (store / "page.md").read_text(encoding="utf-8")


def test_a_part_of_the_streams_leaves_the_page_as_it_is(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Comparison("full", "abc", PRESENT, {"processor": "Invented", "cores": "2"}, 1)
    monkeypatch.setattr(against, "compare_sides", lambda *given, itself: found)
    options = ["--old-python", "old/bin/python", "--in-place", "--page", str(store / "page.md")]
    command.main(["against", "abc", *options, "--families", "gamma"])
    assert not (store / "page.md").exists()


def test_against_builds_what_is_not_there(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str | None] = []

    @contextmanager
    def built(commit: str | None, progress: object) -> Iterator[Side]:
        made.append(commit)
        yield Side(commit or "this tree", "")

    monkeypatch.setattr(command, "built", built)
    monkeypatch.setattr(
        against,
        "compare_sides",
        lambda new, old, *others, itself: Comparison("full", old.name, new.name, {"processor": "", "cores": ""}, 1),
    )
    command.main(["against", "abc", "--page", str(store / "page.md")])
    assert made == ["abc", None]


def test_a_stream_keeps_its_problems_where_asked(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, int]] = []

    def measure_streams(
        sides: list[Side], made: list[Family], path: Path, rounds: int, progress: object
    ) -> list[Stream]:
        asked.append((sides[0].name, rounds))
        return [Stream(each.name, "", 5, "l1", [0.5], {"python": [[2e-3]]}, {"python": [[1e-3]]}) for each in made]

    monkeypatch.setattr(command, "measure_streams", measure_streams)
    options = ["--problems", "2", "--rounds", "4", "--python", "python", "--save", str(store / "kept")]
    command.main(["stream", "--families", "gamma 150/10/20", *options])
    assert asked == [("python", 4)]
    assert sorted(path.name for path in (store / "kept").iterdir()) == ["gamma_150_10_20.bin", "problems.npz"]
    assert "| gamma 150/10/20 | 1 | 1 | 1 | 1 | 2 | 2 | 2 | – |" in capsys.readouterr().out
