"""Two result folders side by side, against paired differences computed in a few lines from their tables."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from excalibr._experiments import ExperimentResults, Source, run_experiment
from excalibr._experiments.folders import compare_folders
from excalibr.errors import InputError
from tests.experiments.invented import small_plan

PLAN: dict[str, Any] = {"attributes": ("genre",), "arms": ("greedy", "excalibr"), "weightings": ("log",)}


@pytest.fixture(scope="module")
def other(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same users at other trade-offs, fewer methods."""
    folder = tmp_path_factory.mktemp("other")
    run_experiment(source, small_plan(**PLAN, trade_offs=(0.02, 0.3, 0.9)), folder)
    return folder


def cells(found: Any, method: str, setting: str = "20/10") -> dict[str, str]:
    rows = [row for row in found.table.rows if (row[0], row[1], row[2], row[3]) == ("genre", "log", setting, method)]
    assert len(rows) == 1
    return dict(zip(found.table.head, rows[0], strict=True))


def curve(folder: Path, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean KL and NDCG over users, from relevance only to the most calibrated trade-off."""
    rows = pq.read_table(folder / "results.parquet").to_pandas()
    rows = rows[(rows.attribute == "genre") & (rows.weighting == "log") & (rows.candidates == 20)]
    means = rows[rows.method.isin(["relevance", method])].groupby("trade_off")[["kl_of_expectation", "ndcg"]].mean()
    return means.kl_of_expectation.to_numpy(), means.ndcg.to_numpy()


def test_the_difference_is_that_of_the_means_at_equal_kl(results: ExperimentResults, out: Path, other: Path) -> None:
    found = cells(compare_folders(out, other), "ExCalibR")
    assert found["users"] == "6 paired"
    heights = []
    level = 0.5 * curve(out, "excalibr")[0][0]
    for folder in (out, other):
        kl, ndcg = curve(folder, "excalibr")
        order = np.argsort(kl)
        heights.append(float(np.interp(level, kl[order], ndcg[order])))
    assert [found["ndcg, 50 %: old"], found["new"]] == [f"{height:.4f}" for height in heights]
    assert found["difference, 50 %"].startswith(f"{heights[1] - heights[0]:+.4f} ± ")


def test_relevance_only_is_the_same_in_both(results: ExperimentResults, out: Path, other: Path) -> None:
    found = cells(compare_folders(out, other), "relevance only")
    assert found["mean over levels"] == "+0.0000 ± 0.0000"
    assert found["new is"] == "the same"


def test_a_folder_beside_itself_is_the_same_everywhere(results: ExperimentResults, out: Path) -> None:
    found = compare_folders(out, out)
    assert not found.settings
    assert not found.only
    assert {row[-1] for row in found.table.rows} <= {"the same", "not clear: no level is reached by both"}
    assert len(found.table.rows) == len(list(results.curves))


def test_what_differs_and_what_one_has_alone_is_said(results: ExperimentResults, out: Path, other: Path) -> None:
    found = compare_folders(out, other)
    assert "trade_offs: 0.1, 0.5, 0.9 → 0.02, 0.3, 0.9" in found.settings
    assert "attributes: all → genre" in found.settings
    assert f"attributes of {out} only: decade, popularity" in found.only
    assert f"weightings of {out} only: sqrt" in found.only
    assert [line for line in found.only if line.startswith(f"methods of {out} only: ")]
    assert not [line for line in found.only if str(other) in line]


def test_a_method_that_became_better_is_higher(results: ExperimentResults, out: Path, tmp_path: Path) -> None:
    better = changed(
        out, tmp_path / "better", lambda table: table["ndcg"].to_numpy() + 0.01 * (table["trade_off"].to_numpy() > 0)
    )
    found = cells(compare_folders(out, better), "greedy")
    assert found["new is"] == "higher"
    assert found["mean over levels"].startswith("+0.0")
    assert cells(compare_folders(better, out), "greedy")["new is"] == "lower"


def test_other_users_are_two_groups(results: ExperimentResults, out: Path, tmp_path: Path) -> None:
    others = changed(out, tmp_path / "others", lambda table: table["user_id"].to_numpy() + 10**6, "user_id")
    found = cells(compare_folders(out, others), "ExCalibR")
    assert found["users"] == "6 and 6"
    assert found["difference, 50 %"].startswith("+0.0000 ± 0.")
    assert not found["difference, 50 %"].endswith("± 0.0000")


def test_equal_ids_in_other_data_are_other_users(results: ExperimentResults, out: Path, tmp_path: Path) -> None:
    other = changed(out, tmp_path / "named", lambda table: table["ndcg"].to_numpy())
    manifest = json.loads((other / "manifest.json").read_text(encoding="utf-8"))
    (other / "manifest.json").write_text(
        json.dumps({**manifest, "data": "films", "fingerprint": "1"}), encoding="utf-8"
    )
    found = compare_folders(out, other)
    assert cells(found, "ExCalibR")["users"] == "6 and 6"
    assert "the data differ" in found.settings


def changed(folder: Path, copy: Path, change: Any, column: str = "ndcg") -> Path:
    copy.mkdir()
    for name in ("manifest.json", "choices.json"):
        (copy / name).write_bytes((folder / name).read_bytes())
    table = pq.read_table(folder / "results.parquet")
    at = table.column_names.index(column)
    pq.write_table(table.set_column(at, column, pa.array(change(table))), copy / "results.parquet")
    return copy


def test_a_folder_without_results_is_said_so(results: ExperimentResults, out: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: does not exist, must be the --out folder of an experiment"):
        compare_folders(out, tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no results of an experiment"):
        compare_folders(tmp_path, out)
    with pytest.raises(InputError, match=r"manifest.json: is no folder"):
        compare_folders(out / "manifest.json", out)
    (tmp_path / "manifest.json").write_bytes((out / "manifest.json").read_bytes())
    with pytest.raises(InputError, match="holds an experiment that has not ended"):
        compare_folders(tmp_path, out)
    (tmp_path / "results.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"results.parquet: cannot be read \("):
        compare_folders(tmp_path, out)
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"manifest.json: cannot be read \("):
        compare_folders(tmp_path, out)


def test_folders_with_nothing_in_common_are_said_so(source: Source, other: Path, tmp_path: Path) -> None:
    run_experiment(source, small_plan(**{**PLAN, "attributes": ("decade",)}), tmp_path)
    with pytest.raises(InputError, match="has no attribute, weighting, setting and method in common"):
        compare_folders(other, tmp_path)


def test_only_what_is_measured_of_each_user_can_be_compared(out: Path, other: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'ndcg'"):
        compare_folders(out, other, metric="ndgc")
    with pytest.raises(InputError, match="across: is 'kl', must be one of"):
        compare_folders(out, other, across="kl")


def test_a_method_of_another_version_is_called_by_its_name(
    results: ExperimentResults, out: Path, other: Path, tmp_path: Path
) -> None:
    """Once it was a KeyError."""
    older = changed(out, tmp_path / "older", renamed("single-kl", "old-way"), "method")
    assert [line for line in compare_folders(older, other).only if line.startswith("methods") and "old-way" in line]
    assert cells(compare_folders(older, older), "old-way")["users"] == "6 paired"


def test_results_without_what_methods_are_compared_with_are_said_so(
    results: ExperimentResults, out: Path, tmp_path: Path
) -> None:
    without = changed(out, tmp_path / "without", renamed("relevance", "old-way"), "method")
    with pytest.raises(InputError, match=r"results.parquet: cannot be read \(.*relevance only does not come first"):
        compare_folders(without, out)


def renamed(old: str, new: str) -> Callable[[pa.Table], list[str]]:
    return lambda table: [new if name == old else name for name in table["method"].to_pylist()]
