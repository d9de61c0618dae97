import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from excalibr import Reranker
from excalibr._cli.rerank import user_blocks
from excalibr.tables._files import read_table
from tests.cli.reranking import ASKED, arguments, expected, run, write
from tests.tables.invented import GENRE_COLUMNS, Invented, invented_tables

pytestmark = pytest.mark.usefixtures("small_chunks")


def test_the_command_gives_what_a_reranker_gives(tmp_path: Path, tables: Invented) -> None:
    result = run(write(tmp_path, tables))
    understood = "excalibr: 5 categories in `genres`, split at `|`; 40 users; 5 slots of 25 candidates.\n"
    done = f"40 users re-ranked into {tmp_path / 'slates.parquet'}.\n"
    assert (result.exit_code, result.output) == (0, understood + done)
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "candidates.parquet",
        "history.parquet",
        "items.parquet",
        "slates.parquet",
    ]


def test_the_command_draws_the_visits_that_a_reranker_draws(tmp_path: Path, tables: Invented) -> None:
    users = pa.table({"user_id": tables.candidates["user_id"].unique().to_pylist()[:3], "visit": [2, 0, 70]})
    pq.write_table(users, tmp_path / "users.parquet")
    asked = ["--visit", "3", "--propensities", "--users", str(tmp_path / "users.parquet")]
    assert run([*write(tmp_path, tables), *asked]).exit_code == 0
    slates = pq.read_table(tmp_path / "slates.parquet")
    assert slates.equals(expected(tables, users=users, visit=3, propensities=True))
    assert slates.column_names[4:7] == ["probability", "propensity", "propensity_anywhere"]


@pytest.mark.parametrize("rows", [1, 7, 25, 1000])
def test_users_may_straddle_row_groups(tmp_path: Path, tables: Invented, rows: int) -> None:
    assert run(write(tmp_path, tables, rows)).exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_rows_of_a_file_without_the_column_of_users_are_left_out_and_counted(
    tmp_path: Path, tables: Invented, ending: str
) -> None:
    write(tmp_path, tables)
    (tmp_path / "folder").mkdir()
    writers = {"parquet": pq.write_table, "arrow": pa.feather.write_feather, "csv": pa.csv.write_csv}
    writers[ending](tables.candidates, tmp_path / "folder" / f"1.{ending}")
    writers[ending](tables.candidates[:7].drop_columns(["user_id"]), tmp_path / "folder" / f"2.{ending}")
    result = run(arguments(tmp_path, "folder"))
    assert result.exit_code == 0, result.output
    assert "Rows left out: 7 without a user." in result.output
    assert read_table(tmp_path / "slates.parquet").to_pydict() == expected(tables).to_pydict()


def test_users_whose_numbers_in_a_csv_file_are_beyond_64_bits_stay_apart(tmp_path: Path, tables: Invented) -> None:
    write(tmp_path, tables)
    ids = ["9" * 20, "9" * 19 + "8"]
    rows = [f"{user},{item},0.{item}" for user in ids for item in tables.items["item_id"].to_pylist()[:9]]
    (tmp_path / "huge.csv").write_text("\n".join(["user_id,item_id,score", *rows, ""]))
    assert run(arguments(tmp_path, "huge.csv", "slates.csv")).exit_code == 0
    slates = (tmp_path / "slates.csv").read_text().splitlines()[1:]
    assert [line.partition(",")[0] for line in slates] == [ids[1]] * 5 + [ids[0]] * 5


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_categories_that_differ_from_row_group_to_row_group_are_kept(
    tmp_path: Path, tables: Invented, ending: str, in_order: bool
) -> None:
    write(tmp_path, tables)
    kinds = [f"kind {number // 60} {number % 2}" for number in range(len(tables.candidates))]
    candidates = tables.candidates.append_column("kind", pa.array(kinds))
    coded = pa.schema([*tables.candidates.schema, ("kind", pa.dictionary(pa.int32(), pa.string()))])
    groups = [candidates[first : first + 60].cast(coded) for first in range(0, len(candidates), 60)]
    with pq.ParquetWriter(tmp_path / "coded.parquet", coded) as writer:
        for group in groups if in_order else groups[::-1]:
            writer.write_table(group)
    result = run(arguments(tmp_path, "coded.parquet", f"slates.{ending}"))
    assert result.exit_code == 0, result.output
    wanted = expected(dataclasses.replace(tables, candidates=candidates))
    assert read_table(tmp_path / f"slates.{ending}").to_pydict() == wanted.to_pydict()


@pytest.mark.parametrize("text_ids", [False, True])
def test_rows_in_any_order_are_sorted_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text_ids: bool) -> None:
    monkeypatch.setattr(user_blocks, "BUCKET_ROWS", 100)
    monkeypatch.setattr(user_blocks, "SAMPLED", 5)
    tables = invented_tables(users=40, text_ids=text_ids)
    result = run(write(tmp_path, tables.shuffled(4)))
    assert result.exit_code == 0
    assert "candidates are not in the order of 'user_id': sorting 1,000 rows on disk." in result.output
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))
    assert not (tmp_path / "slates.parquet.parts").exists()


def test_csv_and_arrow_files_are_read_and_written(tmp_path: Path, tables: Invented) -> None:
    write(tmp_path, tables)
    pa.csv.write_csv(tables.candidates, tmp_path / "candidates.csv")
    pa.feather.write_feather(tables.candidates, tmp_path / "candidates.arrow")
    for kind in ("csv", "arrow"):
        assert run(arguments(tmp_path, f"candidates.{kind}", f"slates.{kind}")).exit_code == 0
    assert pa.csv.read_csv(tmp_path / "slates.csv").equals(expected(tables))
    assert pa.feather.read_table(tmp_path / "slates.arrow").equals(expected(tables))


def test_a_folder_of_files_is_one_table(tmp_path: Path, tables: Invented) -> None:
    write(tmp_path, tables)
    (tmp_path / "many").mkdir()
    for number, start in enumerate(range(0, 1000, 330)):
        pq.write_table(tables.candidates.slice(start, 330), tmp_path / "many" / f"{number}.parquet")
    assert run(arguments(tmp_path, "many")).exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


def test_report_and_lotteries_are_written_beside(tmp_path: Path, tables: Invented) -> None:
    more = ["--report", str(tmp_path / "report.csv"), "--lotteries", str(tmp_path / "lotteries.parquet")]
    assert run([*write(tmp_path, tables), *more]).exit_code == 0
    reranker = Reranker(k=5, trade_off=0.4, seed=3)
    given = (tables.candidates, tables.items)
    lotteries = pq.read_table(tmp_path / "lotteries.parquet")
    assert lotteries.equals(reranker.lotteries(*given, history=tables.history, **GENRE_COLUMNS))
    assert reranker.draw(lotteries).equals(pq.read_table(tmp_path / "slates.parquet"))
    report = pa.csv.read_csv(tmp_path / "report.csv")
    assert report["status"].to_pylist() == ["ok"] * 40


def test_users_and_targets_are_read_along(tmp_path: Path, tables: Invented) -> None:
    write(tmp_path, tables)
    ids = np.arange(100, 140)
    users = pa.table({"user_id": ids, "k": ids % 4 + 1})
    wanted = pa.table({"user_id": np.repeat(ids, 2), "category": ["art", "epic"] * 40, "weight": np.arange(80) + 1.0})
    pq.write_table(users, tmp_path / "users.parquet", row_group_size=3)
    pq.write_table(wanted, tmp_path / "targets.parquet", row_group_size=3)
    given = [*arguments(tmp_path)[:4], "--targets", str(tmp_path / "targets.parquet"), *ASKED]
    assert run([*given, "--users", str(tmp_path / "users.parquet"), "-o", str(tmp_path / "out.parquet")]).exit_code == 0
    reranker = Reranker(k=5, trade_off=0.4, seed=3)
    slates = reranker.rerank(tables.candidates, tables.items, targets=wanted, users=users, **GENRE_COLUMNS)
    assert pq.read_table(tmp_path / "out.parquet").equals(slates)


def test_a_target_and_a_prior_for_all_come_from_small_tables(tmp_path: Path, tables: Invented) -> None:
    write(tmp_path, tables)
    pa.csv.write_csv(pa.table({"category": ["art", "epic"], "weight": [1.0, 3.0]}), tmp_path / "shares.csv")
    for option in ("--targets", "--prior"):
        given = [*arguments(tmp_path)[:4], option, str(tmp_path / "shares.csv"), *ASKED]
        assert run([*given, "-o", str(tmp_path / "out.parquet")]).exit_code == 0
        slates = Reranker(k=5, trade_off=0.4, seed=3).rerank(
            tables.candidates, tables.items, targets={"art": 1, "epic": 3}, **GENRE_COLUMNS
        )
        assert pq.read_table(tmp_path / "out.parquet").equals(slates)


def test_a_prior_with_a_strength_is_added_to_every_history(tmp_path: Path, tables: Invented) -> None:
    prior = pa.table({"category": ["art", "drama"], "weight": [0.25, 0.75]})
    pq.write_table(prior, tmp_path / "prior.parquet")
    asked = ["--prior", str(tmp_path / "prior.parquet"), "--strength", "3"]
    result = run([*write(tmp_path, tables), *asked])
    assert result.exit_code == 0, result.exception
    slates = pq.read_table(tmp_path / "slates.parquet")
    assert slates.equals(expected(tables, prior=prior, strength=3))
    assert not slates.equals(expected(tables))


def test_position_weights_may_be_numbers(tmp_path: Path, tables: Invented) -> None:
    assert run([*write(tmp_path, tables), "--position-weights", "1,5,3,1,1"]).exit_code == 0
    reranker = Reranker(k=5, trade_off=0.4, seed=3, position_weights=[1, 5, 3, 1, 1])
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables, reranker))


def test_options_by_category_are_written_with_equals_signs(tmp_path: Path, tables: Invented) -> None:
    more = ["--max-per-category", "3", "--category-weights", "art=2,epic=0.5", "--relative"]
    short = ["--category", "first"]
    items = tables.items.append_column(
        "first", pa.compute.list_element(pa.compute.split_pattern(tables.items["genres"], "|"), 0)
    )
    given = [*write(tmp_path, Invented(tables.candidates, items, tables.history)), *more, *short]
    assert run(given).exit_code == 0
    weights = {"art": 2, "epic": 0.5}
    reranker = Reranker(k=5, trade_off=0.4, seed=3, max_per_category=3, category_weights=weights, relative=True)
    slates = reranker.rerank(tables.candidates, items, history=tables.history, category="first")
    assert pq.read_table(tmp_path / "slates.parquet").equals(slates)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_changes_nothing(tmp_path: Path, tables: Invented, threads: str) -> None:
    assert run([*write(tmp_path, tables), "--threads", threads]).exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


def test_an_empty_table_gives_an_empty_one(tmp_path: Path, tables: Invented) -> None:
    result = run(write(tmp_path, Invented(tables.candidates[:0], tables.items, tables.history)))
    assert result.exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").num_rows == 0


def test_what_could_not_be_used_is_summed_up_once(tmp_path: Path, tables: Invented) -> None:
    short = tables.history.slice(0, 6 * 38)
    candidates = tables.candidates.set_column(
        0,
        "user_id",
        pa.array([None if row == 990 else user for row, user in enumerate(tables.candidates["user_id"].to_pylist())]),
    )
    result = run(write(tmp_path, Invented(candidates, tables.items, short)))
    assert result.exit_code == 0
    assert "2 of 40 users could not be calibrated and are ranked by relevance (2 no target)." in result.output
    assert "Rows left out: 1 without a user." in result.output


def fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, given: list[str]) -> tuple[Any, str]:
    from excalibr._cli import main

    monkeypatch.setattr(sys, "argv", ["excalibr", *given])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code, capsys.readouterr().err


def test_errors_are_one_line_with_a_code(
    tmp_path: Path, tables: Invented, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write(tmp_path, tables)
    wrong = {
        "column 'usr' not found in candidates. Hint: columns are ['user_id', 'item_id', 'score', 'source']": [
            *given,
            "--user-id",
            "usr",
        ],
        "column 'pred' not found in candidates. Hint: columns are": [*given, "--score", "pred"],
        "-k: is 0, must be a whole number": [*given, "-k", "0"],
        "--out: is 'slates.txt', must end in one of .parquet": [*given, "-o", "slates.txt"],
        "--history: is missing, must be given, or --targets": [*given[:4], *ASKED, "-o", str(tmp_path / "out.csv")],
    }
    for message, words in wrong.items():
        code, printed = fails(capsys, monkeypatch, words)
        assert code == 2
        assert printed.startswith(f"excalibr: {message}")
        assert printed.count("\n") == 1


def test_a_file_that_is_not_there_or_not_whole_is_named(
    tmp_path: Path, tables: Invented, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write(tmp_path, tables)
    code, printed = fails(capsys, monkeypatch, [given[0], str(tmp_path / "none.parquet"), *given[2:]])
    assert (code, printed) == (
        2,
        f"excalibr: candidates: {tmp_path / 'none.parquet'} does not exist, must be a file or a folder.\n",
    )
    (tmp_path / "items.parquet").write_bytes(b"PAR1 but not more")
    code, printed = fails(capsys, monkeypatch, given)
    assert code == 2
    assert printed.startswith(f"excalibr: {tmp_path / 'items.parquet'}: cannot be read")
    assert printed.count("\n") == 1


def test_an_output_that_cannot_be_written_has_a_code_of_its_own(tmp_path: Path, tables: Invented) -> None:
    given = write(tmp_path, tables)
    (tmp_path / "file").write_text("not a folder")
    result = run([*given[:-1], str(tmp_path / "file" / "slates.parquet")])
    assert result.exit_code == 3
    assert result.output.startswith("excalibr: ")


def test_the_options_are_those_of_the_reranker() -> None:
    listed = run(["rerank", "--help"], env={"COLUMNS": "200"}).stdout
    options = ("--trade-off", "--position-weights", "--method", "--seed", "--threads", "--fallback", "--half-life")
    assert [option for option in options if option not in listed] == []
