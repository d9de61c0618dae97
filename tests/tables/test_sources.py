"""Tables in folders of files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from excalibr.errors import InputError
from excalibr.tables._sources import TableSource


def test_files_of_a_folder_whose_types_do_not_go_together_are_named_as_such(tmp_path: Path) -> None:
    table = pa.table({"user_id": [1], "item_id": [1], "score": [0.5]})
    for more in ({"tag": pa.array([2**64 - 1], pa.uint64())}, {"tag": pa.array([True])}):
        (tmp_path / "many").mkdir(exist_ok=True)
        for name, values in {"1": {"tag": pa.array([-1])}, "2": more}.items():
            pq.write_table(table.append_column("tag", values["tag"]), tmp_path / "many" / f"{name}.parquet")
        source = TableSource("candidates", tmp_path / "many")
        with pytest.raises(
            InputError, match=r"candidates: the files in .*many differ \(.*must have columns of the same"
        ):
            source.read()
