import inspect
import re

import pytest

from excalibr import errors
from excalibr.errors import ExcalibrError, ExcalibrWarning, explain, missing_extra, unknown_name

CLASSES = [value for name in errors.__all__ if inspect.isclass(value := getattr(errors, name))]


def test_every_error_is_ours_and_one_that_python_knows() -> None:
    for error in (each for each in CLASSES if issubclass(each, Exception) and not issubclass(each, Warning)):
        assert issubclass(error, ExcalibrError)
        assert error is ExcalibrError or issubclass(error, ValueError | TypeError)


def test_every_warning_is_ours() -> None:
    assert all(issubclass(each, ExcalibrWarning) for each in CLASSES if issubclass(each, Warning))


def test_the_drawn_tree_is_the_tree_of_classes() -> None:
    drawn: dict[str, list[str]] = {}
    root = ""
    for branch, name, others in re.findall(
        r"^ +([├└]── )?(\w+)(?: \((.+?)\))?(?:  |$)", errors.__doc__ or "", re.MULTILINE
    ):
        root = root if branch else name
        drawn[name] = ([root] if branch else []) + others.split(", ") * bool(others)
    there = {each.__name__: [base.__name__ for base in each.__bases__] for each in CLASSES}
    assert {"ExcalibrError": []} | drawn == there | {"ExcalibrError": []}


def test_a_message_says_what_was_found_what_it_must_be_and_a_hint() -> None:
    message = explain("categories", "row 17 sums to 2.0", "sum to 1", "divide each row by its sum.")
    assert message == "categories: row 17 sums to 2.0, must sum to 1. Hint: divide each row by its sum."


def test_a_message_without_a_hint_ends_after_what_it_must_be() -> None:
    assert explain("k", "is 0", "be at least 1") == "k: is 0, must be at least 1."


@pytest.mark.parametrize(
    ("written", "meant"), [("gredy", "greedy"), ("LOG", "log"), ("Greedy-Simple", "greedy-simple")]
)
def test_an_unknown_name_suggests_the_nearest_known_one(written: str, meant: str) -> None:
    error = unknown_name("method", written, ["excalibr", "greedy", "greedy-simple", "log"])
    assert str(error).endswith(f"Hint: did you mean {meant!r}?")
    assert repr(written) in str(error)


def test_an_unknown_name_far_from_all_lists_them_without_a_hint() -> None:
    message = str(unknown_name("method", "zzzz", ["excalibr", "lp"]))
    assert message == "method: is 'zzzz', must be one of 'excalibr', 'lp'."


def test_what_is_no_text_suggests_no_name_that_it_only_resembles() -> None:
    assert str(unknown_name("by", None, ["random", "time"])) == "by: is None, must be one of 'random', 'time'."
    assert "did you mean '1990'?" in str(unknown_name("decade", 1990, ["1990", "2000"]))


def test_a_single_known_name_is_not_called_one_of_several() -> None:
    assert str(unknown_name("divergence", 3, ["l1"])) == "divergence: is 3, must be 'l1'."


def test_a_missing_extra_says_what_to_install() -> None:
    error = missing_extra("cvxpy", "paper")
    assert str(error) == "cvxpy is not installed. Hint: pip install 'excalibr[paper]'."
    assert isinstance(error, ImportError)
