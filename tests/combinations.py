"""The table of combinations in ``docs/beyond.md`` as data: each option on a small problem, and which pairs cannot be.

``python -m tests.combinations`` prints the table.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from excalibr import Band, Policy, Shown, calibrate, calibrate_path, frontier
from excalibr._solver.frontier import Frontier

N, K = 8, 3
SCORES = np.array([0.95, 0.9, 0.84, 0.8, 0.6, 0.55, 0.4, 0.2])
GENRES = np.eye(3)[[0, 0, 0, 1, 1, 2, 2, 1]]
SHARES = 0.6 * GENRES + 0.4 * GENRES[::-1]
MOODS = np.array([[1, 0], [0.5, 0.5], [1, 0], [0, 1], [1, 0], [0.3, 0.7], [0, 1], [0.5, 0.5]])
GENRE_TARGET, MOOD_TARGET = np.array([0.3, 0.4, 0.3]), np.array([0.4, 0.6])
LOSS, DEVIATION, PINNED, SEEN, AT_MOST, FLOOR, CAP = 0.1, 0.8, {1: 4}, 1, 2, 0.1, 0.8
TOLERANCE = 1e-3

OPTIONS = (
    "attributes", "bands", "weights", "relative", "floors, caps", "relevance_loss", "max_deviation",
    "max_per_category", "pinned", "shown", "normalise", "frontier", "calibrate_path",
)  # fmt: skip
DIVERGENCES, DRAWS = ("l1", "kl"), ("lottery", "single", "even")
ASIDE = ("kl", "single", "even")
"""What else the table has a row for: every pair of options is tried with each."""

ERRORS = {
    ("relevance_loss", "max_deviation"): "a",
    ("frontier", "relevance_loss"): "b",
    ("frontier", "max_deviation"): "b",
    ("frontier", "calibrate_path"): "c",
    ("frontier", "single"): "d",
    ("frontier", "even"): "d",
    ("calibrate_path", "relevance_loss"): "e",
    ("calibrate_path", "max_deviation"): "e",
}
"""The pairs that cannot be, with the note that says why; and what the error says of each note."""

MESSAGES = {
    "a": "relevance_loss and max_deviation: are both given, must not go together",
    "b": "be left out: the frontier has every budget",
    "c": "trade_offs: is given, must be left out: the frontier has every trade-off",
    "d": "draws: is given, must be left out: the frontier is that of lotteries",
    "e": "be left out: a budget takes the place of the trade-offs",
}

NOTES = {
    ("attributes", "max_per_category"): "1",
    ("frontier", "kl"): "2",
    ("single", "floors, caps"): "3",
    ("single", "relevance_loss"): "3",
    ("single", "max_deviation"): "3",
    ("even", "relevance_loss"): "4",
    ("even", "max_deviation"): "4",
}
"""The pairs that work with a remark."""


def pairs() -> list[tuple[str, str]]:
    """Every pair of options, and each by itself."""
    return list(combinations_with_replacement(OPTIONS, 2))


def noted(notes: dict[tuple[str, str], str], *names: str) -> str | None:
    """The note of the first two of these names that have one."""
    for (one, other), note in notes.items():
        if one in names and other in names:
            return note
    return None


def question(pair: tuple[str, str], divergence: str) -> tuple[Any, Any, dict[str, Any]]:
    """Categories, target and the other arguments that the options of a pair come to."""
    several, options = "attributes" in pair, _options(pair, divergence)
    genres = GENRES if "max_per_category" in pair else SHARES
    genre_target: Any = GENRE_TARGET
    if "bands" in pair:
        genre_target = Band(GENRE_TARGET - 0.05, GENRE_TARGET + 0.05)
    if not several:
        return genres, genre_target, options
    mood_target = Band(MOOD_TARGET - 0.1, MOOD_TARGET) if "bands" in pair else MOOD_TARGET
    return {"genre": genres, "mood": MOODS}, {"genre": genre_target, "mood": mood_target}, options


def ask(pair: tuple[str, str], divergence: str, draws: str) -> list[Policy] | Frontier:
    """What the options of a pair answer."""
    categories, target, options = question(pair, divergence)
    if "frontier" in pair:
        if "calibrate_path" in pair:
            options["trade_offs"] = [0.5]
        return frontier(SCORES, categories, target, k=K, tolerance=TOLERANCE, draws=draws, **options)
    if "calibrate_path" in pair:
        trade_offs = [0.0, 0.3, 1.0]
        return calibrate_path(SCORES, categories, target, k=K, trade_offs=trade_offs, draws=draws, **options)
    return [calibrate(SCORES, categories, target, k=K, draws=draws, **options)]


def table() -> str:
    """The table as Markdown."""
    names = (*OPTIONS, *ASIDE)
    lines = ["| |" + "".join(f" {_short(name)} |" for name in names), "|---" * (len(names) + 1) + "|"]
    for row in names:
        cells = "".join(f" {_cell(row, column)} |" for column in names)
        lines.append(f"| **{row}** |{cells}")
    return "\n".join(lines)


def _options(pair: tuple[str, str], divergence: str) -> dict[str, Any]:
    several = "attributes" in pair

    def by_attribute(value: Any) -> Any:
        return {"genre": value} if several else value

    written: dict[str, dict[str, Any]] = {
        "weights": {"category_weights": by_attribute([1.0, 2.0, 0.5])},
        "relative": {"relative": True},
        "floors, caps": {"floors": by_attribute({1: FLOOR}), "caps": by_attribute({0: CAP})},
        "relevance_loss": {"relevance_loss": LOSS},
        "max_deviation": {"max_deviation": DEVIATION},
        "max_per_category": {"max_per_category": by_attribute(AT_MOST)},
        "pinned": {"pinned": PINNED},
        "shown": {"shown": Shown(candidates=[SEEN])},
        "normalise": {"normalise": "range"},
    }
    options: dict[str, Any] = {"divergence": divergence}
    for name in pair:
        options |= written.get(name, {})
    if several and "weights" in pair:
        options["attribute_weights"] = {"genre": 1.0, "mood": 0.5}
    return options


def _short(name: str) -> str:
    return name.replace("_", " ").replace("calibrate ", "")


def _cell(row: str, column: str) -> str:
    if row == column:
        return "✓"
    if {row, column} == {"single", "even"}:
        return "–"
    error = noted(ERRORS, row, column)
    return f"no ({error})" if error else "✓" + (f" ({note})" if (note := noted(NOTES, row, column)) else "")


if __name__ == "__main__":
    print(table())
