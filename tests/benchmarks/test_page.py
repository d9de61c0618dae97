from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.page import page, write_page
from benchmarks.results import EARLIER_PROTOCOL, Results
from benchmarks.run import headline_ratios
from benchmarks.slowest import CAUSES, slowest
from tests.benchmarks.invented import a_set, results


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    results().save(tmp_path / "run.json")
    assert Results.load(tmp_path / "run.json") == results()
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_results_of_the_earlier_protocol_are_known_as_such(tmp_path: Path) -> None:
    results().save(tmp_path / "run.json")
    stored = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    del stored["protocol"]
    stored["sets"][0]["first"] = {}
    (tmp_path / "run.json").write_text(json.dumps(stored), encoding="utf-8")
    assert Results.load(tmp_path / "run.json") == replace(results(), protocol=EARLIER_PROTOCOL)


def test_page_and_pictures_are_made_from_the_file_alone(tmp_path: Path) -> None:
    results().save(tmp_path / "run.json")
    write_page(Results.load(tmp_path / "run.json"), tmp_path / "benchmarks.md")
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    for name in ("ratios", "growth", "spread"):
        assert f"benchmarks-{name}.png" in text
        assert 1_000 < (tmp_path / f"benchmarks-{name}.png").stat().st_size < 100_000


def test_targets_say_what_to_reach_what_was_reached_and_the_interval() -> None:
    text = page(results(), [])
    ratio = headline_ratios(results())["150, 100, 20"]
    row = next(line for line in text.splitlines() if line.startswith("| 150, 100, 20 | paper"))
    assert ratio.value == pytest.approx(600.0, rel=0.02)
    assert f"{ratio.value:.0f} ({ratio.low:.0f} to {ratio.high:.0f})×" in row
    assert "| at least 400× |" in row
    assert row.endswith("| reached |")
    assert "| 5000, 100, 20 | ours at 1000, 100, 20 |" in text


def test_the_page_opens_with_ratios_to_peers() -> None:
    opening = page(results(), []).split("## ")[0]
    assert "where `calibrate` takes" in opening
    assert "- greedy, compiled: takes 2 (" in opening


def test_a_miss_is_called_a_miss() -> None:
    assert "| missed |" in page(results(ours=3.0), [])


def test_repeats_are_counted() -> None:
    assert "| 600 to 9,000 | " in page(results(), [])
    assert " of 3 |" in page(results(), [])


def test_a_claim_that_does_not_hold_stands_out() -> None:
    run = results()
    wrong = run.sets[3]
    wrong.objectives["glop"][4] = 0.49
    assert "**off the optimum by 1e-02**" in page(run, [])
    wrong.objectives["glop"][4] = float("nan")
    assert "gave up on 1 of 30" in page(run, [])


def test_exponents_are_fitted() -> None:
    assert "n^1.00 (1.00 to 1.00)" in page(results(), [])


def test_sections_without_measurements_are_left_out() -> None:
    text = page(replace(results(), throughput=[], memory=[], repeats=[], sets=[]), [])
    for title in ("Many users", "Do repeats agree", "Corners", "Targets"):
        assert f"## {title}" not in text


def test_slowest_solves_are_explained() -> None:
    found = a_set("genre, n=150", "kernel", {"kernel": 0.4}, noise=0.0)
    hard, dear, noisy, other = 3, 4, 5, 6
    for place, factor in ((hard, 10.0), (dear, 9.0), (noisy, 8.0), (other, 7.0)):
        found.seconds["kernel"][place] = [4e-4 * factor] * 3
    found.solves[hard] = replace(found.solves[hard], sorts=1000)
    found.solves[other] = replace(found.solves[other], engine="proximal, then simplex")
    found.seconds["kernel"][noisy] = [1e-3, 3.2e-3, 3.2e-3]
    told = slowest(found, share=4 / 30)
    assert sorted(one.cause for one in told) == sorted(CAUSES)
    assert [round(one.milliseconds, 6) for one in told] == [4.0, 3.6, 3.2, 2.8]
    for one, word in zip(
        told, ("times the sorts (", "times as dear", "noise of the machine", "most take"), strict=True
    ):
        assert word in one.why
