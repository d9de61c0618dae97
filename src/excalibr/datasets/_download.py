"""Get an official MovieLens archive: checked against the checksum known here, resumed, put in place in one step."""

from __future__ import annotations

import hashlib
import os
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

from excalibr._messages import Message, Option
from excalibr._options import one_of
from excalibr._writing import open_without_links
from excalibr.datasets._movielens import OFFICIAL
from excalibr.errors import DownloadError, InputError

GROUPLENS = "https://files.grouplens.org/datasets/movielens"

CHECKSUMS = {
    "ml-1m": "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    "ml-10m": "813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
    "ml-20m": "96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
    "ml-25m": "8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa",
    "ml-32m": "e4a68655d7386b8f95f2f2424b2ff975dfdd15ffd59e0d864a14dca43e99d6ee",
    "ml-latest-small": "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
}
"""SHA-256 of each official archive."""

Progress: TypeAlias = Callable[[int, int | None], None]

_CHUNK = 1 << 18
_TIMEOUT = 60.0  # seconds without a byte


def download_movielens(
    name: str,
    folder: str | Path = ".",
    *,
    url: str = GROUPLENS,
    checksum: str | None = None,
    accept_unverified: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Download an official archive into a folder, and return its path; what is there already is not fetched again.

    The bytes go to ``NAME.zip.part`` beside the target. If that is there, from a download that stopped, it goes on from
    its end. Only a complete archive with the right checksum gets the name ``NAME.zip``.

    Parameters
    ----------
    name
        One of :data:`excalibr.datasets.OFFICIAL`.
    folder
        Where to put it; created if it is missing.
    url
        Where the archives are; GroupLens, or a mirror with the same files.
    checksum
        The SHA-256 or MD5 that it must have, in hexadecimal; None is the one known for ``name``.
    accept_unverified
        Accept an archive whose checksum is not known, or that GroupLens has replaced: what the server itself says is
        checked instead, and the server must be reached over https.
    progress
        Called with the bytes that are there and the bytes in all (None if the server does not say).

    Raises
    ------
    DownloadError
        Without a network, or if the archive is not what it must be; says what to do by hand.
    """
    one_of(OFFICIAL)("name", name)
    target, source = Path(folder) / f"{name}.zip", f"{url.rstrip('/')}/{name}.zip"
    known = _known_checksum(name, checksum, accept_unverified)
    if target.exists():
        return _existing(target, known)
    if known is None and not _is_secure(source):
        must = "begin with https:// where no checksum is known"
        raise InputError("url", f"is {url!r}", must, Message("pass ", Option("checksum", ...), "."))
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    try:
        _fetch(source, part, progress or (lambda done, total: None), secure=known is None)
        checksum = known or _published_checksum(f"{source}.md5")
    except (OSError, HTTPException, ValueError) as error:
        reason = str(getattr(error, "reason", None) or error or type(error).__name__)
        raise DownloadError(
            f"{source}: could not be downloaded ({reason}). Hint: try again, and it goes on where it stopped; or, by "
            f"hand, get that file with a browser on a machine with a network, and copy it to {target}: "
            "the zip is read as it is."
        ) from error
    _check(part, checksum, source)
    return part.replace(target)


def _known_checksum(name: str, given: str | None, accept_unverified: bool) -> str | None:
    """The checksum to hold the archive against; None where anything is accepted."""
    if given is not None:
        plain = given.lower().removeprefix("sha256:").removeprefix("md5:")
        if not re.fullmatch("[0-9a-f]{32}|[0-9a-f]{64}", plain):
            raise InputError("checksum", f"is {given!r}", "be a SHA-256 or MD5 in hexadecimal")
        return plain
    if accept_unverified:
        return None
    if name not in CHECKSUMS:
        hint = Message("pass ", Option("checksum", ...), ", or ", Option("accept_unverified", True), ".")
        raise InputError("checksum", f"of {name} is not known", "be given", hint)
    return CHECKSUMS[name]


def _is_secure(source: str) -> bool:
    return source.lower().startswith("https://")


def _existing(target: Path, known: str | None) -> Path:
    if not zipfile.is_zipfile(target):
        raise InputError(str(target), "is there and is not a zip file", "be one", "move it away, then get it again.")
    found = known and _checksum_of(target, known)
    if found != known:
        hint = Message("move it away, then get it again; or pass ", Option("accept_unverified", True), " to take it.")
        raise InputError(str(target), f"is there and has the checksum {found}", f"have {known}", hint)
    return target


def _fetch(source: str, part: Path, progress: Progress, *, secure: bool) -> None:
    """Write the source to ``part``, from the end of what is there already if the server can."""
    start = part.stat().st_size if part.exists() else 0
    with closing(_open(source, start)) as response:
        if secure and not _is_secure(response.url):
            raise OSError(f"it leads to {response.url}, which is not https, and no checksum is known")
        start = start if response.status == 206 else 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if start else os.O_TRUNC)
        with os.fdopen(open_without_links(part, flags), "wb") as file:
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
    request = urllib.request.Request(source, headers=headers)
    try:
        response: HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT)
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
    """Throw away what is not the archive that was meant; without a checksum, what does not unpack."""
    problem = None
    if checksum is not None:
        found = _checksum_of(part, checksum)
        problem = f"has the checksum {found}, must have {checksum}" if found != checksum else None
    elif not _unpacks(part):
        problem = "is not a whole zip file, must be one"
    if problem:
        part.unlink()
        raise DownloadError(f"{source}: {problem}. Hint: it was thrown away; get it again.")


def _checksum_of(path: Path, like: str) -> str:
    """Of the kind that ``like`` is."""
    with path.open("rb") as file:
        if len(like) == 64:
            return hashlib.file_digest(file, "sha256").hexdigest()
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _unpacks(part: Path) -> bool:
    try:
        with zipfile.ZipFile(part) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return False
