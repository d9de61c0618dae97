"""Hashes of what comes out of each way in, stored in ``golden.txt``: ``python -m tests.golden > tests/golden.txt``.

A change of any of them is a change that users see. They are the same on every machine: what a logarithm has touched, of
which C libraries have their own last bits, is rounded first, and slots have weights that need none. How a solve went
(engine, sorts, steps) is left out.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from excalibr import Reranker
from tests.cli.reranking import GENRES, run
from tests.service.client import body_of, client_of
from tests.tables.invented import GENRE_COLUMNS, KINDS, Invented, as_arrow, invented_tables

STORED = Path(__file__).parent / "golden.txt"

COMMON: dict[str, Any] = {"k": 5, "seed": 3, "position_weights": "sqrt"}
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"trade_off": 0.4},
    "single": {"trade_off": 0.6, "draws": "single"},
    "even": {"trade_off": 0.6, "draws": "even"},
    "limits": {"trade_off": 0.4, "floors": {"drama": 0.1}, "caps": {"art": 0.3}},
    "weights": {"trade_off": 0.4, "category_weights": {"drama": 2.0}},
    "kl": {"trade_off": 0.4, "divergence": "kl"},
    "relevance loss": {"relevance_loss": 0.05},
}
ROUNDED = {"kl": 9, "relevance loss": 9}
"""Settings whose figures count to so many digits: KL is a sum of logarithms, and a budget's λ is sought in one."""

INPUTS = ("candidates", "items", "history")
OUTPUTS = ("slates", "lotteries", "report")
HOW = ("engine", "sorts", "steps", "solver_status")
"""Columns of a report that say how a solve went."""


def tables() -> Invented:
    """What all of them are made of."""
    return invented_tables(users=12)


def of_inputs() -> dict[str, str]:
    """The invented tables: where numpy draws others, nothing else can be as it was."""
    made = tables()
    return {f"inputs: {name}": of_table(getattr(made, name)) for name in INPUTS}


def of_tables(kind: str) -> dict[str, str]:
    """What a ``Reranker`` gives for tables of a kind."""
    make, made = KINDS[kind], tables()
    given = make(made.candidates), make(made.items)
    found = {}
    for name, options in SETTINGS.items():
        reranker = Reranker(**COMMON, **options)
        with_history = {"history": make(made.history), **GENRE_COLUMNS}
        slates = reranker.rerank(*given, propensities=True, **with_history)
        others = (getattr(reranker, output)(*given, **with_history) for output in OUTPUTS[1:])
        for output, table in zip(OUTPUTS, (slates, *others), strict=True):
            found[f"{name}: {output}"] = of_table(as_arrow(table), ROUNDED.get(name))
    return found


def of_command(folder: Path, name: str, ending: str, read: Any) -> dict[str, str]:
    """What ``excalibr rerank`` writes into files of a kind; of CSV, the bytes of slates too."""
    assert run(arguments(folder, name, ending)).exit_code == 0
    return of_files(folder, name, ending, read)


def arguments(folder: Path, name: str, ending: str, read: str = "") -> list[str]:
    """The command, for tables that are in a folder already, in files of the same kind or of another."""
    candidates, items, history = (str(folder / f"{table}.{read or ending}") for table in INPUTS)
    given = ["rerank", candidates, "--items", items, "--history", history, *GENRES, "--propensities", "--threads", "1"]
    for option, value in (COMMON | SETTINGS[name]).items():
        said = [f"{key}={each}" for key, each in value.items()] if isinstance(value, dict) else [str(value)]
        given += [f"--{option.replace('_', '-')}", ",".join(said)]
    for option, output in zip(("out", "lotteries", "report"), OUTPUTS, strict=True):
        given += [f"--{option}", str(folder / f"{output}.{ending}")]
    return given


def of_files(folder: Path, name: str, ending: str, read: Any) -> dict[str, str]:
    """The outputs that a run left there."""
    paths = {output: folder / f"{output}.{ending}" for output in OUTPUTS}
    found = {f"{name}: {output}": of_table(read(path), ROUNDED.get(name)) for output, path in paths.items()}
    if ending == "csv" and name not in ROUNDED:
        found[f"{name}: slates.csv, its bytes"] = of_bytes(paths["slates"].read_bytes())
    return found


def of_service(folder: Path) -> dict[str, str]:
    """Replies of the service, whole but for the time that they took."""
    made, found = tables(), {}
    for name, options in SETTINGS.items():
        if name in ROUNDED:
            continue
        told = "\n".join(f"{option} = {_toml(value)}" for option, value in (COMMON | options).items())
        client = client_of(folder, made, f'history = "history.parquet"\n{told}')
        users = sorted(set(made.candidates["user_id"].to_pylist()))
        replies = (client.post("/rank/films", body_of(made.candidates, user)).body for user in users)
        found[f"{name}: replies"] = of_bytes(b"\n".join(re.sub(rb'"took":[^,]+,', b"", reply) for reply in replies))
    return found


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {each}" for name, each in value.items()) + " }"
    return repr(value)


def of_table(table: Any, digits: int | None = None) -> str:
    """By the values of its columns, in the order of its rows; numbers of any width are the same."""
    lines = [
        f"{name}: {[_value(value, digits) for value in table[name].to_pylist()]}"
        for name in table.column_names
        if name not in HOW
    ]
    return of_bytes("\n".join(lines).encode())


def _value(value: Any, digits: int | None) -> Any:
    if isinstance(value, (int, float)):  # a column of whole numbers is read from CSV as integers
        return (float(value) if digits is None else round(float(value), digits) + 0.0).hex()
    return value


def of_bytes(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def stored() -> dict[str, str]:
    """The hashes as they should be, by what they are of."""
    lines = STORED.read_text(encoding="utf-8").splitlines()
    return {name: value for value, name in (line.split("  ", 1) for line in lines)}


def changed(found: dict[str, str]) -> list[str]:
    """The names of outputs that are other than stored."""
    expected = stored()
    return [name for name, value in found.items() if expected.get(name) != value]


def _all() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from (of_inputs() | of_tables("pyarrow") | of_service(folder)).items()
        write_csv(folder)
        for setting in SETTINGS:
            found = of_command(folder, setting, "csv", pa.csv.read_csv)
            yield from ((name, value) for name, value in found.items() if "bytes" in name)


def write_csv(folder: Path) -> None:
    """The tables as CSV."""
    made = tables()
    for name in INPUTS:
        pa.csv.write_csv(getattr(made, name), folder / f"{name}.csv")


if __name__ == "__main__":
    for each, of in _all():
        print(f"{of}  {each}")
