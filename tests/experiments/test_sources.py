import gzip
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from excalibr._experiments import Columns, Source, movielens_source, table_source
from excalibr.errors import ExcalibrError, InputError
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
    with pytest.raises(
        InputError, match=r"column 'user_id' not found in .*\['listener', 'track', 'stars'\]; pass user="
    ):
        table_source(*own_tables(tmp_path), Columns(("mood",)))


def test_rows_that_nothing_can_be_done_with_are_left_out_and_counted_all_at_once(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    whole = table_source(plays, tracks, COLUMNS)
    more = [",t1,5.0", "l1,,5.0", "l1,t999,5.0", plays.read_text(encoding="utf-8").splitlines()[1]]
    plays.write_text(plays.read_text(encoding="utf-8") + "\n".join([*more, ""]), encoding="utf-8")
    tracks.write_text(tracks.read_text(encoding="utf-8") + "t1,loud,1\n", encoding="utf-8")
    found = table_source(plays, tracks, COLUMNS)
    for said in (
        "left out: 2 rows without a user, an item or a rating",
        "left out: 1 rows of 1 items that are not in the items table",
        "left out: 1 earlier rows of a user and an item",
        "left out: 1 rows of the items",
    ):
        assert said in found.understood
    assert found.fingerprint() == whole.fingerprint()


def test_items_that_few_like_can_be_left_out(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    found = table_source(plays, tracks, COLUMNS).often_liked(30)
    assert 0 < len(found.liked.item_ids) < ITEMS
    assert table_source(plays, tracks, COLUMNS).liked.counts.min() < 30
    assert found.liked.counts.min() >= 30 - 3  # users who are left with one positive go as well
    attributes = found.attributes(found.liked.counts)
    assert all(each.items == len(found.liked.item_ids) for each in attributes)


def test_a_table_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        table_source(tmp_path / "nowhere.csv", tmp_path / "nothing.csv", COLUMNS)


def test_missing_categories_are_a_label_of_their_own(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    text = tracks.read_text(encoding="utf-8").replace("t3,loud", "t3,")
    tracks.write_text(text, encoding="utf-8")
    own = table_source(plays, tracks, COLUMNS)
    assert "(none)" in own.attributes(np.ones(len(own.liked.item_ids), dtype=np.int64))[0].categories


def test_ratings_that_are_no_numbers_are_said_so(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    plays.write_text(plays.read_text(encoding="utf-8") + "l1,t1,many\n", encoding="utf-8")
    with pytest.raises(ExcalibrError, match="stars: cannot be read as numbers"):
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


def test_separators_are_guessed_as_a_reranker_guesses_them_and_said(tmp_path: Path) -> None:
    """Once an experiment split at bars unasked, and a re-ranker did not."""
    plays, tracks = own_tables(tmp_path)
    text = tracks.read_text(encoding="utf-8")
    for separator in ("|", ";"):
        tracks.write_text(text.replace("calm;sad", f"calm{separator}sad"), encoding="utf-8")
        whole = separator == ";"  # its parts do not stand alone
        own = table_source(plays, tracks, Columns(("mood", "era"), "listener", "track", "stars"))
        assert own.attributes(own.liked.counts)[0].categories == (
            ("calm;sad", "loud") if whole else ("calm", "loud", "sad")
        )
        split = "2 categories in `mood`" if whole else "3 categories in `mood`, split at `|` (guessed)"
        assert own.understood == f"{split}; 4 categories in `era`; {len(own.liked.user_ids)} users"
    whole_labels = table_source(plays, tracks, Columns(("mood",), "listener", "track", "stars", "none"))
    assert whole_labels.attributes(own.liked.counts)[0].categories == ("calm;sad", "loud")


def test_compressed_and_semicolon_tables_and_usual_names_do_as_well(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    expected = table_source(plays, tracks, COLUMNS)
    rated = plays.read_text(encoding="utf-8").replace(",", ";").replace("listener;track", "userId;itemId")
    (tmp_path / "plays.csv.gz").write_bytes(gzip.compress(rated.encode()))
    labelled = tracks.read_text(encoding="utf-8").replace(",", "\t").replace("track\t", "movieId\t")
    (tmp_path / "tracks.tsv").write_text(labelled, encoding="utf-8")
    named = Columns(("mood", "era"), rating="stars", separator=";")
    own = table_source(tmp_path / "plays.csv.gz", tmp_path / "tracks.tsv", named)
    assert own.fingerprint() == expected.fingerprint()
    assert own.understood.endswith(
        "; `userId` of plays.csv.gz is taken as user_id; `itemId` of plays.csv.gz is taken as item_id; "
        "plays.csv.gz has fields between semicolons; `movieId` of tracks.tsv is taken as item_id; "
        "tracks.tsv has fields between tabs"
    )


def test_the_items_may_call_an_item_otherwise(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    expected = table_source(plays, tracks, COLUMNS)
    tracks.write_text(tracks.read_text(encoding="utf-8").replace("track,", "song,", 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"column 'track' not found in .*columns are \['song'"):
        table_source(plays, tracks, COLUMNS)
    own = table_source(plays, tracks, Columns(("mood", "era"), "listener", "track", "stars", ";", "song"))
    assert own.fingerprint() == expected.fingerprint()


def test_categories_that_look_wrong_are_noted(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    lines = ["track,mood,era", *(f"t{item},same,1" for item in range(1, ITEMS + 1))]
    tracks.write_text("\n".join([*lines, ""]), encoding="utf-8")
    own = table_source(plays, tracks, Columns(("mood",), "listener", "track", "stars"))
    assert [str(note.message)[:45] for note in own.notes] == ["all 60 items have the one category 'same' in "]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "parquet", "arrow"])
def test_a_damaged_table_is_named(tmp_path: Path, ending: str) -> None:
    plays, _ = own_tables(tmp_path)
    damaged = tmp_path / f"damaged.{ending}"
    damaged.write_bytes(b"\xff\xfe" + bytes(range(200)))
    with pytest.raises(InputError, match=f"damaged.{ending}: .*, must be "):
        table_source(plays, damaged, COLUMNS)


def test_all_columns_that_are_missing_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        table_source(*own_tables(tmp_path), Columns(("mod", "era")))
    said = str(raised.value)
    assert said.startswith("4 things are wrong with the tables.\n(1) column 'user_id' not found in ")
    for name in ("'user_id'", "'item_id'", "'mod'"):
        assert f"column {name} not found" in said
    assert "pass categories='mood'" in said


def test_a_file_that_is_not_there_does_not_hide_a_missing_column(tmp_path: Path) -> None:
    plays, _ = own_tables(tmp_path)
    with pytest.raises(InputError, match=r"(?s)2 things .*'user_id' not found.*nothing.csv: does not exist"):
        table_source(plays, tmp_path / "nothing.csv", Columns(("mood",), item="track", rating="stars"))


def test_ids_of_two_types_are_refused_and_not_taken_for_one_another(tmp_path: Path) -> None:
    """Once they were compared as texts and then looked up as they are."""
    pq.write_table(pa.table({"user_id": [1] * 6, "item_id": range(6)}), tmp_path / "r.parquet")
    pq.write_table(pa.table({"item_id": list("012345"), "kind": list("aabbcc")}), tmp_path / "i.parquet")
    with pytest.raises(ExcalibrError, match="item_id: is whole numbers in r.parquet and text in the items table"):
        table_source(tmp_path / "r.parquet", tmp_path / "i.parquet", Columns(("kind",), rating=""))


def test_a_column_of_counts_is_recognised_and_any_play_is_a_positive(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    lines = plays.read_text(encoding="utf-8").splitlines()[1:]
    counted = ["user,track_id,Play_Count", *(f"{line.rpartition(',')[0]},{at % 4}" for at, line in enumerate(lines))]
    plays.write_text("\n".join([*counted, ""]), encoding="utf-8")
    tracks.write_text(tracks.read_text(encoding="utf-8").replace("track,", "track_id,", 1), encoding="utf-8")
    own = table_source(plays, tracks, Columns(("mood",), separator=";"), minimum=1)
    played = {(line.split(",")[0], line.split(",")[1]) for at, line in enumerate(lines) if at % 4 > 0}
    found = {
        (str(user), str(own.liked.item_ids[item]))
        for row, user in enumerate(own.liked.user_ids)
        for item in own.liked.items[own.liked.indptr[row] : own.liked.indptr[row + 1]]
    }
    assert found == played
    assert "`Play_Count` of plays.csv is taken as rating; any play counts as a positive" in own.understood
    more = table_source(plays, tracks, Columns(("mood",), separator=";"), above=1.0, minimum=1)
    assert len(more.liked) == sum(at % 4 > 1 for at in range(len(lines)))
    assert "any play" not in more.understood


def test_of_several_rows_of_a_user_and_an_item_the_latest_counts(tmp_path: Path) -> None:
    users, items = [1] * 8, [0, 0, 1, 1, 2, 3, 4, 5]
    stars, days = [5.0, 1.0, 5.0, 1.0, 5, 5, 5, 5], ["b", "a", "a", "b", "a", "a", "a", None]
    pq.write_table(pa.table({"user": users, "item": items, "stars": stars, "date": days}), tmp_path / "r.parquet")
    pq.write_table(pa.table({"item": range(6), "kind": list("aabbcc")}), tmp_path / "i.parquet")
    own = table_source(tmp_path / "r.parquet", tmp_path / "i.parquet", Columns(("kind",)), minimum=1)
    assert own.liked.item_ids.tolist() == [0, 2, 3, 4, 5]
    assert own.liked.timestamps.tolist() == [2, 1, 1, 1, 0]
    assert "`date` of r.parquet is taken as timestamp" in own.understood


def test_rows_without_a_time_are_said_to_count_as_earliest(tmp_path: Path) -> None:
    """Once a split by time took them for the earliest without a word."""
    plays, tracks = own_tables(tmp_path)
    lines = plays.read_text(encoding="utf-8").splitlines()
    timed = [f"{line},{'' if at % 10 else at}" for at, line in enumerate(lines[1:])]
    plays.write_text("\n".join([f"{lines[0]},timestamp", *timed, ""]), encoding="utf-8")
    own = table_source(plays, tracks, COLUMNS)
    assert re.search(r"; 2,9\d\d rows without a time count as a user's earliest$", own.understood)


def test_the_column_with_the_item_is_no_category(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="categories: name 'track', the column with the item"):
        table_source(*own_tables(tmp_path), Columns(("track",), "listener", "track", "stars"))


def test_items_that_nobody_has_so_often_name_the_option(source: Source) -> None:
    """Once the error was about the ratings' scale."""
    with pytest.raises(InputError, match="min_item_count: is 1000, and no user has two positives"):
        source.often_liked(1000)
