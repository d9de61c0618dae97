from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from excalibr.errors import ExcalibrError, InputError
from excalibr.experiments import Columns, Source, movielens_source, table_source
from tests.experiments.invented import ITEMS, USERS, movielens_folder, own_tables

COLUMNS = Columns(("mood", "era"), "listener", "track", "stars", ";")


def test_movielens_has_the_papers_attributes(source: Source) -> None:
    attributes = source.attributes(source.liked.counts)
    assert [each.name for each in attributes] == ["genre", "decade", "popularity"]
    assert source.facts["users who rated"] == str(USERS)


def test_tables_of_ones_own_have_an_attribute_for_each_column(tmp_path: Path) -> None:
    own = table_source(*own_tables(tmp_path), COLUMNS)
    attributes = own.attributes(own.liked.counts)
    assert [each.name for each in attributes] == ["mood", "era", "popularity"]
    assert attributes[0].categories == ("calm", "loud", "sad")
    assert attributes[0].items == len(own.liked.item_ids) <= ITEMS
    first = attributes[0].matrix.toarray()[own.liked.item_ids.tolist().index("t2")]
    assert first.tolist() == [0.5, 0.0, 0.5]


def test_without_a_rating_column_every_row_is_a_positive(tmp_path: Path) -> None:
    paths = own_tables(tmp_path)
    every = table_source(*paths, Columns(("mood",), "listener", "track", "", ";"))
    assert len(every.liked) == 22 * USERS > len(table_source(*paths, COLUMNS).liked)


def test_the_fingerprint_knows_the_data_and_not_the_folder(source: Source, tmp_path: Path) -> None:
    again = movielens_source(movielens_folder(tmp_path))
    assert again.fingerprint() == source.fingerprint()
    other = table_source(*own_tables(tmp_path), COLUMNS)
    assert other.fingerprint() != source.fingerprint()


def test_a_missing_column_names_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no column 'user_id'.*\['listener', 'track', 'stars'\]"):
        table_source(*own_tables(tmp_path), Columns(("mood",)))


def test_a_rated_item_must_be_in_the_items_table(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    lines = tracks.read_text(encoding="utf-8").splitlines()
    tracks.write_text("\n".join([*lines[:-1], ""]), encoding="utf-8")
    with pytest.raises(InputError, match=f"lacks 1 of the rated items, such as 't{ITEMS}'"):
        table_source(plays, tracks, COLUMNS)


def test_an_item_must_not_come_twice(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    tracks.write_text(tracks.read_text(encoding="utf-8") + "t1,calm,1\n", encoding="utf-8")
    with pytest.raises(InputError, match="has an item twice"):
        table_source(plays, tracks, COLUMNS)


def test_a_table_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        table_source(tmp_path / "nowhere.csv", tmp_path / "nothing.csv", COLUMNS)


def test_missing_categories_are_a_label_of_their_own(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    text = tracks.read_text(encoding="utf-8").replace("t3,loud", "t3,")
    tracks.write_text(text, encoding="utf-8")
    own = table_source(plays, tracks, COLUMNS)
    assert "(none)" in own.attributes(np.ones(len(own.liked.item_ids), dtype=np.int64))[0].categories


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (",t1,5.0", "lacks a value in column 'listener'"),
        ("l1,,5.0", "lacks a value in column 'track'"),
        ("l1,t999,many", "stars: cannot be read as numbers"),
    ],
)
def test_a_row_that_is_not_whole_is_said_so(tmp_path: Path, broken: str, message: str) -> None:
    plays, tracks = own_tables(tmp_path)
    plays.write_text(plays.read_text(encoding="utf-8") + broken + "\n", encoding="utf-8")
    with pytest.raises(ExcalibrError, match=message):
        table_source(plays, tracks, COLUMNS)


def test_a_table_without_rows_is_said_so(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    plays.write_text("listener,track,stars\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no rows"):
        table_source(plays, tracks, COLUMNS)


def test_parquet_tables_with_lists_of_labels_do_as_well(tmp_path: Path) -> None:
    ratings = [(user, item) for user in range(4) for item in range(6)]
    users, items = zip(*ratings, strict=True)
    pq.write_table(pa.table({"user_id": users, "item_id": items}), tmp_path / "r.parquet")
    labels = [["a", "b"], ["a"], [], None, ["b"], ["c"]]
    pq.write_table(pa.table({"item_id": range(6), "kind": labels}), tmp_path / "i.parquet")
    own = table_source(tmp_path / "r.parquet", tmp_path / "i.parquet", Columns(("kind",), rating=""))
    assert own.attributes(own.liked.counts)[0].categories == ("(none)", "a", "b", "c")
