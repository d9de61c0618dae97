"""``excalibr balance``: prices from files, the same as in memory, resumed after a stop."""

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import excalibr
from excalibr._cli.application import application
from excalibr._cli.balance import job
from excalibr._cli.balance.job import KeptPasses
from excalibr._cli.rerank.parts import Run
from excalibr.errors import InfeasibleError, InputError
from excalibr.tables._files import read_table
from tests.cli.reranking import before_call
from tests.population.tables import shop

WANTED = {"big": 0.4, "middle": 0.3, "new": 0.1, "small": 0.2}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    candidates, items, history = shop(users=40)
    targets = pa.table({"category": list(WANTED), "weight": list(WANTED.values())})
    tables = {"candidates": candidates, "items": items, "history": history, "targets": targets}
    for name, table in tables.items():
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
    return {name: tmp_path / f"{name}.parquet" for name in (*tables, "out", "slates", "shares", "report")}


def run(files: dict[str, Path], *more: str) -> Any:
    given = ["--items", str(files["items"]), "--history", str(files["history"]), "-k", "5", "--trade-off", "0.3"]
    asked = ["--everyone", f"seller={files['targets']}", "--everyone-weights", "seller=0.5", "--threads", "1"]
    command = ["balance", str(files["candidates"]), *given, *asked, "-o", str(files["out"]), *more]
    return CliRunner().invoke(application, command, catch_exceptions=False)


def in_memory(files: dict[str, Path]) -> Any:
    tables = [pyarrow.parquet.read_table(files[name]) for name in ("candidates", "items", "history")]
    reranker = excalibr.Reranker(k=5, trade_off=0.3)
    asked = {"everyone": {"seller": WANTED}, "everyone_weights": {"seller": 0.5}}
    return reranker.balance(tables[0], tables[1], history=tables[2], **asked)


def test_prices_are_those_of_tables_in_memory(files: dict[str, Path]) -> None:
    result = run(files, "--slates", str(files["slates"]), "--shares", str(files["shares"]))
    assert result.exit_code == 0, result.output
    assert "pass 1: objective" in result.stderr
    balance = in_memory(files)
    found = pyarrow.parquet.read_table(files["out"])
    assert found.column_names == ["pass", "probability", "attribute", "category", "price", "block"]
    assert found.replace_schema_metadata(None).equals(balance.table)
    assert pyarrow.parquet.read_table(files["slates"]).replace_schema_metadata(None).equals(balance.slates())
    shares = pyarrow.parquet.read_table(files["shares"])
    np.testing.assert_allclose(shares["share_after"], balance.shares, atol=1e-12)
    np.testing.assert_allclose(shares["share_before"], balance.shares_before, atol=1e-12)
    assert not list(files["out"].parent.glob("*.parts"))


def test_parts_of_a_few_users_give_the_same_prices(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(files).exit_code == 0
    whole = pyarrow.parquet.read_table(files["out"])
    monkeypatch.setattr(job, "ALL", 7)
    assert run(files).exit_code == 0
    parts = pyarrow.parquet.read_table(files["out"])
    assert parts.equals(whole)


def test_a_part_in_which_nobody_counts_is_no_error(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    ids = pyarrow.parquet.read_table(files["candidates"])["user_id"].unique().sort()
    users = files["out"].with_name("users.parquet")
    weights = np.where(np.arange(len(ids)) < 14, 0.0, 1.0)
    pyarrow.parquet.write_table(pa.table({"user_id": ids, "weight": weights}), users)
    assert run(files, "--users", str(users)).exit_code == 0
    whole = pyarrow.parquet.read_table(files["out"])
    monkeypatch.setattr(job, "ALL", 7)
    result = run(files, "--users", str(users))
    assert result.exit_code == 0, result.output
    assert pyarrow.parquet.read_table(files["out"]).equals(whole)


def test_few_passes_end_with_a_warning_of_the_gap(files: dict[str, Path]) -> None:
    result = run(files, "--max-passes", "1", "--everyone-tolerance", "1e-9")
    assert result.exit_code == 0
    assert "excalibr: warning: stopped after 1 pass at a gap of" in result.stderr
    assert "after 1 pass." in result.output
    assert "Hint: raise --max-passes." in result.stderr


def test_somebody_must_count(files: dict[str, Path]) -> None:
    ids = pyarrow.parquet.read_table(files["candidates"])["user_id"].unique()
    users = files["out"].with_name("users.parquet")
    pyarrow.parquet.write_table(pa.table({"user_id": ids, "weight": np.zeros(len(ids))}), users)
    with pytest.raises(InputError, match="users: have the weight 0, all of them, must have a weight above 0"):
        run(files, "--users", str(users))


@pytest.mark.parametrize("stops_after", [1, 3])
def test_a_stopped_run_goes_on_and_ends_with_the_same_prices(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, stops_after: int
) -> None:
    assert run(files).exit_code == 0
    whole = files["out"].read_bytes()
    files["out"].unlink()
    passes = []
    store = KeptPasses.store

    def stopping(self: Any, prices: Any, found: Any) -> None:
        store(self, prices, found)
        passes.append(self.asked)
        if len(passes) == stops_after:
            raise KeyboardInterrupt

    monkeypatch.setattr(KeptPasses, "store", stopping)
    stopped = run(files)
    assert stopped.exit_code == 130
    assert "Go on with --resume" in stopped.stderr
    assert not files["out"].exists()
    resumed = run(files, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert files["out"].read_bytes() == whole
    assert len(passes) == len(set(passes)), "no pass was made twice"


def test_a_start_with_other_groups_is_refused_or_told(files: dict[str, Path]) -> None:
    start = files["out"].parent / "start.csv"
    start.write_text("attribute,category,price\nseller,gone,0.1\n")
    with pytest.raises(InputError, match="start: has prices of 'gone' of 'seller', all of them unknown here"):
        run(files, "--start", str(start))
    start.write_text("attribute,category,price\nseller,gone,0.1\nseller,big,0.1\n")
    result = run(files, "--start", str(start))
    assert result.exit_code == 0, result.output
    assert "warning: --start: has prices of 'gone' of 'seller', which are not used" in result.stderr


def test_rerank_takes_the_prices(files: dict[str, Path]) -> None:
    assert run(files).exit_code == 0
    command = ["rerank", str(files["candidates"]), "--items", str(files["items"]), "--history", str(files["history"])]
    command += ["-k", "5", "--trade-off", "0.3", "--prices", str(files["out"]), "-o", str(files["slates"])]
    assert CliRunner().invoke(application, command, catch_exceptions=False).exit_code == 0
    slates = pyarrow.parquet.read_table(files["slates"]).replace_schema_metadata(None)
    assert slates.equals(in_memory(files).slates())


def test_slates_that_cannot_hold_a_column_are_refused_before_the_search(files: dict[str, Path]) -> None:
    candidates = pyarrow.parquet.read_table(files["candidates"])
    tagged = candidates.append_column("tags", pa.array([["a"]] * len(candidates)))
    pyarrow.parquet.write_table(tagged, files["candidates"])
    with pytest.raises(InputError, match=r"^--slates: is 'slates\.csv', which cannot hold the column 'tags'"):
        run(files, "--slates", str(files["slates"].with_suffix(".csv")))
    assert not files["out"].exists()


def test_floors_that_conflict_are_named(files: dict[str, Path]) -> None:
    with pytest.raises(InfeasibleError, match="floor 0.9 of seller 'new'"):
        run(files, "--everyone-floors", "seller:new=0.9")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--everyone", "seller"), "--everyone: is 'seller', must be an attribute and a file"),
        (("--everyone", "seller="), "--everyone: is 'seller=', must be an attribute and a file"),
        (("--everyone", "=t.csv"), "--everyone: is '=t.csv', must be an attribute and a file"),
        (("--everyone", "seller=t.csv"), "--everyone: has 'seller' twice, must have one file for each attribute"),
        (("--everyone", "maker=t.csv"), "--everyone maker: t.csv does not exist, must be a file or a folder"),
        (("--everyone-floors", "seller"), "--everyone-floors: is 'seller', must be attributes, groups and numbers"),
        (("--report", "report.parquet"), "--report: is given without --slates"),
        (("--method", "greedy"), "--method: is 'greedy', must be 'excalibr'"),
        (("--prices", "out.parquet"), "--prices"),
        (("--everyone-tolerance", "0"), "--everyone-tolerance: is 0.0, must be a positive number"),
    ],
)
def test_bad_options_are_refused(files: dict[str, Path], more: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        run(files, *more)


def test_without_anything_wanted_of_everybody_the_command_names_its_own_options(files: dict[str, Path]) -> None:
    command = ["balance", str(files["candidates"]), "--items", str(files["items"]), "-o", str(files["out"])]
    result = CliRunner().invoke(application, command)
    assert str(result.exception).startswith(
        "--everyone: is missing, must be given, or --everyone-floors or --everyone-caps. Hint: --everyone seller="
    )


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_slates_that_were_stopped_go_on_with_the_same_prices(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    files |= {name: files[name].with_suffix(kind) for name in ("out", "slates", "shares")}
    asked = ["--slates", str(files["slates"]), "--shares", str(files["shares"])]
    assert run(files, *asked).exit_code == 0
    whole = [read_table(files[name]) for name in ("out", "slates", "shares")]
    files["out"].unlink()
    files["slates"].unlink()
    with monkeypatch.context() as stopped:
        before_call(stopped, Run, "keep", 2, lambda: signal.raise_signal(signal.SIGTERM))
        assert run(files, *asked).exit_code == 143
    assert not files["slates"].exists()
    written = files["out"].stat().st_mtime_ns
    monkeypatch.setattr(job, "_read_population", lambda *_: pytest.fail("searched again"))
    result = run(files, *asked, "--resume")
    assert result.exit_code == 0, result.output
    assert "The prices are complete: nothing is left to do. 40 users re-ranked" in result.stderr
    assert files["out"].stat().st_mtime_ns == written
    assert [read_table(files[name]) for name in ("out", "slates", "shares")] == whole
    assert not list(files["out"].parent.glob("*.parts"))


def test_prices_of_before_are_no_part_of_a_balance(files: dict[str, Path]) -> None:
    assert run(files).exit_code == 0
    files["out"].rename(files["shares"])
    with pytest.raises(InputError, match="--prices: are given, must be left out of a balance"):
        run(files, "--prices", str(files["shares"]))


@pytest.mark.parametrize("read", ["targets", "candidates", "out"])
def test_slates_never_go_where_something_is_read(files: dict[str, Path], read: str) -> None:
    before = files["targets"].read_bytes(), files["candidates"].read_bytes()
    with pytest.raises(InputError, match=f"--slates: {files[read]} is the same file as "):
        run(files, "--slates", str(files[read]))
    assert (files["targets"].read_bytes(), files["candidates"].read_bytes()) == before
    assert not files["out"].exists(), "nothing was searched for"
