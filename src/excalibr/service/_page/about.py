"""What the page knows from the start: the sample's users, categories, first choices, and where curves have points."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from excalibr import __version__
from excalibr._options import DIVERGENCES, DRAWS
from excalibr.positions import NAMES as POSITION_WEIGHTS
from excalibr.service._page.choices import OWN_WEIGHTS, Aim, Choices, first_choices
from excalibr.service._page.explored import Explored

RATIOS = (0.01, 0.03, 0.07, 0.12, 0.2, 0.3, 0.45, 0.8, 2.0, 10.0)
"""Points of the curve between pure relevance and pure calibration: λ / (1 − λ), in units of the scores' spread."""

LOSSES = (0.0, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3)
DEVIATIONS = (1.0, 0.75, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.03, 0.02, 0.01, 0.0)
"""Budgets at which the curves by budget have their points, from relevance to calibration."""


class AttributeNames(Struct, frozen=True):
    """The categories of an attribute; an attribute that has no name is the only one."""

    name: str
    first: int
    categories: list[str]


class About(Struct, frozen=True):
    """What does not change while the page is open; ``grids`` has by kind of aim where its curve has points."""

    version: str
    understood: str
    notes: list[str]
    users: int
    items: int
    sample: list[int]
    labels: list[str]
    tuning: list[bool]
    truth: bool
    attributes: list[AttributeNames]
    choices: Choices
    aim: Aim
    grids: dict[str, list[float]]
    names: dict[str, list[str]]
    most_slots: int


def about(explored: Explored) -> About:
    """The first answer that the page gets."""
    choices, aim = first_choices(explored)
    labels = explored.items.categories.to_pylist()
    weights = list(POSITION_WEIGHTS) + ([OWN_WEIGHTS] if choices.position_weights == OWN_WEIGHTS else [])
    return About(
        version=__version__,
        understood=explored.understood,
        notes=explored.notes,
        users=len(explored.keys),
        items=len(explored.items.ids),
        sample=explored.sample.tolist(),
        labels=explored.labels(explored.sample),
        tuning=explored.tuning.tolist(),
        truth=explored.truth is not None,
        attributes=[AttributeNames(each.name, each.start, labels[each.columns]) for each in explored.items.parts],
        choices=choices,
        aim=aim,
        grids=grids_of(explored, aim),
        names={"divergence": list(DIVERGENCES), "draws": list(DRAWS), "position_weights": weights},
        most_slots=int(np.diff(explored.starts).max()),
    )


def grids_of(explored: Explored, aim: Aim) -> dict[str, list[float]]:
    """By kind of aim the points of its curve, from relevance to calibration; the first aim is one of them."""
    spread = 1.0 if explored.source.reranker.normalise else _spread(explored)
    between = {_round(ratio * spread / (1.0 + ratio * spread)) for ratio in RATIOS}
    trade_offs = sorted({0.0, *between, 1.0})
    grids = {"trade_off": trade_offs, "relevance_loss": list(LOSSES), "max_deviation": list(DEVIATIONS)}
    if explored.prices is not None:  # which do not go with a budget
        grids = {"trade_off": trade_offs}
    grids[aim.kind] = sorted({*grids.get(aim.kind, ()), aim.value}, reverse=aim.kind == "max_deviation")
    return grids


def _spread(explored: Explored) -> float:
    """The median over the sample of how far a user's scores are apart."""
    starts = explored.starts
    users = [user for user in explored.sample.tolist() if starts[user] < starts[user + 1]]
    spreads = [np.ptp(explored.scores[starts[user] : starts[user + 1]]) for user in users]
    found = float(np.median(spreads)) if spreads else 1.0
    return found if found > 0.0 else 1.0


def _round(trade_off: float) -> float:
    """To two digits, of λ or of 1 − λ, whichever is smaller; as it is shown, to the last bit.

    >>> _round(0.012345), _round(0.98765), _round(2 / 3)
    (0.012, 0.988, 0.67)
    """
    return float(f"{trade_off:.2g}") if trade_off <= 0.5 else float(f"{1.0 - float(f'{1.0 - trade_off:.2g}'):.12g}")
