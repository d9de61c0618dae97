"""Two result folders side by side: what differs in how they were made, and how each method does in both.

Methods are compared at the same levels of deviation, shares of what relevance only had in the old folder, on the users
that both folders have; where they share none, or their data have other names, as two independent groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from excalibr._experiments.curves import (
    DEVIATIONS,
    KL,
    PLACE,
    RELEVANCE,
    Curves,
    Estimate,
    MethodCurve,
    UserValues,
    between,
    change,
    of_users,
    standard_errors,
)
from excalibr._experiments.store import Store, readable
from excalibr._experiments.table import Table, number
from excalibr._options import one_of
from excalibr._types import Floats
from excalibr.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class ResultFolder:
    """The results of an experiment that has ended."""

    path: Path
    settings: dict[str, Any]  # what it was asked, with what it chose in its place
    curves: Curves  # means over users

    @classmethod
    def read(cls, path: Path) -> ResultFolder:
        """Read what :func:`excalibr._experiments.run_experiment` left in a folder."""
        must = "be the --out folder of an experiment that has ended"
        if not path.is_dir():
            raise InputError(str(path), "is no folder" if path.exists() else "does not exist", must)
        store = Store(path)
        asked, chosen = store.read_json("manifest.json"), store.read_json("choices.json")
        if asked is None:
            raise InputError(str(path), "holds no results of an experiment", must)
        if not (path / "results.parquet").is_file():
            hint = "start it again with the same arguments: it goes on where it stopped."
            raise InputError(str(path), "holds an experiment that has not ended", must, hint)
        blocks = store.read_results()
        with readable(path / "results.parquet"):
            curves = Curves.of(blocks)
        return cls(path, {**asked, **(chosen or {})}, curves)


@dataclass(frozen=True, slots=True)
class FolderComparison:
    """What came of two folders."""

    settings: tuple[str, ...]  # what differs in how they were made, a line each
    only: tuple[str, ...]  # what one of them has and the other has not, a line each
    table: Table  # the paired differences


def compare_folders(old: Path, new: Path, *, metric: str = "ndcg", across: str = KL) -> FolderComparison:
    """Compare every method of two folders, by a metric at equal deviation."""
    one_of(RELEVANCE)("metric", metric)
    one_of(DEVIATIONS)("across", across)
    first, second = ResultFolder.read(old), ResultFolder.read(new)
    names = [(first.settings.get(name), second.settings.get(name)) for name in ("data", "fingerprint")]
    same_data = any(one == other for one, other in names if one is not None)
    rows = []
    for one in first.curves:
        other = second.curves.get(one.attribute, one.weighting, one.setting, one.arm)
        if other is not None:
            rows.append(_row(one, other, metric, across, same_data=same_data))
    if not rows:
        raise InputError(str(new), f"has no attribute, weighting, setting and method in common with {old}", "have some")
    levels = (f"{metric}, 50 %: old", "new", "difference, 50 %", "25 %", "mean over levels")
    head = (*PLACE, "users", *levels, "new is")
    note = (
        f"{metric} of the new folder less that of the old, where {across} is down to shares of what relevance only had "
        "in the old one; for relevance only itself as it is. ± is twice the standard error. Users of both folders are "
        "paired; where there are none, two numbers of users stand for two groups."
    )
    table = Table("compare", f"{new.name} less {old.name}", head, rows, note, bold="new is")
    return FolderComparison(tuple(_settings(first, second)), tuple(_only(first, second)), table)


def _row(one: MethodCurve, other: MethodCurve, metric: str, across: str, *, same_data: bool) -> tuple[str, ...]:
    """``same_data`` is whether a user's id means the same user: user 7 of other data is somebody else."""
    ids = (one.user_ids.astype(np.str_), other.user_ids.astype(np.str_))
    _, places, others = np.intersect1d(*ids, return_indices=True)
    paired = len(places) > 1 and same_data
    first, second = (of_users(one.own, places), of_users(other.own, others)) if paired else (one.own, other.own)
    users = f"{len(places)} paired" if paired else f"{one.users} and {other.users}"
    if one.arm == "relevance":  # one point
        points = [own[metric][:, -1] for own in (first, second)]
        heights, estimates = [float(values.mean()) for values in points], (_difference(*points, paired=paired),) * 3
    else:
        found = change(first, second, metric, across, paired=paired)
        level = 0.5 * float(first[across][:, -1].mean())
        heights = [_height(own, level, metric, across) for own in (first, second)]
        estimates = (found.at(0.5), found.at(0.25), found.mean)
    return (*one.place, users, *(number(value, 4) for value in heights), *map(str, estimates), _verdict(estimates[-1]))


def _difference(old: Floats, new: Floats, *, paired: bool) -> Estimate:
    if paired:
        return Estimate.of(new - old)
    error = float(np.hypot(standard_errors(old), standard_errors(new)))
    return Estimate(float(new.mean() - old.mean()), error, min(len(old), len(new)))


def _height(own: UserValues, level: float, metric: str, across: str) -> float:
    x, y = (own[name].mean(axis=0) for name in (across, metric))
    return float(between(np.array([level]), x, y)[0])


def _verdict(found: Estimate) -> str:
    """What became of the old folder's: the words of claims would say that a claim holds."""
    if found.value == 0 and found.error == 0:
        return "the same"
    return {"holds": "higher", "does not hold": "lower"}.get(found.verdict, found.verdict)


def _settings(old: ResultFolder, new: ResultFolder) -> Iterator[str]:
    """What differs in how they were made."""
    for name in dict.fromkeys([*old.settings, *new.settings]):
        one, other = old.settings.get(name), new.settings.get(name)
        if one != other:
            yield "the data differ" if name == "fingerprint" else f"{name}: {_short(one)} → {_short(other)}"


def _short(value: Any) -> str:
    """A setting in a few words; a long list of numbers by its ends.

    >>> _short([0.1, 0.2, 0.3, 0.4, 0.5]), _short(["log"]), _short(None)
    ('5 from 0.1 to 0.5', 'log', 'none')
    """
    if isinstance(value, list) and len(value) > 4 and isinstance(value[0], (int, float)):
        return f"{len(value)} from {min(value):g} to {max(value):g}"
    return ", ".join(map(str, value)) or "all" if isinstance(value, list) else "none" if value is None else str(value)


def _only(old: ResultFolder, new: ResultFolder) -> Iterator[str]:
    """What one of them has alone."""
    kinds: dict[str, Callable[[MethodCurve], str]] = {
        "attributes": lambda curve: curve.attribute,
        "weightings": lambda curve: curve.weighting,
        "settings": lambda curve: str(curve.setting),
        "methods": lambda curve: curve.label,
    }
    for kind, of in kinds.items():
        for folder, other in ((old, new), (new, old)):
            alone = dict.fromkeys(map(of, folder.curves)).keys() - set(map(of, other.curves))
            if alone:
                yield f"{kind} of {folder.path} only: {', '.join(sorted(alone))}"
