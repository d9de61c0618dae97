import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from excalibr.datasets import OFFICIAL, download_movielens, load_movielens
from excalibr.datasets import _download as download
from excalibr.errors import DownloadError, InputError
from tests.datasets.server import Served, serving
from tests.datasets.sets import csv_files, write_zip


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    return write_zip(tmp_path / "source.zip", "ml-20m", csv_files()).read_bytes()


@pytest.fixture
def server(archive: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A mirror over http whose archive has the known checksum."""
    monkeypatch.setitem(download.CHECKSUMS, "ml-20m", hashlib.sha256(archive).hexdigest())
    checksum = hashlib.md5(archive).hexdigest()
    with serving({"/ml-20m.zip": archive, "/ml-20m.zip.md5": f"MD5 (ml-20m.zip) = {checksum}\n".encode()}) as served:
        yield served


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the server on this machine were reached over https."""
    monkeypatch.setattr(download, "_is_secure", lambda url: True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_archive_is_downloaded_and_can_be_read(tmp_path: Path, server: Served) -> None:
    path = download_movielens("ml-20m", tmp_path / "new" / "folder", url=server.url)
    assert path == tmp_path / "new" / "folder" / "ml-20m.zip"
    assert len(load_movielens(path, complete=False).ratings) == 4
    assert names(path.parent) == ["ml-20m.zip"]


def test_progress_ends_with_all_the_bytes(tmp_path: Path, server: Served, archive: bytes) -> None:
    seen: list[tuple[int, int | None]] = []
    download_movielens(
        "ml-20m", tmp_path / "to", url=server.url, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[0] == (0, len(archive))
    assert seen[-1] == (len(archive), len(archive))


def test_a_download_that_stopped_goes_on_where_it_was(tmp_path: Path, server: Served, archive: bytes) -> None:
    server.cut_after = 100
    with pytest.raises(DownloadError, match="Hint: try again, and it goes on where it stopped; or, by hand"):
        download_movielens("ml-20m", tmp_path / "to", url=server.url)
    assert names(tmp_path / "to") == ["ml-20m.zip.part"]
    server.cut_after = None
    path = download_movielens("ml-20m", tmp_path / "to", url=server.url)
    assert path.read_bytes() == archive
    assert ("/ml-20m.zip", "bytes=100-") in server.asked
    assert names(tmp_path / "to") == ["ml-20m.zip"]


def test_a_server_that_cannot_resume_is_asked_for_all_of_it(tmp_path: Path, server: Served, archive: bytes) -> None:
    (tmp_path / "ml-20m.zip.part").write_bytes(archive[:50])
    server.resumes = False
    assert download_movielens("ml-20m", tmp_path, url=server.url).read_bytes() == archive


@pytest.mark.parametrize("extra", [b"", b"more"])
def test_a_part_that_is_already_whole_or_too_long_is_fetched_again(
    tmp_path: Path, server: Served, archive: bytes, extra: bytes
) -> None:
    (tmp_path / "ml-20m.zip.part").write_bytes(archive + extra)
    assert download_movielens("ml-20m", tmp_path, url=server.url).read_bytes() == archive


def test_an_archive_with_another_checksum_is_thrown_away(tmp_path: Path, server: Served, archive: bytes) -> None:
    (tmp_path / "ml-20m.zip.part").write_bytes(b"?" + archive[1:50])
    with pytest.raises(DownloadError, match="has the checksum .*, must have .*Hint: it was thrown away; get it again"):
        download_movielens("ml-20m", tmp_path, url=server.url)
    assert "ml-20m.zip" not in names(tmp_path)
    assert "ml-20m.zip.part" not in names(tmp_path)


def test_every_official_archive_has_a_known_checksum() -> None:
    assert download.CHECKSUMS.keys() == OFFICIAL.keys()
    assert {len(checksum) for checksum in download.CHECKSUMS.values()} == {64}


def test_a_mirror_with_another_archive_is_refused_whatever_checksum_it_publishes(
    tmp_path: Path, server: Served
) -> None:
    other = write_zip(tmp_path / "other.zip", "ml-20m", {"ratings.csv": b"mine"}).read_bytes()
    server.files |= {"/ml-20m.zip": other, "/ml-20m.zip.md5": hashlib.md5(other).hexdigest().encode()}
    with pytest.raises(DownloadError, match=f"must have {download.CHECKSUMS['ml-20m']}"):
        download_movielens("ml-20m", tmp_path / "to", url=server.url)
    assert names(tmp_path / "to") == []


@pytest.mark.parametrize("kind", ["sha256", "md5"])
def test_a_checksum_of_ones_own_is_the_one_that_counts(
    tmp_path: Path, server: Served, archive: bytes, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setitem(download.CHECKSUMS, "ml-20m", "0" * 64)
    digest = hashlib.new(kind, archive).hexdigest()
    given: dict[str, Any] = {"url": server.url, "checksum": f"{kind}:{digest.upper()}"}
    assert download_movielens("ml-20m", tmp_path / "good", **given).read_bytes() == archive
    with pytest.raises(DownloadError, match="has the checksum"):
        download_movielens("ml-20m", tmp_path / "bad", url=server.url, checksum=digest[::-1])
    with pytest.raises(InputError, match="checksum: is 'abc', must be a SHA-256 or MD5 in hexadecimal"):
        download_movielens("ml-20m", tmp_path / "bad", url=server.url, checksum="abc")


def test_without_a_known_checksum_it_must_be_accepted_and_come_over_https(
    tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(download.CHECKSUMS, "ml-20m")
    with pytest.raises(InputError, match=r"checksum: of ml-20m is not known, must be given. Hint: pass checksum=…"):
        download_movielens("ml-20m", tmp_path, url=server.url)
    with pytest.raises(InputError, match="url: is 'http://.*, must begin with https:// where no checksum is known"):
        download_movielens("ml-20m", tmp_path, url=server.url, accept_unverified=True)
    assert server.asked == []


def test_a_server_that_leads_away_from_https_is_refused(
    tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure = iter([True, False])  # what was asked, and where it led
    monkeypatch.setattr(download, "_is_secure", lambda url: next(secure))
    with pytest.raises(DownloadError, match="which is not https, and no checksum is known"):
        download_movielens("ml-20m", tmp_path, url=server.url, accept_unverified=True)
    assert names(tmp_path) == ["source.zip"]


@pytest.mark.usefixtures("trusted")
def test_an_archive_that_is_accepted_must_have_the_published_checksum(tmp_path: Path, server: Served) -> None:
    server.files["/ml-20m.zip.md5"] = b"0" * 32
    with pytest.raises(DownloadError, match="has the checksum .*, must have 0"):
        download_movielens("ml-20m", tmp_path, url=server.url, accept_unverified=True)


@pytest.mark.usefixtures("trusted")
def test_an_archive_without_a_published_checksum_must_unpack(tmp_path: Path, server: Served, archive: bytes) -> None:
    del server.files["/ml-20m.zip.md5"]
    asked: dict[str, Any] = {"url": server.url, "accept_unverified": True}
    assert download_movielens("ml-20m", tmp_path / "good", **asked).read_bytes() == archive
    middle = archive.index(b"ratings.csv") + len(b"ratings.csv") + 5  # within the first file's bytes
    for broken in (archive[:-30], archive[:middle] + bytes([archive[middle] ^ 255]) + archive[middle + 1 :]):
        server.files["/ml-20m.zip"] = broken
        with pytest.raises(DownloadError, match="is not a whole zip file"):
            download_movielens("ml-20m", tmp_path / "bad", **asked)


@pytest.mark.usefixtures("trusted")
def test_a_checksum_file_without_a_checksum_is_an_error(tmp_path: Path, server: Served) -> None:
    server.files["/ml-20m.zip.md5"] = b"<html>"
    with pytest.raises(DownloadError, match="holds no MD5 checksum"):
        download_movielens("ml-20m", tmp_path, url=server.url, accept_unverified=True)


def test_nothing_is_written_through_a_link(tmp_path: Path, server: Served) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "ml-20m.zip.part").symlink_to("victim")
    with pytest.raises(DownloadError, match="is a link, and nothing is written through links"):
        download_movielens("ml-20m", tmp_path, url=server.url)
    assert (tmp_path / "victim").read_text() == "precious"


def test_what_is_there_must_have_the_checksum_too(tmp_path: Path, server: Served) -> None:
    path = write_zip(tmp_path / "ml-20m.zip", "ml-20m", {"ratings.csv": b"mine"})
    with pytest.raises(InputError, match="is there and has the checksum .*, must have .* Hint: move it away"):
        download_movielens("ml-20m", tmp_path, url=server.url)
    assert download_movielens("ml-20m", tmp_path, url=server.url, accept_unverified=True) == path


def test_what_is_there_is_not_fetched_again(tmp_path: Path, server: Served) -> None:
    path = download_movielens("ml-20m", tmp_path, url=server.url)
    asked = len(server.asked)
    assert download_movielens("ml-20m", tmp_path, url=server.url) == path
    assert len(server.asked) == asked
    path.write_bytes(b"no zip")
    with pytest.raises(InputError, match="is there and is not a zip file, must be one. Hint: move it away"):
        download_movielens("ml-20m", tmp_path, url=server.url)


def test_without_a_network_it_says_what_to_do_by_hand(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and nobody listens there, nor can
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(DownloadError) as caught:
            download_movielens("ml-1m", tmp_path, url=url)
    for words in (f"{url}/ml-1m.zip: could not be downloaded", "by hand", str(tmp_path / "ml-1m.zip")):
        assert words in str(caught.value)


def test_an_archive_that_the_server_lacks_is_an_error(tmp_path: Path, server: Served) -> None:
    with pytest.raises(DownloadError, match=r"ml-1m.zip: could not be downloaded \(Not Found\)"):
        download_movielens("ml-1m", tmp_path, url=server.url)


def test_a_name_that_is_no_text_is_an_error_of_ours(tmp_path: Path) -> None:
    """Once a list was a TypeError of Python's: unhashable type."""
    with pytest.raises(InputError, match=r"name: is \['ml-1m'\], must be one of 'ml-1m'"):
        download_movielens(["ml-1m"], tmp_path)  # type: ignore[arg-type]


def test_an_unknown_name_is_told_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name: is 'ml20m', must be one of 'ml-1m'.*did you mean 'ml-20m'"):
        download_movielens("ml20m", tmp_path)
