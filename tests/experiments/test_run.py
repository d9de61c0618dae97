import json
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from excalibr._experiments import ExperimentResults, Source, processes, run_experiment
from excalibr._experiments.arms import ARMS
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr.errors import InputError, SolverError
from tests.experiments.invented import small_plan


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
    done: list[str] = []

    def interrupt(what: str, *_: float) -> None:
        done.append(what)
        if len(done) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(source, small_plan(), tmp_path, threads=threads, progress=interrupt)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    assert 0 < len(before) < len(list((out / "parts").iterdir()))
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
