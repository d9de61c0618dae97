"""The command's options, once: names, defaults and help texts; what a plan has is named and defaulted as there."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from excalibr._experiments import Columns, Plan, Setting, Source, movielens_source, table_source
from excalibr.datasets._archives import MAX_BYTES, MAX_RATIO
from excalibr.errors import InputError, explain

__all__ = ["ExperimentOptions", "repeating_options"]

_PLAN = Plan()
_OWN, _LESS, _SIZES = "Data of one's own", "Less of everything", "How many users"


def _option(text: str, panel: str | None = None, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel)


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    """What the command is asked."""

    out: Annotated[Path, _option("The folder for results, figures, tables and report.")]
    data: Annotated[Path | None, _option("MovieLens: an official zip, its folder, or a Parquet folder.")] = None
    threads: Annotated[int | None, _option("Processes; by default one a processor. The results are the same.")] = None
    time: Annotated[
        str | None, _option("What it may take, such as 15m or 90s: items, users and trade-offs are chosen to fit.")
    ] = None
    seed: Annotated[int, _option("Splits users, and draws samples and rankings.")] = _PLAN.seed
    split: Annotated[str, _option("What is held out of a user: a random fifth, or by time the latest.")] = _PLAN.split
    min_item_count: Annotated[int, _option("Leave out items with fewer positives, to save memory.")] = (
        _PLAN.min_item_count
    )
    figures: Annotated[bool, _option("Draw the figures; without them the report has tables only.")] = True
    page: Annotated[Path | None, _option("A folder to write the page experiment.md into as well.")] = None
    complete: Annotated[
        bool, _option("Whether an official set must have its official size.", None, "--complete/--part-of-set")
    ] = True
    max_bytes: Annotated[int, _option("What the data may unpack to, at most.")] = MAX_BYTES
    max_ratio: Annotated[float, _option("The same, as a multiple of the zip's size.")] = MAX_RATIO
    users: Annotated[int, _option("Test users, at most.", _SIZES)] = _PLAN.users
    sample: Annotated[int, _option("Users for one good ranking in many slots.", _SIZES)] = _PLAN.sample
    mip_users: Annotated[int, _option("Users for MIP greedy where items have several categories.", _SIZES)] = (
        _PLAN.mip_users
    )
    timed_users: Annotated[int, _option("Users of the runtime tables; 0: none.", _SIZES)] = _PLAN.timed_users
    attributes: Annotated[list[str] | None, _option("One attribute only; again for more.", _LESS)] = None
    weightings: Annotated[list[str] | None, _option("log, sqrt, reciprocal or uniform.", _LESS)] = None
    settings: Annotated[list[str] | None, _option("Candidates/slots, such as 150/100.", _LESS)] = None
    methods: Annotated[list[str] | None, _option(", ".join(_PLAN.arms) + ".", _LESS)] = None
    trade_offs: Annotated[
        list[float] | None, _option("Between 0 and 1; by default spread along users' own curves.", _LESS)
    ] = None
    points: Annotated[int, _option("How many trade-offs are chosen.", _LESS)] = _PLAN.points
    metrics: Annotated[
        list[str] | None, _option("Further measures to tabulate, such as recall or gini; all by default.", _LESS)
    ] = None
    regularisations: Annotated[list[float] | None, _option("Of EASE; the best is taken.", _LESS)] = None
    ratings: Annotated[Path | None, _option("A table of ratings or play counts, CSV, Parquet or Arrow.", _OWN)] = None
    items: Annotated[Path | None, _option("A table of the items' categories.", _OWN)] = None
    scores: Annotated[Path | None, _option("Candidates with scores of your own model, instead of EASE.", _OWN)] = None
    held_out: Annotated[Path | None, _option("With --scores: what its users are judged by.", _OWN)] = None
    category_column: Annotated[
        list[str] | None, _option("Of the items; again for more.", _OWN, "--category-column", "--category")
    ] = None
    separator: Annotated[str, _option("Between labels, such as |; auto: as they show; none.", _OWN)] = field(
        default=Columns(()).separator
    )
    user_column: Annotated[str, _option("With the user.", _OWN, "--user-column", "--user-id")] = "user_id"
    item_column: Annotated[str, _option("With the item.", _OWN, "--item-column", "--item-id")] = "item_id"
    items_item_column: Annotated[
        str | None, _option("In the items, where it differs.", _OWN, "--items-item-column", "--items-item-id")
    ] = None
    rating_column: Annotated[str, _option("Ratings or counts; empty: every row is a positive.", _OWN)] = "rating"
    timestamp_column: Annotated[str, _option("When; for a split by time.", _OWN)] = "timestamp"
    above: Annotated[float | None, _option("A rating above it is a positive; 3.5, and 0 for plays.", _OWN)] = None
    minimum: Annotated[int, _option("Positives that a user must have.", _OWN)] = 5

    @property
    def plan(self) -> Plan:
        """What is run."""
        same = ("users", "sample", "mip_users", "timed_users", "points", "split", "seed", "min_item_count")
        lists = {name: getattr(self, name) for name in ("attributes", "weightings", "metrics", "regularisations")}
        chosen: dict[str, Any] = {name: tuple(given) for name, given in lists.items() if given}
        return Plan(
            **{name: getattr(self, name) for name in same},
            **chosen,
            trade_offs=tuple(sorted(self.trade_offs or ())),
            settings=tuple(map(Setting.parse, self.settings)) if self.settings else _PLAN.settings,
            arms=tuple(self.methods or _PLAN.arms),
        )

    @property
    def columns(self) -> Columns:
        """How the columns of one's own tables are called."""
        named = (self.user_column, self.item_column, self.rating_column, self.separator)
        return Columns(tuple(self.category_column or ()), *named, self.items_item_column, self.timestamp_column)

    @property
    def seconds(self) -> float | None:
        """The time that it may take."""
        if self.time is None:
            return None
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", self.time.strip())
        if found is None or float(found[1]) <= 0:
            raise InputError(explain("--time", f"is {self.time!r}", "be a time such as 15m, 90s or 2h"))
        return float(found[1]) * {"s": 1.0, "h": 3600.0}.get(found[2] or "m", 60.0)

    def source(self) -> Source:
        """The data, read and checked."""
        own = self.ratings is not None and self.items is not None
        if (self.data is None) == (not own) or (self.data is not None and (self.ratings or self.items)):
            must = "be given alone, or --ratings, --items and --category-column instead of it"
            found = "is missing" if self.data is None else "comes with tables of one's own"
            raise InputError(explain("--data", found, must))
        if self.data is not None:
            limits = {"max_bytes": self.max_bytes, "max_ratio": self.max_ratio}
            return movielens_source(self.data, complete=self.complete, **limits)
        if not self.category_column:
            raise InputError(explain("--category-column", "is missing", "name a column of the items table"))
        assert self.ratings is not None
        assert self.items is not None
        return table_source(
            *(self.ratings, self.items, self.columns),
            scores=self.scores,
            held_out=self.held_out,
            above=self.above,
            minimum=self.minimum,
        )

    def check_apart(self) -> None:
        """The folder's files are written over, so none of them may be read."""
        written = [self.out / name for name in ("parts", "figures", "tables")]
        written += [self.out / f"{name}.parquet" for name in ("results", "summary", "runtimes")]
        for path in (self.data, self.ratings, self.items, self.scores, self.held_out):
            if path is not None and any(path.resolve().is_relative_to(each.resolve()) for each in written):
                found = f"is {self.out}, and {path} is one of the files that are written there"
                raise InputError(explain("--out", found, "be another folder", "an input is never written over."))


def repeating_options(asked: ExperimentOptions, plan: Plan) -> str:
    """The command with everything that was chosen, without the folders of this machine."""
    words = ["excalibr experiment"]
    for name in ("data", "ratings", "items", "scores", "held_out"):
        path = getattr(asked, name)
        words += [f"--{name.replace('_', '-')} {quote(path.name)}"] if path is not None else []
    words += [f"--category-column {quote(name)}" for name in asked.category_column or ()]
    for each in dataclasses.fields(asked):
        value = getattr(asked, each.name)
        if each.name in _REPEATED and value != each.default:
            words.append(f"--{each.name.replace('_', '-')} {quote(str(value))}")
    for name, value in plan.as_record().items():
        if value != _PLAN.as_record()[name]:
            option = "--" + {"arms": "methods"}.get(name, name).replace("_", "-")
            words += [f"{option} {quote(str(each))}" for each in (value if isinstance(value, list) else [value])]
    words += [] if asked.complete else ["--part-of-set"]
    folders = {"out": asked.out, "page": asked.page}
    words += [f"--{name} {quote(path.resolve().name)}" for name, path in folders.items() if path is not None]
    return " ".join(words)


_REPEATED = (
    *("above", "minimum", "user_column", "item_column", "items_item_column", "rating_column"),
    *("timestamp_column", "separator"),
)
