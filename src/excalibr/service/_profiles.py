"""Profiles: a TOML file that says how to rank and with which tables, and the tables as arrays by id, loaded once."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from excalibr._native import kernel
from excalibr._options import Options, read_options
from excalibr._problem import AttributeSpan, Batch, Targets
from excalibr._types import Floats, Integers
from excalibr.errors import ExcalibrError, InputError, unknown_name
from excalibr.service._ids import Ids
from excalibr.service._prices import ItemPrices
from excalibr.tables import ItemArrays, Reranker, Tables, read_wanted
from excalibr.tables._by_name import with_names, with_numbers
from excalibr.tables._frames import read_frame
from excalibr.tables._ids import sorted_unique
from excalibr.tables._reranker import read_items_and_prices
from excalibr.tables._sources import TableSource
from excalibr.tables._user_targets import read_priors

DEMO = "demo"
FILES = ("items", "history", "targets", "prior", "prices")
"""Keys whose value is a file."""

INLINE = ("targets", "prior", "prices")
"""Those that may also be written in the profile itself."""

TABLES = ("candidates", *FILES, "truth")
"""The same with those that only the page reads: candidates of users, and what users went on to like."""

TIME_LIMIT = 0.05
"""Seconds of solving a request, where a profile does not say."""

UNKNOWN = ("leave out", "append")
_NOT_HERE = ("users", "pinned", "shown", "visit", "propensities", "threads")
"""Options of tables and re-rankers that requests have, or that a server has its own of."""


@dataclass(frozen=True, eq=False)
class Profile:
    """How to rank for a request, and all that is known before one comes.

    Attributes
    ----------
    name
        What the path calls it.
    reranker
        How to rank, with seed and fallback.
    options
        The same with categories by number.
    strength, half_life
        How many items of a history the prior is worth, and after how long a history's item counts half; None: always.
    items
        The items table.
    item_ids, user_ids
        Places by id; users are None where the targets do not depend on them.
    targets
        The target of each user as the tables have it, and last that of a user who is not in them.
    statuses
        (users + 1,) codes of :class:`excalibr._batch.Status`.
    priors
        What each attribute's target is without a history; None where nothing says.
    append_unknown
        Whether items that are not in the table follow the slate, or are left out.
    prices
        What items cost because of the groups that they belong to; None: nothing.
    asked
        Remembers how requests are ranked that ask for the same.
    catalogue
        The items for slates that are made in one call; None where no request's can be.
    """

    name: str
    reranker: Reranker
    options: Options
    strength: float
    half_life: float | None
    items: ItemArrays
    item_ids: Ids
    user_ids: Ids | None
    targets: Targets
    statuses: Integers
    priors: list[Floats] | list[None]
    append_unknown: bool
    prices: ItemPrices | None = None
    asked: dict[Any, Any] = field(default_factory=dict)
    catalogue: kernel.Catalogue | None = None

    @cached_property
    def numbers(self) -> dict[str, dict[str, int]]:
        """By attribute, the number of each category within it."""
        labels = self.items.categories.to_pylist()
        return {
            each.name: {label: number for number, label in enumerate(labels[each.columns])} for each in self.items.parts
        }

    @property
    def attributes(self) -> tuple[AttributeSpan, ...]:
        """The attributes by name; empty for a single one."""
        return self.items.attributes

    @property
    def is_special(self) -> bool:
        """Whether no request goes in as a single user's arrays."""
        return bool(self.attributes) or self.prices is not None

    def described(self) -> dict[str, Any]:
        """What ``/profiles`` shows of it."""
        return {
            "name": self.name,
            "items": len(self.items.ids),
            "users": 0 if self.user_ids is None else len(self.user_ids),
            "categories": self.items.categories.to_pylist(),
            "attributes": [each.name for each in self.attributes],
            "options": {name: _plain(value) for name, value in self.reranker.given().items()},
            "prices": 0 if self.prices is None else len(self.prices.by_pass),
            "seed": self.reranker.seed,
            "fallback": self.reranker.fallback,
        }


def read_profiles(source: str | Path | Mapping[str, Any] | None = None) -> dict[str, Profile]:
    """Profiles by name, from a TOML file, from the same as a mapping, or without either the invented catalogue.

    Parameters
    ----------
    source
        A path, or ``{"profiles": {name: options}}``; the files that a TOML file names are relative to it, those of a
        mapping to the working directory.

    Returns
    -------
    dict
        By name how to rank, with the tables loaded.

    Raises
    ------
    InputError
        With the file, the key, what was found and what is wanted.

    Examples
    --------
    >>> from excalibr.service import read_profiles
    >>> demo = read_profiles()["demo"]
    >>> demo.reranker.k, len(demo.items.ids)
    (10, 600)
    """
    if source is None:
        return {DEMO: _demo()}
    where, folder = ("profiles", Path()) if isinstance(source, Mapping) else (str(source), Path(source).parent)
    with errors_of(where):
        given = source if isinstance(source, Mapping) else read_toml(Path(source))
        for key in given:
            if key != "profiles":
                raise unknown_name("key", key, ("profiles",))
        profiles = given.get("profiles", {})
        if not isinstance(profiles, Mapping) or not profiles:
            raise InputError("profiles", "is empty", "have at least one table [profiles.NAME]")
    return {name: _read_profile(name, options, where, folder) for name, options in profiles.items()}


def read_toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not TOML: {error}") from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from error


def _read_profile(name: str, options: Any, where: str, folder: Path) -> Profile:
    with errors_of(f"{where}: [profiles.{name}]"):
        if not name or "/" in name:
            raise InputError("name", f"is {name!r}", "be a part of a path: a text without /")
        if not isinstance(options, Mapping):
            raise InputError(name, f"is {options!r}", "be a table of options")
        _check_keys(options)
        if "items" not in options:
            raise InputError("items", "is missing", "name a file")
        ranking, columns, tables = split_profile(options, folder)
        files = {key: read_source(key, tables[key]) for key in FILES if key in tables}
        unknown = options.get("unknown", UNKNOWN[0])
        if unknown not in UNKNOWN:
            raise unknown_name("unknown", unknown, UNKNOWN)
        return load_profile(name, read_options(Reranker, ranking), columns, files, append_unknown=unknown == "append")


def _check_keys(options: Mapping[str, Any]) -> None:
    fields = [each for each in (*_names(Reranker), *_names(Tables)) if each not in _NOT_HERE]
    known = [*TABLES, "unknown", *fields]
    for key in options:
        if key not in known:
            raise unknown_name("key", key, list(dict.fromkeys(known)))


def split_profile(
    options: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Path | Mapping[str, Any]]]:
    """A profile's keys as how to rank, how columns are called and read, and what :func:`read_source` reads."""
    tables = {key: _source_of(key, options[key], folder) for key in TABLES if key in options}
    ranking = {key: options[key] for key in _names(Reranker) if key in options}
    others = {*tables, *ranking, "unknown"}
    return ranking, {key: value for key, value in options.items() if key not in others}, tables


def _source_of(key: str, value: Any, folder: Path) -> Path | Mapping[str, Any]:
    if isinstance(value, Mapping) and key in INLINE:
        return value
    if not isinstance(value, str) or not value:
        raise InputError(key, f"is {value!r}", "be the name of a file")
    return folder / value


def read_source(name: str, source: Path | Mapping[str, Any]) -> Any:
    """A table from a file or a folder of them, or what is written down in place of one."""
    if isinstance(source, Mapping):
        return source
    try:
        return TableSource(name, source).read()
    except OSError as error:
        raise InputError(name, f"{source} cannot be read ({error.strerror})", "be a file") from error


def load_profile(
    name: str, reranker: Reranker, columns: Mapping[str, Any], files: Mapping[str, Any], *, append_unknown: bool
) -> Profile:
    """A profile from its options and tables."""
    beside = {key: table for key, table in files.items() if key not in ("items", "prices")}
    nobody: dict[str, Any] = {} if beside else {"targets": {}}
    options = read_options(Tables, {**columns, **beside, **nobody})
    if reranker.time_limit is None and reranker.method == "excalibr":
        reranker = dataclasses.replace(reranker, time_limit=TIME_LIMIT)
    items, group_prices = read_items_and_prices(files["items"], files.get("prices"), options)
    numbered = with_numbers(reranker, items)
    item_ids = Ids.of(items.ids, "item_id of items")
    user_ids, wanted = _wanted(items, options, known=bool(beside))
    trial = _trial_batch(items, numbered)
    prices = None
    if group_prices is not None and items.groups is not None:
        prices = ItemPrices.of(group_prices, items.groups)
        trial.with_item_prices(prices.by_pass[0])  # beside a budget there can be none
    return Profile(
        *(name, reranker, numbered, options.strength, options.half_life, items, item_ids, user_ids),
        *(wanted.targets, wanted.statuses, read_priors(items, options), append_unknown, prices),
        catalogue=None if items.attributes or prices is not None else _catalogue(item_ids, items, numbered),
    )


def _trial_batch(items: ItemArrays, options: Options) -> Batch:
    """A batch without candidates: an option that cannot be is found now, and not by the first request."""
    nothing, starts, r = np.empty(0, dtype=np.int64), np.zeros(2, dtype=np.int64), items.rows.n_categories
    asked: dict[str, Any] = {"items": nothing, "options": options, "attributes": items.attributes}
    try:
        return Batch.of(np.empty(0), starts, items.rows, np.full(r, 1.0 / r), **asked)
    except ExcalibrError as error:
        raise InputError(with_names(str(error), items)) from error


def _catalogue(ids: Ids, items: ItemArrays, options: Options) -> kernel.Catalogue:
    rows, categories = items.rows, items.categories.to_pylist()
    starts, columns = np.asarray(rows.indptr, dtype=np.int64), np.asarray(rows.indices, dtype=np.int64)
    return kernel.Catalogue(ids.table, starts, columns, rows.values, categories, options.normalise is not None)


def _wanted(items: ItemArrays, options: Tables, *, known: bool) -> tuple[Ids | None, Any]:
    """The users of the tables, and what they want, with one more user at the end whom no table knows."""
    import pyarrow as pa

    if not known:  # no target but those of requests: an empty history says so
        empty = pa.table({"user_id": pa.array([], pa.int64()), "item_id": pa.array([], items.ids.type)})
        return None, read_wanted(pa.array([0]), items, Tables(history=empty))
    table = options.history if options.history is not None else options.targets
    name = "history" if options.history is not None else "targets"
    frame = None if table is None or isinstance(table, Mapping) else read_frame(table, name)
    if frame is None or options.find("user_id", name, frame.columns) is None:
        return None, read_wanted(pa.array([0]), items, options)
    users = sorted_unique(options.read_ids(frame, "user_id"))
    ids = Ids.of(users, f"user_id of {name}")
    everybody = pa.concat_arrays([users, pa.array([ids.unused()], users.type)])
    return ids, read_wanted(everybody, items, options)


def _demo() -> Profile:
    """The invented catalogue: films by number, and the histories of its people by name."""
    from excalibr.datasets import make_catalogue

    tables = make_catalogue().tables()
    files = {name: tables[name] for name in ("items", "history")}
    return load_profile(DEMO, Reranker(k=10, trade_off=0.5), {}, files, append_unknown=False)


@contextmanager
def errors_of(where: str) -> Iterator[None]:
    """Errors raised within begin with where they come from."""
    try:
        yield
    except ExcalibrError as error:
        raise InputError(f"{where}: {error}") from error


def _names(kind: type) -> list[str]:
    return [each.name for each in dataclasses.fields(kind)]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
