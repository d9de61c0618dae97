"""What stands between several labels in one text, as the labels themselves show it.

``|`` is taken for a separator wherever it occurs. ``;``, ``,`` and ``/`` also stand in names (``Smith, John``,
``Home &amp; Garden``, ``Audio/Video``) and are taken only where the parts are seen to be labels of their own: they
recur in other labels. Where more than one could be the separator, none is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from excalibr.tables._arrow import pc

__all__ = ["SEPARATORS", "guess_separator", "marks_in"]

SEPARATORS = ("|", ";", ",", "/")

RECURRING = 0.8
"""The share of parts that must stand in at least two different labels."""

ALONE = 0.5
"""The share of parts that must also be whole labels, unless there are far fewer parts than labels."""

FEWER = 4
"""So many times fewer parts than labels are as good."""


def guess_separator(labels: Any) -> str | None:
    """The separator of these different labels (Arrow array of text), None where there is none or more than one.

    >>> import pyarrow as pa
    >>> guess_separator(pa.array(["Comedy", "Drama", "Comedy, Drama", "Drama, War", "War"]))
    ','
    >>> guess_separator(pa.array(["Smith, John", "Smith, Ann", "Miller, John"]))
    """
    found = [mark for mark in SEPARATORS if _separates(labels, mark)]
    return found[0] if len(found) == 1 else None


def marks_in(labels: Any) -> dict[str, float]:
    """The share of labels in which each possible separator stands, the most frequent first."""
    if not len(labels):
        return {}
    shares = {mark: float(pc.mean(pc.match_substring(labels, mark)).as_py()) for mark in SEPARATORS}
    return dict(sorted(shares.items(), key=lambda each: -each[1]))


def _separates(labels: Any, mark: str) -> bool:
    holding = pc.match_substring(labels, mark).to_numpy(zero_copy_only=False).astype(bool)
    if mark == "|" or holding.sum() < 2:
        return mark == "|" and bool(holding.any())
    split = pc.split_pattern(labels, mark)
    parts = pc.utf8_trim_whitespace(pc.list_flatten(split)).dictionary_encode()
    owners = np.asarray(pc.list_parent_indices(split), dtype=np.int64)
    codes = parts.indices.to_numpy().astype(np.int64)
    pairs = np.unique(owners * len(parts.dictionary) + codes)
    owners, codes = pairs // len(parts.dictionary), pairs % len(parts.dictionary)
    labels_with = np.bincount(codes)  # how many labels have each part
    whole = np.isin(np.arange(len(labels_with)), codes[~holding[owners]])
    split_off = np.unique(codes[holding[owners]])
    recur = np.mean(labels_with[split_off] >= 2) >= RECURRING
    return bool(recur and (whole[split_off].mean() >= ALONE or len(split_off) * FEWER <= len(labels)))
