"""Files put in place in one step: written under a temporary name in the same folder, synced, and renamed.

The name is random and the file made exclusively, so that nothing is written through a link that somebody planted, and
two processes never write to the same one.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags with which a name that is a link is refused; Windows, which lets few people make links, has no such flag."""


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A name to write to, renamed to ``path`` once all is written and on disk; removed if an error comes between.

    The name keeps the path's suffix, because some writers go by it.
    """
    with temporary(path) as name:
        yield name
        put_in_place(name, path)


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """A new empty file in the folder of ``path``, which is made if need be; removed at the end, where still there."""
    if path.is_dir():  # which is told now, and not once all is written
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.with_name(f".{path.stem}.{secrets.token_hex(6)}.tmp{path.suffix}")
    try:
        os.close(open_without_links(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except OSError as error:
        error.filename = str(path)  # which was asked for
        raise
    try:
        with errors_named(path):
            yield name
    finally:
        name.unlink(missing_ok=True)


@contextmanager
def errors_named(path: Path) -> Iterator[None]:
    """Let an error say which file it is of: those of Arrow and numpy's writers, and of a full disk, do not."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        if error.errno is None:
            raise OSError(f"{path}: {error}") from error
        error.filename = str(path)
        raise


def put_in_place(written: Path, path: Path) -> None:
    """Rename a finished file; both its content and the rename are on disk when this returns."""
    sync_file(written)
    written.replace(path)
    _sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Wait until a file's content is on disk."""
    descriptor = open_without_links(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(path: Path) -> None:
    """Remove what :func:`temporary` made for this path in a process that was killed; nobody may be writing to it."""
    _remove(path.parent, re.escape(f".{path.stem}.") + "[0-9a-f]{12}" + re.escape(f".tmp{path.suffix}"))


def remove_all_leftovers(folder: Path) -> None:
    """The same for all paths of a folder that is nobody else's."""
    _remove(folder, r"\..+\.[0-9a-f]{12}\.tmp(\.\w+)?")


def _remove(folder: Path, pattern: str) -> None:
    for found in folder.glob(".*.tmp*"):
        if re.fullmatch(pattern, found.name) and (found.is_symlink() or found.is_file()):
            found.unlink(missing_ok=True)


def open_without_links(path: Path, flags: int) -> int:
    """A file descriptor; a path whose last step is a link is an error."""
    try:
        return os.open(path, flags | NO_LINKS, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise OSError(error.errno, "is a link, and nothing is written through links", str(path)) from None
        raise


def _sync_folder(path: Path) -> None:
    """Where that can be done: neither Windows nor every file system can."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):
            os.fsync(descriptor)
        os.close(descriptor)
