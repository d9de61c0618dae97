"""Records what is answered to the last bit, so that a change of the kernel can say which answers it changed.

    python -m tests.bits record before.txt
    python -m tests.bits compare before.txt

The first writes a line for each answer: to the stored cases, to fuzzed questions, and to the streams of the benchmark,
plain and with every kind of option. The second records again, or reads another file, and counts what differs. Another
commit is recorded from this folder by the Python of its clone: ``OTHER/.venv/bin/python -m tests.bits record old.txt``.
Recordings are not for keeping: questions are drawn with the C library of the machine, and so is the logarithm of KL.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

import excalibr
from benchmarks.families import families
from tests import cases
from tests.fuzz.asking import Told, ask
from tests.fuzz.problems import question
from tests.fuzz.questions import Question

FUZZED = {"small": 900, "scales": 600, "large": 400, "paper": 100}
"""How many seeds of each profile of the fuzz."""

PROBLEMS = 30
"""Of each family of the benchmark; a corner has fewer."""

VARIED = ("gamma 150/10/20", "uniform 150/100/20")
"""Families whose first problems are asked with every option of :func:`_variants` too."""

VARIANTS = 8
SHOWN = 12


@dataclass(frozen=True)
class Line:
    """One answer: hashes of its question and its arrays, how it came about, and its figures.

    ``unit`` is what a gap is measured by, (1 − λ)·(max s − min s), or 1 where that is 0.
    """

    name: str
    question: str
    rankings: str
    weights: str
    prices: str
    how: str
    objective: float
    gap: float
    unit: float

    def text(self) -> str:
        """As a line of a file."""
        figures = (float(figure).hex() for figure in (self.objective, self.gap, self.unit))
        return "\t".join((self.name, self.question, self.rankings, self.weights, self.prices, self.how, *figures))

    @classmethod
    def of(cls, text: str) -> Line:
        """What :meth:`text` wrote."""
        words = text.rstrip("\n").split("\t")
        name, question, rankings, weights, prices, how = words[:6]
        objective, gap, unit = (float.fromhex(figure) for figure in words[6:])
        return cls(name, question, rankings, weights, prices, how, objective, gap, unit)

    def differences(self, other: Line) -> list[str]:
        """Which of the bits are others."""
        names = ("rankings", "weights", "prices", "objective", "gap")
        return [name for name in names if repr(getattr(self, name)) != repr(getattr(other, name))]


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    if asked.command == "record":
        _record(asked.file, asked.only)
        return 0
    other = asked.other or asked.file.with_suffix(".now.txt")
    if not asked.other:
        _record(other, asked.only)
    before, after = (_read(path, asked.only) for path in (asked.file, other))
    print(told(before, after, asked.names))
    return int(before != after)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.bits", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="write a line for each answer")
    comparing = commands.add_parser("compare", help="say which answers are others than those of a file")
    for each in (recording, comparing):
        each.add_argument("file", type=Path)
        each.add_argument("--only", choices=tuple(_SOURCES), action="append", help="a part of all questions")
    comparing.add_argument("other", type=Path, nargs="?", help="a second file, in place of recording now")
    comparing.add_argument(
        "--names", type=int, default=SHOWN, help=f"how many of those that differ are named ({SHOWN})"
    )
    return parser


def _record(path: Path, only: Sequence[str] | None) -> None:
    print(f"recording excalibr of {Path(excalibr.__file__).parent} in {path}", file=sys.stderr)
    with path.open("w", encoding="utf-8") as file:
        for source in only or _SOURCES:
            for name, asked in _SOURCES[source]():
                file.writelines(f"{line.text()}\n" for line in lines(f"{source}: {name}", asked))


def _read(path: Path, only: Sequence[str] | None) -> dict[str, Line]:
    found = [Line.of(text) for text in path.read_text(encoding="utf-8").splitlines()]
    return {line.name: line for line in found if not only or line.name.partition(":")[0] in only}


def lines(name: str, asked: Question) -> Iterator[Line]:
    """Of one question: a line for each policy, for the curve of a frontier (its arrays in place), or for the error."""
    answer, of_question = ask(asked), _hash(asked)
    warned = sorted({each.category.__name__ for each in answer.warnings})
    if answer.error is not None:
        yield Line(name, of_question, "", "", "", type(answer.error).__name__, 0.0, 0.0, 1.0)
    if answer.curve is not None:
        relevance, deviation, trade_offs = map(
            _hash, (answer.curve.relevance, answer.curve.deviation, answer.curve.trade_offs)
        )
        yield Line(f"{name} curve", of_question, relevance, deviation, trade_offs, "", 0.0, answer.curve.error, 1.0)
    for place, policy in enumerate(answer.policies):
        yield _line(f"{name} [{place}]" if len(answer.policies) > 1 else name, of_question, asked, policy, warned)


def _line(name: str, of_question: str, asked: Question, policy: Told, warned: list[str]) -> Line:
    with np.errstate(over="ignore"):
        unit = (1 - policy.trade_off) * float(np.ptp(asked.scores))
    unit = unit if 0 < unit < inf and "normalise" not in asked.options else 1.0
    how = " ".join([policy.how, *warned])
    rankings, weights, prices = map(_hash, (policy.rankings, policy.weights, policy.prices))
    return Line(name, of_question, rankings, weights, prices, how, policy.objective, policy.gap, unit)


def _hash(value: Any) -> str:
    digest = hashlib.blake2b(digest_size=8)
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Arrays by their bits, but that both zeros are one; whatever else by its parts."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    if isinstance(value, np.ndarray):
        kind = np.int64 if value.dtype.kind in "iub" else np.float64
        digest.update(repr(value.shape).encode() + np.ascontiguousarray(value.astype(kind) + kind(0)).tobytes())
    elif isinstance(value, dict):
        _feed(digest, list(value.items()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            _feed(digest, each)
    elif hasattr(value, "__dict__"):
        _feed(digest, vars(value))
    else:
        digest.update(repr(value).encode())


def told(before: dict[str, Line], after: dict[str, Line], names: int = SHOWN) -> str:
    """How many answers have other bits, by what; how far figures moved; and the names of those that moved most."""
    shared = [name for name in before if name in after and before[name].question == after[name].question]
    pairs = [(before[name], after[name]) for name in shared]
    changed = [(old, new) for old, new in pairs if old.differences(new)]
    counts = Counter(what for old, new in changed for what in old.differences(new))
    report = [
        f"{len(shared)} answers in both; {len(before) - len(shared)} only before, {len(after) - len(shared)} only after"
        " (another question, or another number of policies)",
        f"{len(changed)} have other bits" + "".join(f", {what} {count}" for what, count in counts.most_common()),
    ]
    others = Counter(f"{old.how} → {new.how}" for old, new in pairs if old.how != new.how)
    report += [f"  {count} × {how}" for how, count in others.most_common()]
    by_source = Counter(new.name.partition(":")[0] for _, new in changed)
    report += [f"  {source}: {count}" for source, count in by_source.items()]
    for what, by_how_much in (("objective", _objective_moved), ("gap", _gap_moved)):
        moved = sorted(((by_how_much(*pair), *pair) for pair in changed), key=lambda each: -abs(each[0]))
        moved = [each for each in moved if each[0]][:names]
        report += [f"largest changes of the {what}, in units of {_UNITS[what]}:"] if moved else []
        report += [f"  {much:+.2g}  {new.name}  {_figures(old, new, what)}" for much, old, new in moved]
    still = [new.name for old, new in changed if not _objective_moved(old, new) and not _gap_moved(old, new)]
    report += [f"with the same objective and gap: {'; '.join(still[:names])}"] if still else []
    return "\n".join(report)


_UNITS = {"objective": "itself", "gap": "(1 − λ)·(max s − min s)"}


def _objective_moved(old: Line, new: Line) -> float:
    return _moved(new.objective - old.objective, max(abs(old.objective), abs(new.objective)))


def _gap_moved(old: Line, new: Line) -> float:
    return _moved(new.gap - old.gap, new.unit)


def _moved(difference: float, unit: float) -> float:
    if not isfinite(difference):
        return inf
    return difference / unit if difference else 0.0


def _figures(old: Line, new: Line, what: str) -> str:
    moved = f"{getattr(old, what):.17g} → {getattr(new, what):.17g}"
    return f"{moved} ({old.how})" if old.how == new.how else f"{moved} ({old.how} → {new.how})"


def _stored_cases() -> Iterator[tuple[str, Question]]:
    for name in cases.names():
        yield name, cases.load(name)


def _fuzzed() -> Iterator[tuple[str, Question]]:
    for profile, count in FUZZED.items():
        for seed in range(count):
            yield f"{profile} {seed}", question(profile, seed)


def _streams() -> Iterator[tuple[str, Question]]:
    for family in families(PROBLEMS, None, spare=0):
        plain = {} if family.divergence == "l1" else {"divergence": family.divergence}
        for place, each in enumerate(family.instances):
            options = {"k": each.k, "trade_off": each.trade_off, "position_weights": each.position_weights, **plain}
            asked = Question(each.scores, each.categories, each.target, options)
            yield f"{family.name} #{place}", asked
            if family.name in VARIED and place < VARIANTS:
                for name, variant in _variants(asked):
                    yield f"{family.name} #{place}, {name}", variant


def _variants(asked: Question) -> Iterator[tuple[str, Question]]:
    """The same with every kind of option, with both divergences."""
    r = len(asked.target)
    first = int(np.argmax(asked.target))
    one_hot = np.eye(r)[np.argmax(asked.categories, axis=1)]
    per_category = -(-2 * asked.options["k"] // r) + 2
    without = {name: value for name, value in asked.options.items() if name != "trade_off"}
    more: dict[str, dict[str, Any]] = {
        "floors and caps": {"floors": {first: 0.02}, "caps": {first: 0.3}},
        "weights": {"category_weights": 0.5 + np.arange(r) / r},
        "relative": {"relative": True},
        "pinned": {"pinned": {1: 3}},
        "shown": {"shown": excalibr.Shown([0, 5, 7])},
        "single": {"draws": "single"},
        "even": {"draws": "even"},
        "few sorts": {"max_sorts": 5},
    }
    budgets = {"relevance_loss": 0.02, "max_deviation": 0.25}
    for divergence in ("l1", "kl"):
        plain, free = asked.options | {"divergence": divergence}, without | {"divergence": divergence}
        for name, options in more.items():
            yield f"{divergence}, {name}", Question(asked.scores, asked.categories, asked.target, plain | options)
        for name, amount in budgets.items():
            yield f"{divergence}, {name}", Question(asked.scores, asked.categories, asked.target, free | {name: amount})
        banded = excalibr.Band(0.9 * asked.target, 1.1 * asked.target)
        yield f"{divergence}, band", Question(asked.scores, asked.categories, banded, plain)
        limited = plain | {"max_per_category": per_category}
        yield f"{divergence}, max_per_category", Question(asked.scores, one_hot, asked.target, limited)
        path = free | {"trade_offs": [0.0, 0.1, 0.5, 0.9, 1.0]}
        yield f"{divergence}, path", Question(asked.scores, asked.categories, asked.target, path, "calibrate_path")
        curve = free | {"tolerance": 1e-3}
        yield f"{divergence}, frontier", Question(asked.scores, asked.categories, asked.target, curve, "frontier")
        yield f"{divergence}, batch", Question(asked.scores, asked.categories, asked.target, plain, "calibrate_batch")


_SOURCES = {"case": _stored_cases, "fuzz": _fuzzed, "stream": _streams}


if __name__ == "__main__":
    sys.exit(main())
