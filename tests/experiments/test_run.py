"""From data to results; and what a run chooses for itself: trade-offs at any scale, what fits into a time, once."""

import json
import multiprocessing
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from excalibr._experiments import ExperimentResults, Source, processes, run_experiment
from excalibr._experiments.arms import ARMS
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._experiments.plan import PlanPart
from excalibr._experiments.processes import measure_users
from excalibr._experiments.run import RunChoices, chosen_trade_offs, fitted_to_time, total_seconds
from excalibr._experiments.scoring import FitCost
from excalibr._experiments.study import Study
from excalibr.errors import InputError, SolverError
from tests.experiments.invented import small_plan

OPEN = small_plan(trade_offs=(), points=12)


def files(folder: Path) -> dict[str, bytes]:
    """Everything that a run leaves behind but the prepared data, whose zip has the time in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "prepared.npz"
    }


def die(_: object) -> None:
    os._exit(3)


def test_there_is_a_row_for_each_user_arm_and_trade_off(results: ExperimentResults, out: Path) -> None:
    table = pq.read_table(out / "results.parquet")
    on_all = 3 * 2 * 2 * 6  # attributes, settings, weightings, users
    mip = (2 + 6 + 6) * 2 * 3  # two users for genres, which are mixed, and all for the others; where n > k
    assert table.num_rows == on_all * (1 + 7 * 3) + mip  # relevance once, seven arms swept
    keys = ["attribute", "weighting", "candidates", "slots", "method", "user_id", "trade_off"]
    assert table.column_names == [*keys, *METRICS, *CATALOGUE]
    assert table.group_by(keys).aggregate([]).num_rows == table.num_rows
    assert set(table.column("method").to_pylist()) == set(ARMS)
    for name in METRICS[:-1]:
        assert np.isfinite(table.column(name).to_numpy()).all()
    proven = np.isfinite(table.column("gap").to_numpy())
    exact = [name in ("excalibr", "excalibr-kl", "single", "single-kl") for name in table.column("method").to_pylist()]
    assert proven.tolist() == exact


def test_a_draw_is_never_closer_than_the_expectation(out: Path, results: ExperimentResults) -> None:
    table = pq.read_table(out / "results.parquet")
    for name in ("kl", "l1"):
        expected, mean, worst = (
            table.column(f"{name}_of_{what}").to_numpy() for what in ("expectation", "draw_mean", "draw_worst")
        )
        assert (expected <= mean + 1e-9).all()
        assert (mean <= worst + 1e-9).all()


def test_the_results_are_the_same_on_two_processes(
    source: Source, results: ExperimentResults, out: Path, tmp_path: Path
) -> None:
    run_experiment(source, small_plan(), tmp_path, threads=2)
    assert files(tmp_path) == files(out)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_run_goes_on_where_it_stopped(
    source: Source, results: ExperimentResults, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    def interrupt(*_: object) -> None:
        if len(list((tmp_path / "parts").glob("*.parquet"))) == 3:  # however many steps the clock divided them into
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(source, small_plan(), tmp_path, threads=threads, progress=interrupt)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    assert len(before) == 3 < len(list((out / "parts").iterdir()))
    assert not (tmp_path / "results.parquet").exists()
    assert not multiprocessing.active_children()

    monkeypatch.setattr("excalibr._experiments.run.prepare", None)  # it must not be needed again
    run_experiment(source, small_plan(), tmp_path)
    assert all((tmp_path / "parts" / name).stat().st_mtime_ns == time for name, time in before.items())
    expected = files(out)
    assert all(expected[name] == data for name, data in files(tmp_path).items())


def test_a_finished_run_can_be_started_again(source: Source, results: ExperimentResults, out: Path) -> None:
    before = files(out)
    again = run_experiment(source, small_plan(), out)
    assert files(out) == before
    np.testing.assert_equal(again.curves.summary(), results.curves.summary())


def test_nothing_half_written_is_left_behind(out: Path, results: ExperimentResults) -> None:
    assert not [path for path in out.rglob("*") if path.name.startswith(".")]


def test_what_a_killed_run_was_writing_is_removed_and_nothing_else(source: Source, tmp_path: Path) -> None:
    plan = small_plan(attributes=("genre",), arms=("greedy",), users=2)
    run_experiment(source, plan, tmp_path)
    ours = [tmp_path / ".results.0123456789ab.tmp.parquet", tmp_path / "parts" / ".x.0123456789ab.tmp.parquet"]
    others = [tmp_path / ".mine.tmp", tmp_path / ".notes.txt"]
    for path in (*ours, *others):
        path.write_bytes(b"half")
    run_experiment(source, plan, tmp_path)
    assert [path.exists() for path in (*ours, *others)] == [False, False, True, True]


def test_another_experiment_does_not_mix_with_it(source: Source, results: ExperimentResults, out: Path) -> None:
    with pytest.raises(InputError, match="has an experiment with seed 0, and 1 is asked for"):
        run_experiment(source, small_plan(seed=1), out)


def test_the_manifest_says_what_was_run(results: ExperimentResults, out: Path) -> None:
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["data"] == "invented"
    assert manifest["settings"] == ["20/10", "10/10"]
    assert "/" not in manifest["fingerprint"]


def test_progress_ends_at_all_of_it(source: Source, tmp_path: Path) -> None:
    told: list[tuple[str, float, float]] = []
    plan = small_plan(attributes=("genre",), arms=("greedy",), users=2)
    run_experiment(source, plan, tmp_path, progress=lambda *what: told.append(what))
    parts = [what for what in told if what[0].startswith("genre")]
    assert parts[-1][1] == pytest.approx(parts[-1][2])
    assert [done for _, done, _ in parts] == sorted(done for _, done, _ in parts)


def test_a_worker_that_ends_before_its_time_is_said_so(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_work", die)
    with pytest.raises(SolverError, match="start again with the same arguments"):
        run_experiment(source, small_plan(), tmp_path, threads=2)


def test_no_process_to_work_on_is_an_error(source: Source, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="threads: is 0"):
        run_experiment(source, small_plan(), tmp_path, threads=0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_trade_offs_are_spread_along_the_curve_at_any_scale_of_the_scores(study: Study, scale: float) -> None:
    scaled = replace(study, scores=scale * study.scores)
    plan = replace(OPEN, trade_offs=chosen_trade_offs(scaled, OPEN))
    part = PlanPart("genre", plan.settings[0], "excalibr-kl")
    found = (
        measure_users(scaled, plan, part, range(len(scaled)))
        .values[0]
        .mean(axis=0)[:, METRICS.index("kl_of_expectation")]
    )
    start = measure_users(scaled, plan, PlanPart("genre", plan.settings[0], "relevance"), range(len(scaled))).values[0]
    points = np.append(start.mean(axis=0)[0, METRICS.index("kl_of_expectation")], found)
    steps = -np.diff(points) / np.ptp(points)
    assert (steps > -1e-9).all()
    assert steps.max() < 0.3
    assert (steps > 0.02).sum() >= 6


def choices(study: Study, plan: object = None) -> RunChoices:
    """Every part takes a second a user."""
    made = small_plan(users=100, sample=40, mip_users=40, trade_offs=tuple(np.linspace(0.05, 0.95, 12)))
    return RunChoices(made, dict.fromkeys(made.parts(study.attributes), 1.0))


def many(study: Study) -> Study:
    """The same study with 100 users, in name."""
    return replace(study, user_ids=np.arange(100), order=np.arange(100))


def test_users_are_chosen_so_that_it_fits_into_the_time(study: Study) -> None:
    asked = choices(study)
    assert total_seconds(many(study), asked, 1) > 3000
    chosen = fitted_to_time(many(study), asked, 1, 2500.0)
    assert total_seconds(many(study), chosen, 1) <= 2500.0
    assert 20 < chosen.plan.users < 100
    assert chosen.plan.trade_offs == asked.plan.trade_offs


def test_where_few_users_take_too_long_trade_offs_go_as_well(study: Study) -> None:
    chosen = fitted_to_time(many(study), choices(study), 1, 600.0)
    assert chosen.plan.users == 20
    assert 6 <= len(chosen.plan.trade_offs) < 12
    assert chosen.plan.trade_offs[0] == pytest.approx(0.05)
    assert chosen.plan.trade_offs[-1] == pytest.approx(0.95)
    assert total_seconds(many(study), chosen, 1) < total_seconds(many(study), choices(study), 1) / 5


def test_where_the_time_is_long_over_the_least_is_done(study: Study) -> None:
    """Once a fit that took half an hour too long ended in an error about timed users that nobody had asked for."""
    chosen = fitted_to_time(many(study), choices(study), 1, -2000.0).plan
    assert (chosen.users, chosen.timed_users, len(chosen.trade_offs)) == (20, 0, 6)


def test_enough_time_changes_nothing(study: Study) -> None:
    assert fitted_to_time(many(study), choices(study), 1, 1e6) == choices(study)


def test_what_was_chosen_is_stored_and_reused_when_it_goes_on(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(trade_offs=(), points=4, attributes=("genre",), arms=("greedy", "excalibr"), users=4)
    first = run_experiment(source, plan, tmp_path, seconds=3600.0)
    stored = json.loads((tmp_path / "choices.json").read_text(encoding="utf-8"))
    assert tuple(stored["trade_offs"]) == first.plan.trade_offs
    for name in ("chosen_trade_offs", "fitted_to_time", "cost_of_fit"):
        monkeypatch.setattr(f"excalibr._experiments.run.{name}", None)  # nothing is chosen again
    assert run_experiment(source, plan, tmp_path, seconds=3600.0).plan == first.plan


def test_a_run_stopped_after_the_fit_keeps_the_items_that_were_chosen(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(attributes=("genre",), arms=("greedy",), users=4)
    asked = replace(plan, min_item_count=30)
    with monkeypatch.context() as stopped:
        stopped.setattr("excalibr._experiments.run._fitting", lambda *_: (asked, 0))
        stopped.setattr("excalibr._experiments.run._choices", None)
        with pytest.raises(TypeError):
            run_experiment(source, plan, tmp_path)
    assert run_experiment(source, plan, tmp_path).plan.min_item_count == 30
    assert json.loads((tmp_path / "choices.json").read_text(encoding="utf-8"))["min_item_count"] == 30


def test_too_many_items_for_the_time_are_left_out_and_said(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excalibr._experiments.run.cost_of_fit", lambda items: FitCost(items, 3600.0))
    plan = small_plan(attributes=("genre",), arms=("greedy",), users=4)
    told: list[str] = []
    results = run_experiment(source, plan, tmp_path, seconds=3600.0, said=told.append)
    assert results.plan.min_item_count > 1
    assert len(results.study.popularity) <= 0.25 ** (1 / 3) * len(source.liked.item_ids)
    assert results.plan.regularisations == (50.0,)
    assert "too long for 60 min." in told[0]
    left = len(source.liked.item_ids) - len(results.study.popularity)
    assert any(words.startswith(f"left out: {left} items with fewer than ") for words in told)


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("manifest.json", b"[1]", "an experiment needs another folder"),
        ("choices.json", b'{"users": "many"}', "an experiment needs another folder"),
        ("choices.json", b"{", "an experiment needs another folder"),
        ("prepared.npz", b"PK", "remove it, and start the experiment again"),
        ("parts", b"PAR1", "remove it, and start the experiment again"),
    ],
)
def test_a_file_of_the_folder_that_is_damaged_is_named(
    source: Source, results: ExperimentResults, out: Path, tmp_path: Path, name: str, content: bytes, hint: str
) -> None:
    shutil.copytree(out, tmp_path / "copy")
    path = tmp_path / "copy" / name
    path = next(path.iterdir()) if path.is_dir() else path
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{re.escape(str(path))}: cannot be read \(.*Hint: .*{hint}"):
        run_experiment(source, small_plan(), tmp_path / "copy")
