"""What ``excalibr rerank`` reads, says that it understood, and warns of."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from excalibr import Reranker
from tests.cli.reranking import run
from tests.tables.invented import Invented

ITEMS = pa.table({"item_id": [1, 2, 3, 4], "category": ["a", "a", "b", "b"]})
HISTORY = pa.table({"user_id": [7, 7, 8], "item_id": [1, 3, 4]})
CANDIDATES = pa.table(
    {"user_id": [7] * 4 + [8] * 4, "item_id": [1, 2, 3, 4] * 2, "score": [0.9, 0.8, 0.5, 0.4, 0.4, 0.6, 0.8, 0.9]}
)
UNDERSTOOD = "excalibr: 2 categories in `category`; 2 users; 2 slots of 4 candidates"


def rerank(
    folder: Path, candidates: Any = CANDIDATES, items: Any = ITEMS, history: Any = HISTORY, *more: Any
) -> Result:
    """The command on these tables: Arrow tables are written as CSV, paths are read as they are."""
    paths = {}
    for name, table in {"candidates": candidates, "items": items, "history": history}.items():
        paths[name] = table if isinstance(table, Path) else folder / f"{name}.csv"
        if not isinstance(table, Path):
            pa.csv.write_csv(table, paths[name], pa.csv.WriteOptions(quoting_style="none"))
    beside = ["--items", str(paths["items"]), "--history", str(paths["history"])]
    return run(["rerank", str(paths["candidates"]), *beside, "-o", str(folder / "out.parquet"), *(more or ("-k", "2"))])


def text_of(table: Any, folder: Path, delimiter: str) -> str:
    pa.csv.write_csv(table, folder / "text.csv", pa.csv.WriteOptions(delimiter=delimiter, quoting_style="none"))
    return (folder / "text.csv").read_text(encoding="utf-8")


def compressed(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif path.suffix == ".zst":
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(text.encode())
    else:
        path.write_text(text, encoding="utf-8")
    return path


def expected() -> Any:
    return Reranker(k=2).rerank(CANDIDATES, ITEMS, history=HISTORY)


def test_a_line_says_what_was_understood(tmp_path: Path) -> None:
    result = rerank(tmp_path)
    assert result.stderr.splitlines() == [f"{UNDERSTOOD}.", f"2 users re-ranked into {tmp_path / 'out.parquet'}."]
    assert result.stdout == ""


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "csv.zst"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_of_any_delimiter_and_compression_is_read_for_every_table(
    tmp_path: Path, ending: str, delimiter: str
) -> None:
    tables = {"candidates": CANDIDATES, "items": ITEMS, "history": HISTORY}
    paths = [
        compressed(tmp_path / f"{name}.{ending}", text_of(table, tmp_path, delimiter)) for name, table in tables.items()
    ]
    result = rerank(tmp_path, *paths)
    assert result.exit_code == 0, result.output
    assert pq.read_table(tmp_path / "out.parquet").equals(expected())
    between = {",": None, ";": "fields between semicolons", "\t": "fields between tabs"}[delimiter]
    said = "" if between is None else "".join(f"; {path.name} has {between}" for path in paths)
    assert result.stderr.splitlines()[0] == f"{UNDERSTOOD}{said}."


def test_targets_users_and_a_prior_are_read_from_compressed_files_too(tmp_path: Path) -> None:
    rerank(tmp_path)
    wanted = compressed(tmp_path / "targets.csv.gz", "userId;category;weight\n7;b;1\n8;a;1\n")
    users = compressed(tmp_path / "users.csv.zst", "uid\tk\n7\t1\n")
    given = ["rerank", str(tmp_path / "candidates.csv"), "--items", str(tmp_path / "items.csv"), "-k", "2"]
    beside = ["--targets", str(wanted), "--users", str(users), "-o", str(tmp_path / "out.parquet")]
    result = run([*given, *beside])
    slates = pq.read_table(tmp_path / "out.parquet")
    assert slates["user_id"].to_pylist() == [7, 8, 8]
    assert "`userId` of targets is taken as user_id" in result.stderr
    assert "`uid` of users is taken as user_id" in result.stderr


def test_a_folder_may_hold_compressed_files(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(2):
        compressed(
            tmp_path / "many" / f"{number}.csv.gz", text_of(CANDIDATES[4 * number : 4 * number + 4], tmp_path, ";")
        )
    assert rerank(tmp_path, tmp_path / "many").exit_code == 0
    assert pq.read_table(tmp_path / "out.parquet").equals(expected())


def test_names_may_differ_by_table(tmp_path: Path) -> None:
    """Once the hints for the two tables contradicted one another."""
    candidates = CANDIDATES.rename_columns(["userId", "movieId", "prediction"])
    result = rerank(tmp_path, candidates, ITEMS.rename_columns(["itemId", "genres"]), HISTORY)
    assert result.exit_code == 0, result.output
    assert pq.read_table(tmp_path / "out.parquet").column_names == ["userId", "rank", "movieId", "prediction"]
    assert result.stderr.splitlines()[0] == (
        "excalibr: 2 categories in `genres`; 2 users; 2 slots of 4 candidates; "
        "`itemId`, `genres` of items are taken as item_id, category; "
        "`userId`, `movieId`, `prediction` of candidates are taken as user_id, item_id, score."
    )


def test_one_option_names_a_column_of_one_table(tmp_path: Path) -> None:
    history = HISTORY.rename_columns(["listener", "song"])
    named = ("--history-user-id", "listener", "--history-item-id", "song", "-k", "2")
    assert rerank(tmp_path, CANDIDATES, ITEMS, history, *named).exit_code == 0
    assert pq.read_table(tmp_path / "out.parquet").equals(expected())


@pytest.mark.parametrize("order", [1, -1])
def test_tables_are_sorted_by_their_own_columns_of_users(tmp_path: Path, order: int) -> None:
    history = HISTORY.rename_columns(["userId", "item_id"]).take(np.arange(3)[::order])
    result = rerank(tmp_path, CANDIDATES.take(np.arange(8)[::order]), ITEMS, history)
    assert ("history is not in the order of 'userId'" in result.stderr) == (order == -1)
    assert pq.read_table(tmp_path / "out.parquet").equals(expected())


def test_the_separator_is_guessed_said_and_may_be_forbidden(tmp_path: Path, tables: Invented) -> None:
    paths = []
    for name in ("candidates", "items", "history"):
        paths.append(tmp_path / f"{name}.parquet")
        pq.write_table(getattr(tables, name), paths[-1])
    guessed = rerank(tmp_path, *paths, "-k", "5").stderr
    assert guessed.startswith("excalibr: 5 categories in `genres`, split at `|` (guessed); 40 users; 5 slots of 25")
    named = Reranker(k=5).rerank(
        tables.candidates, tables.items, history=tables.history, category="genres", separator="|"
    )
    assert pq.read_table(tmp_path / "out.parquet").equals(named)
    whole = rerank(tmp_path, *paths, "-k", "5", "--separator", "none").stderr
    assert "split" not in whole
    assert "stands in" not in whole


WRONG_CATEGORIES: list[tuple[list[Any], str]] = [
    (
        [None] * 4,
        "no item has a category in `category`, so that nothing can be calibrated. "
        "Hint: pass --category … to name another column.",
    ),
    (
        ["a"] * 4,
        "all 4 items have the one category 'a' in `category`, so that there is nothing to balance. "
        "Hint: pass --category … to name another column.",
    ),
    (
        ["Doe/Ann", "Doe/Jo", "Poe/Ann", "Roe/Jo"],
        "`/` stands in 100% of the labels of `category`, which are not split there. "
        "Hint: pass --separator / to split them, or --separator none if they are whole.",
    ),
]


@pytest.mark.parametrize(("labels", "message"), WRONG_CATEGORIES)
def test_categories_that_look_wrong_are_warned_of_in_a_line(tmp_path: Path, labels: list[Any], message: str) -> None:
    result = rerank(tmp_path, items=pa.table({"item_id": [1, 2, 3, 4], "category": pa.array(labels, pa.string())}))
    assert result.exit_code == 0
    assert result.stderr.splitlines()[1] == f"excalibr: warning: {message}"


def test_a_category_for_each_item_is_warned_of(tmp_path: Path) -> None:
    items = pa.table({"item_id": np.arange(40), "category": [f"Film {number}" for number in range(40)]})
    result = rerank(tmp_path, items=items)
    assert "excalibr: warning: `category` has 40 categories for 40 items" in result.stderr


def test_without_a_number_of_slots_the_command_says_that_little_can_change(tmp_path: Path) -> None:
    result = rerank(tmp_path, CANDIDATES, ITEMS, HISTORY, "--seed", "1")
    assert result.stderr.splitlines()[:2] == [
        "excalibr: 2 categories in `category`; 2 users; 4 candidates and slots.",
        "excalibr: warning: every user has as many slots as candidates, so that only their order can change. "
        "Hint: pass -k 10 for a slate of ten.",
    ]


def test_nobody_with_a_slate_is_said_so_with_an_exit_code(tmp_path: Path) -> None:
    candidates = CANDIDATES.set_column(2, "score", pa.array([np.nan] * 8))
    result = rerank(tmp_path, candidates)
    assert result.exit_code != 0
    assert str(result.exception) == (
        f"0 of 2 users re-ranked into {tmp_path / 'out.parquet'}. 2 of 2 users have no slate (2 no candidates). "
        "Rows left out: 8 without a finite score."
    )
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


def test_some_without_a_slate_are_counted(tmp_path: Path) -> None:
    scores = [np.nan] * 4 + [0.4, 0.6, 0.8, 0.9]
    result = rerank(tmp_path, CANDIDATES.set_column(2, "score", pa.array(scores)))
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1].startswith("1 of 2 users re-ranked into ")


@pytest.mark.parametrize("table", ["candidates", "items", "history"])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "csv.gz", "csv.zst"])
def test_a_damaged_file_is_named_whichever_table_it_is(tmp_path: Path, table: str, ending: str) -> None:
    damaged = tmp_path / f"damaged.{ending}"
    damaged.write_bytes(b"PAR1\x00\xff\xfe,;\n" + bytes(range(256)) + b"PAR1")
    result = rerank(tmp_path, **{table: damaged})
    assert result.exit_code != 0
    assert str(damaged) in str(result.exception)
    assert "must be" in str(result.exception)
    assert not isinstance(result.exception, OSError)


def test_a_parquet_file_damaged_in_its_data_is_named(tmp_path: Path) -> None:
    pq.write_table(CANDIDATES, tmp_path / "damaged.parquet", compression="snappy")
    content = bytearray((tmp_path / "damaged.parquet").read_bytes())
    content[4:120] = bytes(116)
    (tmp_path / "damaged.parquet").write_bytes(bytes(content))
    result = rerank(tmp_path, tmp_path / "damaged.parquet")
    assert f"{tmp_path / 'damaged.parquet'}: cannot be read (" in str(result.exception)


def test_one_user_and_one_slot_are_counted_in_the_singular(tmp_path: Path) -> None:
    output = rerank(tmp_path, CANDIDATES[:4], ITEMS, HISTORY, "-k", "1").output
    assert "; 1 user; 1 slot of 4 candidates." in output
    assert "1 user re-ranked into" in output
