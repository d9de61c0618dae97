"""Questions that once were hard, kept by name as arrays: each is answered, and the answer holds."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from excalibr import Band, Shown
from excalibr.errors import GapWarning
from tests import cases
from tests.fuzz.asking import ask
from tests.fuzz.checks import check
from tests.fuzz.problems import question
from tests.fuzz.questions import Question


@pytest.mark.parametrize("name", cases.names())
def test_a_hard_question_is_answered(name: str) -> None:
    asked = cases.load(name)
    answer = ask(asked)
    assert check(asked, answer, literally=True) == []
    assert answer.warned(GapWarning) == (name in cases.WARNED)


def test_every_case_with_a_warning_is_a_case() -> None:
    assert set(cases.WARNED) <= set(cases.names())


def test_a_question_is_stored_to_the_last_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "FOLDER", tmp_path)
    for seed in range(40):
        asked = question("scales", seed)
        cases.store("Some name, of a kind", asked)
        assert cases.names() == ["Some name, of a kind"]
        assert same(cases.load("Some name, of a kind"), asked)


def test_two_names_that_share_a_file_are_not_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "FOLDER", tmp_path)
    cases.store("a, b", question("small", 1))
    with pytest.raises(ValueError, match="'a b' and 'a, b' would be the same file"):
        cases.store("a b", question("small", 2))


def same(one: object, other: object) -> bool:
    """Whether two values are the same through and through."""
    match one, other:
        case Question(), Question():
            return same(vars(one), vars(other))
        case (Band(), Band()) | (Shown(), Shown()):
            names = [each.name for each in fields(type(one))]  # type: ignore[arg-type]
            return all(same(getattr(one, name), getattr(other, name)) for name in names)
        case dict(), dict():
            return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
        case list(), list():
            return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    if hasattr(one, "toarray") and hasattr(other, "toarray"):
        return same(one.toarray(), other.toarray())
    return type(one) is type(other) and bool(np.array_equal(one, other))  # type: ignore[arg-type]


def test_questions_that_differ_are_told_apart() -> None:
    asked = question("small", 3)
    assert same(asked, asked)
    assert not same(asked, replace(asked, scores=asked.scores + 1e-9))
    assert not same(asked, replace(asked, call="frontier"))
