"""The settings to take along: as Python, as a command line and as a profile for ``excalibr serve``."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from msgspec import Struct

from excalibr.service._page.choices import Aim, Choices, aimed, reranker_of
from excalibr.service._page.explored import Explored
from excalibr.tables import Reranker, Tables
from excalibr.tables._files import dialect_of, files_of, kind_of

PINS = "pinned.parquet"
_DATASET = "import pyarrow.dataset as ds"


class Settings(Struct, frozen=True):
    """The same settings three times; what a form cannot have is in a comment."""

    python: str
    command: str
    profile: str


def settings_of(explored: Explored, choices: Choices, aim: Aim) -> Settings:
    """The settings of these choices."""
    reranker = aimed(reranker_of(explored, choices), aim)
    pin = None if choices.pinned is None else (explored.items.ids[choices.pinned.item].as_py(), choices.pinned.rank)
    return Settings(
        _python(explored, reranker, pin), _command(explored, reranker, pin), _profile(explored, reranker, pin)
    )


def _options(reranker: Reranker) -> dict[str, Any]:
    """What differs from the defaults."""
    found = reranker.given()
    if reranker.seed:
        found["seed"] = reranker.seed
    if reranker.fallback != "relevance":
        found["fallback"] = reranker.fallback
    weights = found.get("position_weights")
    if weights is not None and not isinstance(weights, str):
        found["position_weights"] = [float(weight) for weight in weights]
    return {name: _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    """Numbers as Python's own."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return value.item() if hasattr(value, "item") else value


def _columns(explored: Explored) -> dict[str, Any]:
    """How columns are called, where they are not called as usual."""
    defaults = {each.name: each.default for each in fields(Tables)}
    given = explored.source.columns
    return {name: value for name, value in given.items() if name in defaults and value != defaults[name]}


def _files(explored: Explored) -> dict[str, Path | Mapping[str, Any]]:
    return {name: given for name, given in explored.source.tables.items() if name != "truth"}


def _python(explored: Explored, reranker: Reranker, pin: tuple[Any, int] | None) -> str:
    lines, files = ["from excalibr import Reranker"], _files(explored)
    if files:
        reads = [f"{name} = {_read(name, given)}" for name, given in files.items()]
        lines += [*_imports(reads), "", *reads]
    else:
        lines += ["from excalibr.datasets import make_catalogue", ""]
        lines += ["tables = make_catalogue().tables()  # the invented catalogue"]
        lines += ['candidates, items, history = (tables[name] for name in ("candidates", "items", "history"))']
    beside = [name for name in (files or ("history",)) if name not in ("candidates", "items")]
    if pin is not None:
        lines += _pinned(explored, *pin)
        beside.append("pinned")
    called = [f"{name}={name}" for name in beside] + [f"{key}={value!r}" for key, value in _columns(explored).items()]
    ranking = ", ".join(f"{name}={value!r}" for name, value in _options(reranker).items())
    lines += ["", f"reranker = Reranker({ranking})"]
    lines += [f"slates = reranker.rerank({', '.join(['candidates', 'items', *called])})", "print(slates)"]
    return "\n".join(lines) + "\n"


def _imports(reads: Sequence[str]) -> list[str]:
    modules = {"import pyarrow.csv as csv": ("csv.read_csv(", "csv.ParseOptions("), _DATASET: ("ds.dataset(",)}
    return [line for line, calls in modules.items() if any(call in read for read in reads for call in calls)]


def _read(name: str, given: Path | Mapping[str, Any]) -> str:
    """How Python reads a table."""
    if isinstance(given, Mapping):
        return repr(dict(given))
    first = files_of(name, given)[0]
    kind, delimiter = kind_of(first), dialect_of(first).delimiter if kind_of(first) == "csv" else ","
    parsed = "" if delimiter == "," else f"csv.ParseOptions(delimiter={delimiter!r})"
    if kind == "csv" and given.is_file():
        return f"csv.read_csv({str(given)!r}{parsed and f', parse_options={parsed}'})"
    form = f"ds.CsvFileFormat({parsed})" if parsed else repr(kind)
    return f"ds.dataset({str(given)!r}, format={form}).to_table()"


def _pinned(explored: Explored, item: Any, rank: int) -> list[str]:
    """The users who have the pinned item among their candidates, with the rank that it keeps."""
    user, own = _column(explored, "user_id"), _column(explored, "item_id")
    return [
        "",
        "import pyarrow as pa",
        "",
        f"having = pa.table(candidates).filter(pa.compute.field({own!r}) == {item!r})",
        f'pinned = pa.table({{{user!r}: having[{user!r}], {own!r}: having[{own!r}], "rank": [{rank}] * len(having)}})',
    ]


def _column(explored: Explored, role: str) -> str:
    return str(explored.source.columns.get(role, role))


def _command(explored: Explored, reranker: Reranker, pin: tuple[Any, int] | None) -> str:
    files = _files(explored) or {name: Path(f"{name}.parquet") for name in ("candidates", "items", "history")}
    words = ["excalibr rerank", shlex.quote(str(files["candidates"]))]
    named = {name: f"{name}.csv" if isinstance(given, Mapping) else str(given) for name, given in files.items()}
    words += [f"--{name} {shlex.quote(path)}" for name, path in named.items() if name != "candidates"]
    for name, value in {**_options(reranker), **_columns(explored)}.items():
        flag = "-k" if name == "k" else f"--{name.replace('_', '-')}"
        words.append(flag if value is True else f"{flag} {shlex.quote(_word(value))}")
    if pin is not None:
        words.append(f"--pinned {PINS}")
    comments = [] if _files(explored) else ["# The invented catalogue is in no file: put your own tables here."]
    comments += [
        f"# {named[name]}:\n{_csv(name, given)}" for name, given in files.items() if isinstance(given, Mapping)
    ]
    if pin is not None:
        comments.append(f"# {PINS}: user_id, item_id ({pin[0]}) and rank ({pin[1]}) of the users who have it to offer.")
    return "\n".join([*comments, " ".join([*words, "--out slates.parquet"])]) + "\n"


def _csv(name: str, written: Mapping[str, Any]) -> str:
    """What is written down in place of a file, as the lines that the file would have, in comments."""
    nested = any(isinstance(each, Mapping) for each in written.values())
    rows = [(name, *each) for name, own in written.items() for each in own.items()] if nested else [*written.items()]
    lines, amount = io.StringIO(), "price" if name == "prices" else "weight"
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows([[*(["attribute"] if nested else []), "category", amount], *rows])
    return "\n".join(f"# {line}" for line in lines.getvalue().splitlines())


def _word(value: Any) -> str:
    """A value as the command line takes it: ``drama=0.1,epic=2``, with several attributes ``genre:drama=0.1``."""
    if isinstance(value, Mapping):
        pairs = []
        for name, each in value.items():
            own = each.items() if isinstance(each, Mapping) else [("", each)]
            pairs += [f"{name}:{category}={amount}" if category else f"{name}={amount}" for category, amount in own]
        return ",".join(pairs)
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _profile(explored: Explored, reranker: Reranker, pin: tuple[Any, int] | None) -> str:
    files = _files(explored) or {name: Path(f"{name}.parquet") for name in ("items", "history")}
    lines = [] if _files(explored) else ["# The invented catalogue is in no file: put your own tables here."]
    if any(isinstance(given, Path) and not given.is_absolute() for given in _files(explored).values()):
        lines.append("# Paths count from the folder of this file: save it where the page was started.")
    lines += ["[profiles.explored]"]
    lines += [f"{name} = {_toml(given)}" for name, given in files.items() if name != "candidates"]
    lines += [f"{name} = {_toml(value)}" for name, value in {**_columns(explored), **_options(reranker)}.items()]
    if pin is not None:
        lines.append(f'# with each request: "pinned": [{{"item": {json.dumps(pin[0])}, "rank": {pin[1]}}}]')
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A value as TOML has it; a JSON string is one of TOML's, but for what is not ASCII beyond 16 bits."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(str(name))} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007F")
