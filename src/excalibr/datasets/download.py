"""Get an official MovieLens archive: checked against its published checksum, resumed, put in place in one step."""

from __future__ import annotations

import hashlib
import re
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import TypeAlias

from excalibr.datasets.movielens import OFFICIAL
from excalibr.errors import DownloadError, InputError, unknown_name

__all__ = ["GROUPLENS", "download_movielens"]

GROUPLENS = "https://files.grouplens.org/datasets/movielens"

Progress: TypeAlias = Callable[[int, int | None], None]

_CHUNK = 1 << 18
_TIMEOUT = 60.0  # seconds without a byte


def download_movielens(
    name: str, folder: str | Path = ".", *, url: str = GROUPLENS, progress: Progress | None = None
) -> Path:
    """Download an official archive into a folder, and return its path; what is there already is not fetched again.

    The bytes go to ``NAME.zip.part`` beside the target. If that is there, from a download that stopped, it goes on from
    its end. Only a complete archive with the published MD5 checksum gets the name ``NAME.zip``.

    Parameters
    ----------
    name
        One of :data:`excalibr.datasets.OFFICIAL`.
    folder
        Where to put it; made if need be.
    url
        Where the archives are; GroupLens, or a mirror with the same files.
    progress
        Called with the bytes that are there and the bytes in all (None if the server does not say).

    Raises
    ------
    DownloadError
        Without a network, or if the archive is not what was published; says what to do by hand.
    """
    if name not in OFFICIAL:
        raise unknown_name("name", name, OFFICIAL)
    target = Path(folder) / f"{name}.zip"
    if target.exists():
        return _existing(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    source = f"{url.rstrip('/')}/{name}.zip"
    part = target.with_name(f"{target.name}.part")
    try:
        _fetch(source, part, progress or (lambda done, total: None))
        checksum = _published_checksum(f"{source}.md5")
    except (OSError, HTTPException, ValueError) as error:
        raise _by_hand(source, target, error) from error
    _check(part, checksum, source)
    return part.replace(target)


def _existing(target: Path) -> Path:
    if not zipfile.is_zipfile(target):
        raise InputError(f"{target}: is there and is not a zip file. Hint: move it away, then get it again.")
    return target


def _fetch(source: str, part: Path, progress: Progress) -> None:
    """Write the source to ``part``, from the end of what is there already if the server can."""
    start = part.stat().st_size if part.exists() else 0
    with closing(_open(source, start)) as response:
        start = start if response.status == 206 else 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        with part.open("ab" if start else "wb") as file:
            done = start
            progress(done, total)
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                done += len(chunk)
                progress(done, total)
    if total is not None and done < total:
        raise OSError(f"the connection ended after {done:,} of {total:,} bytes")


def _open(source: str, start: int) -> HTTPResponse:
    headers = {"User-Agent": "excalibr", **({"Range": f"bytes={start}-"} if start else {})}
    try:
        response: HTTPResponse = urllib.request.urlopen(
            urllib.request.Request(source, headers=headers), timeout=_TIMEOUT
        )
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416 or not start:
            raise
        return _open(source, 0)  # there is nothing after what we have: too long, or complete; begin again
    return response


def _published_checksum(source: str) -> str | None:
    """The MD5 that GroupLens publishes beside an archive; None where it publishes none."""
    try:
        with closing(_open(source, 0)) as response:
            text = response.read(4096).decode("ascii", "replace")
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise
    found = re.search(r"\b[0-9a-fA-F]{32}\b", text)
    if not found:
        raise OSError(f"{source} holds no MD5 checksum")
    return found[0].lower()


def _check(part: Path, checksum: str | None, source: str) -> None:
    """Throw away what is not the published archive; without a checksum, what does not unpack."""
    problem = None
    if checksum is not None:
        with part.open("rb") as file:
            found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        problem = f"has the MD5 checksum {found}, must have {checksum}" if found != checksum else None
    elif not _unpacks(part):
        problem = "is not a whole zip file, must be one"
    if problem:
        part.unlink()
        raise DownloadError(f"{source}: {problem}. Hint: it was thrown away; get it again.")


def _unpacks(part: Path) -> bool:
    try:
        with zipfile.ZipFile(part) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return False


def _by_hand(source: str, target: Path, error: Exception) -> DownloadError:
    reason = str(getattr(error, "reason", None) or error or type(error).__name__)
    return DownloadError(
        f"{source}: could not be downloaded ({reason}). Hint: try again, and it goes on where it stopped; or, by hand, "
        f"get that file with a browser on a machine with a network, and copy it to {target}: "
        "the zip is read as it is."
    )
