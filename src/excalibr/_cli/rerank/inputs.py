"""The files that a run reads: none of them may be one that it writes, and none may change until it ends.

A file is the same while its size, its time stamp and a digest are: of a Parquet file the digest of its footer, which
has the place, size and bounds of every column's pages; of any other file that of all its bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeAlias

from excalibr._cli.rerank.sources import TableSource
from excalibr.errors import InputError, explain

__all__ = ["Inputs", "check_apart", "parts_folder"]

Facts: TypeAlias = tuple[str, int, int, str]
"""Path, size, time of the last change in nanoseconds, digest."""

BLOCK = 1 << 22
TAIL = 8
"""Bytes at the end of a Parquet file: the length of its footer, and four that say what it is."""


@dataclass(frozen=True)
class Inputs:
    """The files of all tables, as they were when the run began."""

    sources: tuple[TableSource, ...]
    known: dict[Path, Facts] = field(default_factory=dict)
    _seen: dict[Path, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, sources: Iterable[TableSource]) -> Inputs:
        """Read what tells the files from others."""
        inputs = cls(tuple(sources))
        for source in inputs.sources:
            for path in source.files:
                inputs._seen[path] = _signature(path)
                inputs.known[path] = _facts(path, source.check)
        return inputs

    def stamp(self) -> dict[str, list[Facts]]:
        """Of each table, its files."""
        return {source.name: [self.known[path] for path in source.files] for source in self.sources}

    def check(self, *, thoroughly: bool = False) -> None:
        """Raise an error where a file is not what it was: by its size and times, or thoroughly, by its digest too."""
        for source in self.sources:
            if _listed(source) != source.files:
                raise _changed(source, source.path, "has other files in it now")
            for path in source.files:
                self._check_file(source, path, thoroughly)

    def _check_file(self, source: TableSource, path: Path, thoroughly: bool) -> None:
        try:
            now = _signature(path)
            if now == self._seen[path] and not thoroughly:
                return
            facts = _facts(path, source.check)
        except FileNotFoundError:
            raise _changed(source, path, "is gone") from None
        if facts != self.known[path]:
            raise _changed(source, path, _difference(self.known[path], facts))
        self._seen[path] = now  # a new link to it, or the same file put in its place


def check_apart(outputs: Mapping[str, Path], sources: Iterable[TableSource]) -> None:
    """Raise an error where something that the run writes or removes is something that it reads, by whatever path.

    Parameters
    ----------
    outputs
        By name; the parts of the first one go into a folder beside it.
    sources
        The tables.
    """
    names = {name: "--out" if name == "slates" else f"--{name}" for name in outputs}
    folder = parts_folder(next(iter(outputs.values())))
    for name, path in outputs.items():
        if path.is_dir():
            raise InputError(explain(names[name], f"{path} is a folder", "be a file"))
        for other in list(outputs)[: list(outputs).index(name)]:
            if _is_same(path, outputs[other]):
                found = f"{path} is the same file as {names[other]}"
                raise InputError(explain(names[name], found, f"differ from {names[other]}"))
        if _is_within(path, folder):
            raise InputError(explain(names[name], f"{path} is in {folder}, which the run removes", "be elsewhere"))
    for source in sources:
        for name, path in outputs.items():
            _check_pair(names[name], path, source)
        _check_not_removed(folder, source)


def parts_folder(output: Path) -> Path:
    """The folder of a run's parts."""
    return output.with_name(output.name + ".parts")


def _check_pair(option: str, output: Path, source: TableSource) -> None:
    if source.path.is_dir() and _is_within(output, source.path):
        found = f"{output} is in {source.path}, all of which is read as {source.name}"
        raise InputError(explain(option, found, "be in another folder"))
    for path in source.files:
        if _is_same(output, path):
            also = f" ({path})" if output.absolute() != path.absolute() else ""
            found = f"{output} is the same file as {source.name}{also}"
            raise InputError(explain(option, found, "be another file", "an input is never written over."))


def _check_not_removed(folder: Path, source: TableSource) -> None:
    for path in (source.path, *source.files):
        if _is_within(path, folder):
            found = f"{path} is in {folder}, which the run removes"
            raise InputError(explain(source.name, found, "be elsewhere"))


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths are one file: by name, through links, or as two names of it."""
    try:
        return one.samefile(other)
    except FileNotFoundError:
        return one.resolve() == other.resolve() or _place(one) == _place(other)


def _is_within(path: Path, folder: Path) -> bool:
    return any(each.is_relative_to(folder.resolve()) for each in (path.resolve(), _place(path)))


def _place(path: Path) -> Path:
    """Where a name is, without following it if it is a link."""
    return path.parent.resolve() / path.name


def _listed(source: TableSource) -> list[Path]:
    try:
        return source.found()
    except InputError:
        raise _changed(source, source.path, "is gone") from None


def _signature(path: Path) -> tuple[int, ...]:
    """What changes with anything that is done to a file; the last, also with what leaves its content alone."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _facts(path: Path, check: Callable[[], None]) -> Facts:
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        return str(path.resolve()), found.st_size, found.st_mtime_ns, _digest(file, found.st_size, check)


def _digest(file: BinaryIO, size: int, check: Callable[[], None]) -> str:
    file.seek(max(0, size - TAIL))
    tail = file.read(TAIL)
    length = int.from_bytes(tail[:4], "little") + TAIL
    is_parquet = tail[4:] == b"PAR1" and length < size
    file.seek(size - length if is_parquet else 0)
    digest = hashlib.sha256()
    while block := file.read(BLOCK):
        digest.update(block)
        check()
    return digest.hexdigest()


def _difference(before: Facts, now: Facts) -> str:
    if before[1] != now[1]:
        return f"has {now[1]:,} bytes now and had {before[1]:,}"
    if before[3] != now[3]:
        return "has other contents now"
    return "was written again"


def _changed(source: TableSource, path: Path, how: str) -> InputError:
    hint = "nothing was put in place; run again without --resume."
    return InputError(
        explain(source.name, f"{path} changed during the run ({how})", "stay as it is until the end", hint)
    )
