"""What the recorder of bits notices, and what it takes for the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests import bits
from tests.fuzz.problems import question


def recorded(count: int = 30) -> dict[str, bits.Line]:
    found = [line for seed in range(count) for line in bits.lines(f"fuzz: {seed}", question("small", seed))]
    return {line.name: line for line in found}


def test_what_is_asked_again_is_the_same() -> None:
    assert recorded() == recorded()
    assert bits.told(recorded(), recorded()).endswith("\n0 have other bits")


def test_a_line_is_read_as_it_was_written() -> None:
    for line in recorded().values():
        assert repr(bits.Line.of(line.text())) == repr(line)


def test_every_part_of_an_answer_that_changes_is_told() -> None:
    before = recorded()
    line = next(line for line in before.values() if line.objective)
    for changed in (
        replace(line, rankings="other"),
        replace(line, weights="other"),
        replace(line, prices="other"),
        replace(line, objective=np.nextafter(line.objective, np.inf)),
        replace(line, gap=line.gap + 1e-9),
    ):
        told = bits.told(before, before | {line.name: changed})
        assert "\n1 have other bits" in told
        assert line.name in told


def test_another_question_is_not_another_answer() -> None:
    before = recorded()
    name = next(iter(before))
    told = bits.told(before, before | {name: replace(before[name], question="other", weights="other")})
    assert "1 only before, 1 only after" in told
    assert "\n0 have other bits" in told


def test_every_bit_of_a_question_counts_but_the_sign_of_zero() -> None:
    asked = question("small", 3)
    (line,) = bits.lines("one", asked)
    (other,) = bits.lines("one", replace(asked, scores=np.nextafter(asked.scores, np.inf)))
    assert line.question != other.question
    (zeros,) = bits.lines("one", replace(asked, scores=np.zeros_like(asked.scores)))
    (negative,) = bits.lines("one", replace(asked, scores=-np.zeros_like(asked.scores)))
    assert zeros == negative


def test_the_command_compares_a_file_with_what_is_answered_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bits, "_SOURCES", {"fuzz": lambda: ((str(seed), question("small", seed)) for seed in range(9))})
    path = tmp_path / "before.txt"
    assert bits.main(["record", str(path)]) == 0
    assert bits.main(["compare", str(path)]) == 0
    assert "0 have other bits" in capsys.readouterr().out
    path.write_text(path.read_text(encoding="utf-8").replace("0x1.", "0x1.1"), encoding="utf-8")
    assert bits.main(["compare", str(path)]) == 1
    assert "\n0 have other bits" not in capsys.readouterr().out
