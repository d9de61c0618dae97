from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from excalibr.errors import InputError
from excalibr.tables._files import Dialect, dialect_of, files_of, kind_of, read_batches, read_schema, read_table, sniff

TABLE = pa.table({"user_id": [1, 2, 3] * 100, "genres": ["a|b", "c", "d"] * 100, "score": [0.5, 1.5, 2.5] * 100})


def write_csv(path: Path, delimiter: str = ",") -> None:
    pa.csv.write_csv(TABLE, path, pa.csv.WriteOptions(delimiter=delimiter, quoting_style="none"))


def write_gzip(path: Path) -> None:
    write_csv(path.with_name("plain.csv"))
    path.write_bytes(gzip.compress(path.with_name("plain.csv").read_bytes()))


def write_zstd(path: Path) -> None:
    write_csv(path.with_name("plain.csv"), ";")
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(path.with_name("plain.csv").read_bytes())


def write_stream(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE)


WRITERS: dict[str, Callable[[Path], None]] = {
    "t.parquet": lambda path: pq.write_table(TABLE, path),
    "t.feather": lambda path: pa.feather.write_feather(TABLE, path, compression="uncompressed"),
    "t.arrow": write_stream,
    "t.csv": write_csv,
    "t.tsv": lambda path: write_csv(path, "\t"),
    "t.csv.gz": write_gzip,
    "t.CSV.zst": write_zstd,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_table(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    schema = read_schema(tmp_path / name)
    assert schema.names == TABLE.column_names
    assert read_table(tmp_path / name).to_pydict() == TABLE.to_pydict()
    batches = list(read_batches(tmp_path / name, schema, ["score", "in another file"]))
    assert {tuple(batch.schema.names) for batch in batches} == {("score",)}


@pytest.mark.parametrize("category", [pl.String, pl.Categorical, pl.List(pl.String)])
def test_a_file_of_views_as_polars_writes_it_is_read_as_plain_text(tmp_path: Path, category: pl.DataType) -> None:
    labels = pl.Series(
        "category", [["a"], ["b"], None] if category == pl.List(pl.String) else ["a", "b", None], category
    )
    table = pl.DataFrame({"item_id": ["x", "y", "z"], "category": labels})
    table.write_ipc(tmp_path / "t.arrow")
    read = read_table(tmp_path / "t.arrow")
    assert read.to_pydict() == table.to_dict(as_series=False)
    assert read.schema == read_schema(tmp_path / "t.arrow")
    assert read.take([2, 0])["category"].to_pylist() == [None, labels[0] if category != pl.List(pl.String) else ["a"]]


def test_an_arrow_file_of_no_rows_is_an_empty_table(tmp_path: Path) -> None:
    pa.feather.write_feather(TABLE[:0], tmp_path / "t.feather", compression="uncompressed")
    assert read_table(tmp_path / "t.feather").equals(TABLE[:0])


@pytest.mark.parametrize("text", [pa.string(), pa.string_view()])
def test_categories_and_views_of_text_are_read_as_their_values(tmp_path: Path, text: Any) -> None:
    names = pa.array(["a long name of an item", None, "b"], text)
    coded = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), pa.array(["x", "y"], text))
    with pa.ipc.new_file(tmp_path / "t.arrow", pa.schema({"name": text, "kind": coded.type})) as writer:
        writer.write_batch(pa.record_batch({"name": names, "kind": coded}))
    found = read_table(tmp_path / "t.arrow")
    assert {str(kind).removeprefix("large_") for kind in found.schema.types} == {"string"}
    assert found.to_pydict() == {"name": ["a long name of an item", None, "b"], "kind": ["y", None, "x"]}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("part", [0.0, 0.3, 0.95])
def test_a_file_that_was_cut_off_is_named_with_what_is_wrong(tmp_path: Path, name: str, part: float) -> None:
    WRITERS[name](tmp_path / name)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: int(part * len(content))])
    if kind_of(Path(name)) == "csv" and "." not in name.removeprefix("t.") and part:
        return  # half of a plain text may be a whole one
    with pytest.raises(InputError) as raised:
        read_table(tmp_path / name)
    assert str(raised.value).startswith(f"{tmp_path / name}: cannot be read (")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_damaged_bytes_are_an_error_of_ours_or_another_table_and_never_a_crash(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    content = np.frombuffer((tmp_path / name).read_bytes(), dtype=np.uint8)
    named = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        damaged = content.copy()
        damaged[random.integers(0, len(content), 20)] = random.integers(0, 256, 20)
        (tmp_path / name).write_bytes(damaged.tobytes())
        try:
            read_table(tmp_path / name)
        except InputError as error:
            named.append(str(tmp_path / name) in str(error))
    assert named
    assert all(named)


MANY = 200_000  # rows of two bytes and more, which is more than Arrow guesses types from


@pytest.mark.parametrize(
    ("first", "last", "kind", "value"),
    [
        ("7", "0.5", pa.float64(), 0.5),
        ("7", "seven", pa.string(), "seven"),
        ("7", "18446744073709551615", pa.decimal128(38, 0), Decimal(2**64 - 1)),
        ("0.5", "1e300", pa.float64(), 1e300),
        ("0.5", "none", pa.string(), "none"),
        ("", "7", pa.int64(), 7),
        ("", "0.5", pa.float64(), 0.5),
        ("", "seven", pa.string(), "seven"),
        ("true", "seven", pa.string(), "seven"),
        ("2030-01-31", "seven", pa.string(), "seven"),
    ],
)
def test_a_value_far_down_a_csv_file_counts_for_the_type_of_its_column(
    tmp_path: Path, first: str, last: str, kind: Any, value: Any
) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + f"{first},1\n" * MANY + f"{last},2\n")
    found = read_table(tmp_path / "t.csv")
    assert (len(found), found.schema.types) == (MANY + 1, [kind, pa.int64()])
    assert found["a"][-1].as_py() == value


def test_whole_numbers_beyond_64_bits_in_a_csv_file_are_not_rounded(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n12345678901234567890,1e17\n12345678901234567891,0.5\n7,\n")
    found = read_table(tmp_path / "t.csv")
    assert list(map(int, found["a"].to_pylist())) == [12345678901234567890, 12345678901234567891, 7]
    assert found["b"].to_pylist() == [1e17, 0.5, None]


def test_text_of_another_encoding_far_down_a_csv_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"cafe,1\n" * MANY + "café,2\n".encode("latin-1"))
    with pytest.raises(InputError, match="column 'a' has bytes that are not UTF-8, must be UTF-8 text"):
        read_schema(tmp_path / "t.csv")


def test_a_quoted_field_of_a_csv_file_may_have_lines_anywhere(tmp_path: Path) -> None:
    text = "a line\nand another\n" * 3_000
    (tmp_path / "t.csv").write_text("a,b\n" + f'1,"{text}"\n' * 100)
    assert read_table(tmp_path / "t.csv").to_pydict() == {"a": [1] * 100, "b": [text] * 100}


def test_reading_the_types_of_a_csv_file_can_be_stopped(tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(KeyboardInterrupt):
        read_schema(tmp_path / "t.csv", stop)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read .Empty CSV file"),
        (b"a,b\n1,2\n1,2,3\n", "cannot be read .*Expected 2 columns, got 3"),
        (b"a,a\n1,2\n", "has the column 'a' twice, must have each column once"),
        ("item_id,category\n1,com\xe9die\n".encode("latin-1"), "column 'category' has bytes that are not UTF-8"),
        ("item_id,category\n1,comédie\n".encode("utf-16"), "is UTF-16, must be UTF-8 text. Hint: save it as UTF-8"),
    ],
)
def test_a_text_that_is_no_table_is_named_with_what_is_wrong(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "items.csv").write_bytes(content)
    with pytest.raises(InputError, match=f"items.csv: {message}"):
        read_table(tmp_path / "items.csv")


def test_a_name_of_no_known_kind_is_answered_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "items.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"items.xlsx: is of no known format, must end in one of .parquet, .*\.gz"):
        read_schema(tmp_path / "items.xlsx")
    assert kind_of(Path("items.parquet.gz")) is None


def test_a_folder_is_its_tables_but_what_is_hidden_or_being_written(tmp_path: Path) -> None:
    left_out = [".b.0123456789ab.tmp.csv", "._a.csv", "_temporary/0/c.csv", ".ipynb_checkpoints/a.csv", "_SUCCESS"]
    for name in (*left_out, "b.csv", "day=1/a.csv", "a_.csv", "notes.md"):
        (tmp_path / ".data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".data" / name).write_text("a\n1\n")
    found = files_of("candidates", tmp_path / ".data")
    assert [path.relative_to(tmp_path / ".data").as_posix() for path in found] == ["a_.csv", "b.csv", "day=1/a.csv"]
    (tmp_path / "empty" / "_temporary").mkdir(parents=True)
    (tmp_path / "empty" / "_temporary" / "a.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="empty holds no table, must hold files that end in .parquet, .* underscore"):
        files_of("candidates", tmp_path / "empty")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_no_table_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"items: .*t\.csv is a pipe or a device, must be a file or a folder"):
        files_of("items", tmp_path / "t.csv")


def test_a_file_that_cannot_be_opened_is_the_systems_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere.csv"):
        read_table(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    ("start", "dialect"),
    [
        ("user_id,item_id,score\n1,2,3\n", Dialect()),
        ("user_id;item_id;score\n1;2;0.5\n", Dialect(";")),
        ("user_id;item_id;score\n1;2;0,5\n", Dialect(";", ",")),
        ("user_id;item_id;score\n1;2;0,5\n1;2;0.5\n", Dialect(";")),
        ("user_id\titem_id\n", Dialect("\t")),
        ("item_id|genre\n", Dialect("|")),
        ("item_id,a;b\n", Dialect()),
        ('"a;b;c;d",e,f\n', Dialect()),
        ("\ufeffuser_id;item_id\n", Dialect(";")),
        ("user_id\n1\n", Dialect()),
        ("", Dialect()),
    ],
)
def test_the_delimiter_is_the_one_that_the_header_has_most_of(start: str, dialect: Dialect) -> None:
    assert sniff(start) == dialect


def test_what_is_unusual_about_a_file_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a;b\n1;0,5\n", encoding="utf-8")
    assert dialect_of(tmp_path / "a.csv").text == "fields between semicolons, decimal commas"
    assert Dialect().text == ""


def test_decimal_commas_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a;b\n1;0,5\n", encoding="utf-8")
    assert read_table(tmp_path / "a.csv").to_pydict() == {"a": [1], "b": [0.5]}


def test_an_empty_field_is_no_value_and_na_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user_id,category\n,NA\nada,\neve,b\n", encoding="utf-8")
    read = read_table(tmp_path / "a.csv").to_pydict()
    assert read == {"user_id": [None, "ada", "eve"], "category": ["NA", None, "b"]}
