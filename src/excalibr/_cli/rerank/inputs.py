"""The files that a run reads, and what tells a file from another.

None of them may be one that the run writes, and none may change until it ends. A file is the same while its size, its
time stamp and a digest are: of a Parquet file the digest of its footer, which has the place, size and bounds of every
column's pages; of any other file that of all its bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, TypeAlias

from excalibr.errors import InputError
from excalibr.tables._sources import TableSource

__all__ = ["FORMATS", "Facts", "Inputs", "TableSource", "check_apart", "facts_of", "format_of", "parts_folder"]

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".arrow": "arrow", ".feather": "arrow"}
"""What can be written, by the end of the name; compressed CSV can also be read."""

Facts: TypeAlias = tuple[str, int, int, str]  # path, size, time of the last change in nanoseconds, digest

BLOCK = 1 << 22
TAIL = 8  # bytes at the end of a Parquet file: the length of its footer, and four that say what it is


def format_of(path: Path, argument: str) -> str:
    """The format that a file's name asks for when it is written."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(argument, f"is {path.name!r}", f"end in one of {', '.join(FORMATS)}")
    return FORMATS[path.suffix.lower()]


class Inputs:
    """The files of all tables, as they were when the run began."""

    def __init__(self, sources: Iterable[TableSource]) -> None:
        self.sources = tuple(sources)
        self._known: dict[Path, Facts] = {}
        self._seen: dict[Path, tuple[int, ...]] = {}
        for source in self.sources:
            for path in source.files:
                self._seen[path] = _signature(path)
                self._known[path] = facts_of(path, source.check)

    def stamp(self) -> dict[str, list[Facts]]:
        """Of each table, its files."""
        return {source.name: [self._known[path] for path in source.files] for source in self.sources}

    def check(self, *, thoroughly: bool = False) -> None:
        """Raise an error where a file is not what it was: by its size and times, or thoroughly, by its digest too."""
        for source in self.sources:
            try:
                now = source.found()
            except InputError:
                raise _changed(source, source.path, "is gone") from None
            if now != source.files:
                raise _changed(source, source.path, "has other files in it now")
            for path in source.files:
                self._check_file(source, path, thoroughly)

    def _check_file(self, source: TableSource, path: Path, thoroughly: bool) -> None:
        try:
            now = _signature(path)
            if now == self._seen[path] and not thoroughly:
                return
            facts = facts_of(path, source.check)
        except FileNotFoundError:
            raise _changed(source, path, "is gone") from None
        _, size, _, digest = self._known[path]
        _, size_now, _, digest_now = facts
        if size != size_now:
            raise _changed(source, path, f"has {size_now:,} bytes now and had {size:,}")
        if digest != digest_now:
            raise _changed(source, path, "has other contents now")
        if facts != self._known[path]:
            raise _changed(source, path, "was written again")
        self._seen[path] = now  # a new link to it, or the same file put in its place


def check_apart(outputs: Mapping[str, Path], sources: Iterable[TableSource]) -> None:
    """Raise an error where something that the run writes or removes is something that it reads, by whatever path."""
    slates = "--slates" if "out" in outputs else "--out"  # of balance, whose prices go to --out, or of rerank
    by_option = {slates if name == "slates" else f"--{name}": path for name, path in outputs.items()}
    folder = parts_folder(next(iter(outputs.values())))
    for number, (option, path) in enumerate(by_option.items()):
        if path.is_dir():
            raise InputError(option, f"{path} is a folder", "be a file")
        for other in list(by_option)[:number]:
            if _is_same(path, by_option[other]):
                raise InputError(option, f"{path} is the same file as {other}", f"differ from {other}")
        _check_outside(folder, option, path)
    for source in sources:
        for option, path in by_option.items():
            _check_pair(option, path, source)
        for path in (source.path, *source.files):
            _check_outside(folder, source.name, path)


def parts_folder(output: Path) -> Path:
    """The folder of a run's parts, beside its first output."""
    return output.with_name(output.name + ".parts")


def _check_outside(folder: Path, name: str, path: Path) -> None:
    if _is_within(path, folder):
        raise InputError(name, f"{path} is in {folder}, which the run removes", "be elsewhere")


def _check_pair(option: str, output: Path, source: TableSource) -> None:
    if source.path.is_dir() and _is_within(output, source.path):
        found = f"{output} is in {source.path}, all of which is read as {source.name}"
        raise InputError(option, found, "be in another folder")
    for path in source.files:
        if _is_same(output, path):
            also = f" ({path})" if output.absolute() != path.absolute() else ""
            found = f"{output} is the same file as {source.name}{also}"
            raise InputError(option, found, "be another file", "an input is never written over.")


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths are one file: by name, through links, or as two names of it."""
    try:
        return one.samefile(other)
    except FileNotFoundError:
        return one.resolve() == other.resolve() or _place(one) == _place(other)


def _is_within(path: Path, folder: Path) -> bool:
    target = Path(os.path.realpath(path))  # and not resolve, which raises an error of its own for links in a circle
    return any(each.is_relative_to(folder.resolve()) for each in (target, _place(path)))


def _place(path: Path) -> Path:
    """Where a name is, without following it if it is a link."""
    return path.parent.resolve() / path.name


def _signature(path: Path) -> tuple[int, ...]:
    """What changes with anything that is done to a file; the last, also with what leaves its content alone."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def facts_of(path: Path, check: Callable[[], None] = lambda: None) -> Facts:
    """What tells a file from another; ``check`` is called again and again on the way, to stop it."""
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


def _changed(source: TableSource, path: Path, how: str) -> InputError:
    found, hint = f"{path} changed during the run ({how})", "nothing was put in place; run again without --resume."
    return InputError(source.name, found, "stay as it is until the end", hint)
