import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from excalibr.datasets import download_movielens, load_movielens
from excalibr.errors import DownloadError, InputError
from tests.datasets.server import Served, serving
from tests.datasets.sets import csv_files, write_zip


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    return write_zip(tmp_path / "source.zip", "ml-20m", csv_files()).read_bytes()


@pytest.fixture
def server(archive: bytes) -> Iterator[Served]:
    checksum = hashlib.md5(archive).hexdigest()
    with serving({"/ml-20m.zip": archive, "/ml-20m.zip.md5": f"MD5 (ml-20m.zip) = {checksum}\n".encode()}) as served:
        yield served


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
    with pytest.raises(
        DownloadError, match="has the MD5 checksum .*, must have .*Hint: it was thrown away; get it again"
    ):
        download_movielens("ml-20m", tmp_path, url=server.url)
    assert "ml-20m.zip" not in names(tmp_path)
    assert "ml-20m.zip.part" not in names(tmp_path)


def test_an_archive_without_a_published_checksum_must_unpack(tmp_path: Path, server: Served, archive: bytes) -> None:
    del server.files["/ml-20m.zip.md5"]
    assert download_movielens("ml-20m", tmp_path / "good", url=server.url).read_bytes() == archive
    middle = archive.index(b"ratings.csv") + len(b"ratings.csv") + 5  # within the first file's bytes
    for broken in (archive[:-30], archive[:middle] + bytes([archive[middle] ^ 255]) + archive[middle + 1 :]):
        server.files["/ml-20m.zip"] = broken
        with pytest.raises(DownloadError, match="is not a whole zip file"):
            download_movielens("ml-20m", tmp_path / "bad", url=server.url)


def test_a_checksum_file_without_a_checksum_is_an_error(tmp_path: Path, server: Served) -> None:
    server.files["/ml-20m.zip.md5"] = b"<html>"
    with pytest.raises(DownloadError, match="holds no MD5 checksum"):
        download_movielens("ml-20m", tmp_path, url=server.url)


def test_what_is_there_is_not_fetched_again(tmp_path: Path, server: Served) -> None:
    path = download_movielens("ml-20m", tmp_path, url=server.url)
    asked = len(server.asked)
    assert download_movielens("ml-20m", tmp_path, url=server.url) == path
    assert len(server.asked) == asked
    path.write_bytes(b"no zip")
    with pytest.raises(InputError, match="is there and is not a zip file. Hint: move it away"):
        download_movielens("ml-20m", tmp_path, url=server.url)


def test_without_a_network_it_says_what_to_do_by_hand(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(DownloadError) as caught:
        download_movielens("ml-1m", tmp_path, url=url)
    for words in (f"{url}/ml-1m.zip: could not be downloaded", "by hand", str(tmp_path / "ml-1m.zip")):
        assert words in str(caught.value)


def test_an_archive_that_the_server_lacks_is_an_error(tmp_path: Path, server: Served) -> None:
    with pytest.raises(DownloadError, match=r"ml-1m.zip: could not be downloaded \(Not Found\)"):
        download_movielens("ml-1m", tmp_path, url=server.url)


def test_an_unknown_name_is_told_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name: is 'ml20m', must be one of 'ml-1m'.*did you mean 'ml-20m'"):
        download_movielens("ml20m", tmp_path)
