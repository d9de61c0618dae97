import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.tables._labels import guess_separator, marks_in
from tests.tables.invented import GENRE_COLUMNS, KINDS, KINDS_OF_FRAMES, as_arrow, invented_tables

GENRES = ["Comedy", "Drama", "War", "Comedy{0}Drama", "Comedy{0}War", "Drama{0}War", "Comedy{0}Drama{0}War"]


@pytest.mark.parametrize("separator", ["|", ";", ",", "/", ", ", " / "])
def test_parts_that_are_labels_of_their_own_show_the_separator(separator: str) -> None:
    assert guess_separator(pa.array([label.format(separator) for label in GENRES])) == separator.strip()


def test_a_bar_is_a_separator_wherever_it_occurs() -> None:
    assert guess_separator(pa.array(["FR|BE", "NL"])) == "|"


@pytest.mark.parametrize(
    "labels",
    [
        ["drama", "comedy"],
        [],
        ["Smith, John", "Smith, Ann", "Miller, John", "Doe, Ann"],
        ["Home &amp; Garden", "Tools &amp; Home", "Garden &amp; Tools"],
        ["Audio/Speakers", "Audio/Cables", "Video/Cameras"],
        ["Sci-Fi/Fantasy", "Drama", "Comedy"],
        ["AC/DC", "R, B"],
    ],
)
def test_marks_in_names_are_no_separators(labels: list[str]) -> None:
    assert guess_separator(pa.array(labels, pa.large_string())) is None


def test_many_labels_of_few_parts_show_the_separator_although_none_stands_alone() -> None:
    parts = "abcdefghijkl"
    labels = [f"{one};{two}" for one in parts for two in parts if one < two]
    assert guess_separator(pa.array(labels)) == ";"


def test_where_two_could_be_it_none_is_taken() -> None:
    assert guess_separator(pa.array(["AC|DC", *(label.format(",") for label in GENRES)])) is None


def test_the_marks_are_counted_by_labels() -> None:
    assert marks_in(pa.array(["a,b", "c,d", "e", "f;g"])) == {",": 0.5, ";": 0.25, "|": 0.0, "/": 0.0}
    assert marks_in(pa.array([], pa.string())) == {}


@pytest.mark.parametrize("kind", KINDS_OF_FRAMES)
def test_a_guessed_separator_gives_what_an_explicit_one_gives(kind: str) -> None:
    tables = invented_tables(users=4)
    given = [KINDS[kind](table) for table in (tables.candidates, tables.items)]
    reranker, history = Reranker(k=5), KINDS[kind](tables.history)
    guessed = reranker.rerank(*given, history=history)
    named = reranker.rerank(*given, history=history, **GENRE_COLUMNS)
    assert as_arrow(guessed).equals(as_arrow(named))
