"""What an experiment runs: attributes, weightings, settings, arms, trade-offs and how many users; all in one record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from math import inf
from typing import Any

from excalibr._experiments.arms import ARMS
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._options import one_of, whole_number
from excalibr.datasets._interactions import SPLITS
from excalibr.errors import InputError
from excalibr.positions import NAMES


@dataclass(frozen=True, slots=True)
class Setting:
    """How many candidates are re-ranked into how many slots.

    >>> Setting.parse("150/100")
    Setting(candidates=150, slots=100)
    """

    candidates: int
    slots: int

    @classmethod
    def parse(cls, text: str) -> Setting:
        """From words like ``150/100``."""
        numbers = [int(part) if part.strip().isdecimal() else 0 for part in text.split("/")]
        if len(numbers) != 2 or not 1 <= numbers[1] <= numbers[0]:
            must = "be candidates/slots with at least as many candidates as slots"
            raise InputError("setting", f"is {text!r}", must, "150/100 ranks the best 150 into 100 slots.")
        return cls(*numbers)

    @property
    def is_short(self) -> bool:
        """Whether its slots are few: such a list is judged by what it shows, and the best one is quickly found."""
        return self.slots <= 50

    def __str__(self) -> str:
        return f"{self.candidates}/{self.slots}"


PAPER_SETTING = Setting(150, 100)
SLATE_SETTING = Setting(150, 10)


@dataclass(frozen=True, slots=True)
class PlanPart:
    """The unit of work that is finished, stored and taken up again: an attribute in a setting by one arm.

    All weightings belong to one part, because the set that MIP greedy chooses, its dear step, is the same for them.
    """

    attribute: str
    setting: Setting
    arm: str

    @property
    def file(self) -> str:
        """What its file is called: a digest, because two attributes may differ in what no file name can have."""
        named = json.dumps([self.attribute, self.setting.candidates, self.setting.slots, self.arm])
        return f"{hashlib.sha256(named.encode()).hexdigest()[:32]}.parquet"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides on the results but the data; the same plan and data give the same files."""

    users: int = 1000  # test users, at most; the paper has 5,000
    sample: int = 100  # users for one good ranking in more than 50 slots, which is too slow for all of them
    mip_users: int = 60  # users for MIP greedy, which is slower still
    timed_users: int = 4  # users of the runtime tables, one at a time; 0 leaves the tables out
    trade_offs: tuple[float, ...] = ()  # the sweep, each between 0 and 1; empty chooses them from users' own curves
    points: int = 12  # how many trade-offs are chosen
    attributes: tuple[str, ...] = ()  # names of the data's attributes; empty is all of them
    weightings: tuple[str, ...] = ("log", "sqrt", "reciprocal")
    settings: tuple[Setting, ...] = (PAPER_SETTING, Setting(100, 100), Setting(200, 100), SLATE_SETTING)
    arms: tuple[str, ...] = tuple(ARMS)
    # Of EASE; the best by NDCG of the validation users is taken, and more are tried beyond an end that is best.
    regularisations: tuple[float, ...] = (200.0, 500.0, 1000.0)
    min_item_count: int = 1  # items that fewer users like are left out, so that EASE fits in memory and time
    metrics: tuple[str, ...] = ()  # further measures to tabulate; empty is all of them
    split: str = "random"  # what is hidden of a user's positives: a fifth at random, or by "time" the latest fifth
    seed: int = 0  # splits the users, draws the samples, and draws a ranking from every lottery

    def __post_init__(self) -> None:
        _check_names("weightings", self.weightings, NAMES)
        _check_names("arms", self.arms, ARMS)
        one_of(SPLITS)("split", self.split)
        _check_names("metrics", self.metrics or METRICS, (*METRICS, *CATALOGUE))
        for name, least in _LEAST.items():
            whole_number(least, or_none=False)(name, getattr(self, name))
        for name in ("trade_offs", "settings", "regularisations"):
            given = getattr(self, name)
            if (not given and name != "trade_offs") or len(set(given)) < len(given):
                raise InputError(name, f"are {', '.join(map(str, given)) or 'empty'}", "be at least one, each once")
        if not all(0.0 < value < inf for value in self.regularisations):
            raise InputError("regularisations", f"are {list(self.regularisations)}", "be finite and above 0")
        if not all(0.0 < trade_off < 1.0 for trade_off in self.trade_offs):
            hint = "relevance only, trade-off 0, is an arm of its own."
            raise InputError("trade_offs", f"are {list(self.trade_offs)}", "lie between 0 and 1", hint)

    def weightings_of(self, setting: Setting) -> tuple[str, ...]:
        """The paper's figures: all weightings in the first setting, two where n = k, and one in any other."""
        if setting == self.settings[0]:
            return self.weightings
        return self.weightings[: 2 if setting.candidates == setting.slots else 1]

    def trade_offs_of(self, part: PlanPart) -> tuple[float, ...]:
        """The sweep of a part; relevance only is one policy."""
        return self.trade_offs if ARMS[part.arm].sweeps else (0.0,)

    def parts(self, attributes: Iterable[str]) -> Iterator[PlanPart]:
        """The work, in order; an arm that does not apply to a setting has no part there."""
        for attribute in attributes:
            for setting in self.settings:
                for name in dict.fromkeys(("relevance", *self.arms)):  # what every other arm is compared with
                    if setting.candidates > setting.slots or not ARMS[name].needs_choice:
                        yield PlanPart(attribute, setting, name)

    def chosen(self, attributes: Iterable[str]) -> list[str]:
        """Those of the data's attributes that are run."""
        known = list(attributes)
        _check_names("attributes", self.attributes or known, known)
        return [name for name in known if name in (self.attributes or known)]

    def as_record(self) -> dict[str, Any]:
        """As JSON has it, for the manifest."""
        record = {each.name: getattr(self, each.name) for each in fields(self)}
        lists = {name: list(value) for name, value in record.items() if isinstance(value, tuple)}
        return record | lists | {"settings": list(map(str, self.settings))}


_LEAST = {"users": 1, "sample": 1, "mip_users": 1, "timed_users": 0, "points": 2, "min_item_count": 1}


def _check_names(argument: str, names: Iterable[str], known: Collection[str]) -> None:
    given = list(names)
    if not given:
        raise InputError(argument, "are empty", "name at least one")
    if len(set(given)) < len(given):
        raise InputError(argument, f"are {', '.join(map(str, given))}", "name each once")
    for name in given:
        one_of(known)(argument, name)
