from typing import Any

import pytest

from excalibr._messages import CommandWords
from excalibr.errors import TableWarning
from excalibr.tables import Tables, items_text, read_items, review_items
from tests.tables.invented import KINDS

pytestmark = pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
WORDS = CommandWords({"category": "--category", "separator": "--separator"})


def understood(kind: str, labels: list[Any], **options: Any) -> tuple[str, list[str], list[str]]:
    """What is said of items with these labels, and the warnings in Python's words and in the command's."""
    import pyarrow as pa

    table = KINDS[kind](pa.table({"item_id": list(range(len(labels))), "genres": labels}))
    items = read_items(table, Tables(targets={}, category="genres", **options))
    notes = review_items(items)
    assert {note.kind for note in notes} <= {TableWarning}
    return items_text(items.columns), [str(note.message) for note in notes], [n.message.render(WORDS) for n in notes]


def test_the_separator_is_guessed_and_said(kind: str) -> None:
    labels = ["Comedy|Drama", "Drama", None, "War|Comedy"] * 25
    text = "3 categories in `genres`, split at `|` (guessed); 25 % of items without"
    assert understood(kind, labels) == (text, [], [])


def test_an_explicit_separator_always_wins(kind: str) -> None:
    labels = ["a|b;c", "b;c|a", "c"]
    assert understood(kind, labels, separator=";")[:2] == ("4 categories in `genres`, split at `;`", [])
    assert understood(kind, labels, separator="|")[0] == "3 categories in `genres`, split at `|`"


@pytest.mark.parametrize("none", [None, "", "none"])
def test_nothing_is_split_where_that_is_asked(kind: str, none: str | None) -> None:
    assert understood(kind, ["a|b", "a|c", "b|c"], separator=none) == ("3 categories in `genres`", [], [])


def test_lists_are_never_split(kind: str) -> None:
    assert understood(kind, [["a|b"], ["a|b", "c"]])[0] == "2 categories in `genres`"


def test_no_category_at_all_is_warned_of(kind: str) -> None:
    text, python, command = understood(kind, ["", "", ""])
    assert text == "0 categories in `genres`; 100 % of items without"
    said = "no item has a category in `genres`, so that nothing can be calibrated. Hint: pass "
    assert python == [said + "category=… to name another column."]
    assert command == [said + "--category … to name another column."]


def test_a_single_category_is_warned_of(kind: str) -> None:
    said = "all 3 items have the one category 'drama' in `genres`, so that there is nothing to balance. Hint: pass "
    assert understood(kind, ["drama"] * 3)[1] == [said + "category=… to name another column."]


def test_nearly_as_many_categories_as_items_are_warned_of(kind: str) -> None:
    text, python, _ = understood(kind, [f"Film {number}" for number in range(30)])
    assert text == "30 categories in `genres`"
    assert python[0].startswith("`genres` has 30 categories for 30 items, hardly two items of any of them. Hint: ")


def test_few_items_may_each_have_a_category_of_their_own(kind: str) -> None:
    assert understood(kind, [f"Film {number}" for number in range(10)])[1] == []
    several = [[f"g{number % 12}", f"g{(5 * number + 1) % 12}", f"g{(7 * number + 2) % 12}"] for number in range(20)]
    assert understood(kind, several)[1] == []


def test_a_mark_in_most_labels_is_warned_of_with_both_options(kind: str) -> None:
    labels = ["Smith, John", "Smith, Ann", "Miller, John", "Doe, Ann", "Prince"]
    _, python, command = understood(kind, labels)
    said = "`,` stands in 80% of the labels of `genres`, which are not split there. Hint: pass "
    assert python == [said + "separator=',' to split them, or separator='none' if they are whole."]
    assert command == [said + "--separator , to split them, or --separator none if they are whole."]
    assert understood(kind, labels, separator="none")[1] == []


def test_a_separator_that_no_label_has_does_not_hide_another(kind: str) -> None:
    assert understood(kind, ["a|b", "b|c"], separator=";")[1][0].startswith("`|` stands in 100% of the labels")
