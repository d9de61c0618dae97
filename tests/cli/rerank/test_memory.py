"""How much memory reading takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from excalibr.tables._sources import TableSource

GROUP_ROWS, GROUPS = 40_000, 40


def test_reading_takes_the_memory_of_a_few_row_groups_however_many_there_are(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    table = pa.table({"score": random.random(GROUP_ROWS * GROUPS), "other": random.random(GROUP_ROWS * GROUPS)})
    pq.write_table(table, tmp_path / "candidates.parquet", row_group_size=GROUP_ROWS)
    group = table.nbytes // GROUPS
    del table
    before = pa.total_allocated_bytes()
    rows, most = 0, 0
    for batch in TableSource("candidates", tmp_path / "candidates.parquet").batches():
        rows += len(batch)
        most = max(most, pa.total_allocated_bytes() - before)
    assert rows == GROUP_ROWS * GROUPS
    assert most < 6 * group
