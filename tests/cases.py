"""Hard questions that are kept by name, as arrays: seeds change their meaning when a generator does.

Each is a file in ``tests/cases``, a compressed ``.npz`` that is read without pickle: the arrays, and as text how they
make up the question. ``python -m tests.cases`` lists them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from excalibr import Band, Shown
from tests.fuzz.questions import Question

FOLDER = Path(__file__).parent / "cases"

WARNED: dict[str, str] = {
    "KL, one ranking within a relevance loss after pages seen 1e75 times as much": "a cost of 1e75 has no digits left",
    "KL, relative to a share of 3e-20 with limits per category": "weights of 3e20",
    "a frontier with a mask of -1e30": "no λ below 1 is near enough to 1 for a point in between",
    "a frontier with a point as calibrated as its end and more relevant": "costs of 1e9 beside scores within 0.8",
    "a relevance loss of scores around 1e16, where no trade-off is near enough to 1": "1 − λ of 1e-16 counts for 2",
    "any relevance loss, weights from 1e-6 to 1e8": "a cost of 4e6, of which 1e-9 is less than the last digit",
    "caps that a single distribution keeps": "down to 1e-107; the warning says what one is missed by",
    "caps that a single distribution keeps, one of each category": "24,000 pivots on 200 rows, and its gap is 0.003",
    "floors of a third each that lotteries of three just keep": "scores that differ by 1e-12 beside weights of 10",
    "scores of 1e-9 that still count": "scores that count for 1e-9 beside the target",
}
"""Cases whose answers hold and come with a ``GapWarning``, and why doubles, or the effort, allow no better."""


def names() -> list[str]:
    """The names of all cases."""
    return sorted(_read(path)["name"] for path in FOLDER.glob("*.npz"))


def load(name: str) -> Question:
    """The question of a name."""
    with np.load(FOLDER / _file_of(name), allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    told = json.loads(str(arrays.pop("question")))
    return Question(
        scores=arrays["scores"],
        categories=_decoded(told["categories"], arrays),
        target=_decoded(told["target"], arrays),
        options=_decoded(told["options"], arrays),
        call=told["call"],
    )


def store(name: str, question: Question) -> Path:
    """Keep a question; an older one of the same name is replaced."""
    path = FOLDER / _file_of(name)
    if path.exists() and (other := _read(path)["name"]) != name:
        raise ValueError(f"{name!r} and {other!r} would be the same file")
    arrays: dict[str, Any] = {"scores": np.asarray(question.scores)}
    told = {
        "name": name,
        "call": question.call,
        "categories": _encoded(question.categories, arrays),
        "target": _encoded(question.target, arrays),
        "options": _encoded(question.options, arrays),
    }
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(path, question=np.array(json.dumps(told)), **arrays)
    return path


def _file_of(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".npz"


def _read(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as stored:
        told: dict[str, Any] = json.loads(str(stored["question"]))
    return told


def _encoded(value: Any, arrays: dict[str, Any]) -> Any:
    """What JSON can say, with arrays put aside under a name of their own; every kind but plain values is tagged."""
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {"mapping": [[key, _encoded(each, arrays)] for key, each in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list": [_encoded(each, arrays) for each in value]}
    if isinstance(value, Band):
        return {"band": [_encoded(value.low, arrays), _encoded(value.high, arrays)]}
    if isinstance(value, Shown):
        parts = (value.candidates, value.categories, value.position_weights)
        return {"shown": [_encoded(part, arrays) for part in parts]}
    if sp.issparse(value):
        dense: Any = value
        return {"sparse": _encoded(dense.toarray(), arrays)}
    key = f"array{len(arrays)}"
    arrays[key] = np.asarray(value)
    return {"array": key}


def _decoded(told: Any, arrays: dict[str, Any]) -> Any:
    if not isinstance(told, dict):
        return told
    ((kind, value),) = told.items()
    match kind:
        case "mapping":
            return {key: _decoded(each, arrays) for key, each in value}
        case "list":
            return [_decoded(each, arrays) for each in value]
        case "band":
            return Band(*(_decoded(each, arrays) for each in value))
        case "shown":
            return Shown(*(_decoded(each, arrays) for each in value))
        case "sparse":
            return sp.csr_array(_decoded(value, arrays))
        case _:
            return arrays[value]


if __name__ == "__main__":
    for each in names():
        print(f"{each}\n    {load(each)}" + (f"\n    warned: {WARNED[each]}" if each in WARNED else ""))
