"""No output is an input, no folder or link of somebody else's is touched."""

import os
import shutil
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from excalibr import Reranker
from excalibr._cli.rerank.parts import Run
from excalibr.errors import InputError
from excalibr.tables import _sources
from tests.cli.reranking import arguments, before_call, expected, last_line, names, run, write
from tests.tables.invented import Invented

pytestmark = pytest.mark.usefixtures("small_chunks")


def refused(given: list[str]) -> str:
    result = run(given)
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


@pytest.fixture
def contents(tmp_path: Path, tables: Invented) -> dict[str, bytes]:
    """The inputs' bytes, which no test may change."""
    write(tmp_path, tables)
    return {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def unchanged(folder: Path, contents: dict[str, bytes]) -> bool:
    return all((folder / name).read_bytes() == content for name, content in contents.items())


@pytest.mark.parametrize("name", ["candidates", "items", "history"])
@pytest.mark.parametrize("way", ["plain", "dots", "link", "folder link", "hard link"])
def test_an_output_over_an_input_is_refused_by_any_path(
    tmp_path: Path, contents: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, name: str, way: str
) -> None:
    monkeypatch.setattr(_sources, "read_schema", lambda path: pytest.fail("read before it was refused"))
    source = tmp_path / f"{name}.parquet"
    out = {
        "plain": source,
        "dots": tmp_path / "." / "x" / ".." / source.name,
        "link": tmp_path / "link.parquet",
        "folder link": tmp_path / "elsewhere" / source.name,
        "hard link": tmp_path / "hard.parquet",
    }[way]
    (tmp_path / "x").mkdir()
    (tmp_path / "link.parquet").symlink_to(source)
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    os.link(source, tmp_path / "hard.parquet")
    before = names(tmp_path)
    message = refused(arguments(tmp_path, out=str(out)))
    assert message.startswith(f"--out: {out} is the same file as {name}")
    assert message.endswith("must be another file. Hint: an input is never written over.")
    assert names(tmp_path) == before
    assert unchanged(tmp_path, contents)


@pytest.mark.parametrize("option", ["--out", "--lotteries"])
def test_a_column_that_the_format_cannot_hold_is_told_before_any_work(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    write(tmp_path, tables)
    tagged = tables.candidates.append_column("tags", pa.array([["a", "b"]] * len(tables.candidates)))
    pq.write_table(tagged, tmp_path / "tagged.parquet")
    monkeypatch.setattr(Reranker, "solve", lambda *given, **options: pytest.fail("solved before it was refused"))
    message = refused([*arguments(tmp_path, "tagged.parquet"), option, str(tmp_path / "more.csv")])
    assert message.startswith(f"{option}: is 'more.csv', which cannot hold the column 'tags' of the type list<")
    assert message.endswith("name a .parquet or .arrow file, or leave the column out of the candidates.")
    monkeypatch.undo()
    assert run([*arguments(tmp_path, "tagged.parquet"), "--report", str(tmp_path / "more.csv")]).exit_code == 0


def test_an_input_behind_a_link_is_not_written_over(tmp_path: Path, contents: dict[str, bytes]) -> None:
    (tmp_path / "today.parquet").symlink_to("candidates.parquet")
    given = arguments(tmp_path, candidates="today.parquet", out="candidates.parquet")
    assert "--out: " in refused(given)
    assert unchanged(tmp_path, contents)


@pytest.mark.parametrize("option", ["--report", "--lotteries"])
def test_no_other_output_is_an_input_either(tmp_path: Path, contents: dict[str, bytes], option: str) -> None:
    message = refused([*arguments(tmp_path), option, str(tmp_path / "items.parquet")])
    assert message.startswith(f"{option}: {tmp_path / 'items.parquet'} is the same file as items, must be another file")
    assert unchanged(tmp_path, contents)


@pytest.mark.parametrize("option", ["--targets", "--users", "--prior", "--pinned", "--shown"])
def test_no_further_table_is_written_over(tmp_path: Path, contents: dict[str, bytes], option: str) -> None:
    table = tmp_path / "more.csv"
    table.write_text("user_id\n1\n")
    message = refused([*arguments(tmp_path, out="more.csv"), option, str(table)])
    assert message.startswith(f"--out: {table} is the same file as {option[2:]}")
    assert table.read_text() == "user_id\n1\n"


@pytest.mark.parametrize("way", ["plain", "dots", "link", "hard link"])
def test_two_outputs_are_not_one_file(tmp_path: Path, contents: dict[str, bytes], way: str) -> None:
    (tmp_path / "slates.parquet").write_bytes(b"of before")
    (tmp_path / "link.parquet").symlink_to("slates.parquet")
    os.link(tmp_path / "slates.parquet", tmp_path / "hard.parquet")
    name = {"plain": "slates", "dots": "./slates", "link": "link", "hard link": "hard"}[way]
    message = refused([*arguments(tmp_path), "--report", f"{tmp_path}/{name}.parquet"])
    assert message.endswith("is the same file as --out, must differ from --out.")
    assert (tmp_path / "slates.parquet").read_bytes() == b"of before"


def test_an_output_in_a_folder_that_is_read_is_refused(tmp_path: Path, tables: Invented) -> None:
    write(tmp_path, tables)
    (tmp_path / "many").mkdir()
    shutil.copy(tmp_path / "candidates.parquet", tmp_path / "many" / "1.parquet")
    (tmp_path / "link").symlink_to("many")
    for out in ("many/slates.parquet", "link/deep/slates.parquet"):
        message = refused(arguments(tmp_path, "many", out))
        assert message == (
            f"--out: {tmp_path / out} is in {tmp_path / 'many'}, all of which is read as candidates, "
            "must be in another folder."
        )
    os.link(tmp_path / "many" / "1.parquet", tmp_path / "same.parquet")
    assert "is the same file as candidates" in refused(arguments(tmp_path, "many", "same.parquet"))


def test_an_input_in_the_folder_of_parts_is_refused(tmp_path: Path, tables: Invented) -> None:
    write(tmp_path, tables)
    parts = tmp_path / "slates.parquet.parts"
    parts.mkdir()
    shutil.move(tmp_path / "candidates.parquet", parts / "candidates.parquet")
    for candidates in ("slates.parquet.parts", "slates.parquet.parts/candidates.parquet"):
        message = refused(arguments(tmp_path, candidates))
        assert message.startswith("candidates: ")
        assert "which the run removes, must be elsewhere" in message
    assert names(parts) == ["candidates.parquet"]
    report = ["--report", str(parts / "report.parquet")]
    assert "which the run removes, must be elsewhere" in refused([*arguments(tmp_path), *report])


def test_a_folder_is_no_output(tmp_path: Path, tables: Invented) -> None:
    write(tmp_path, tables)
    (tmp_path / "old.parquet").mkdir()
    message = refused(arguments(tmp_path, out="old.parquet"))
    assert message == f"--out: {tmp_path / 'old.parquet'} is a folder, must be a file."


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_a_folder_of_ones_own_is_never_removed(tmp_path: Path, tables: Invented, resume: list[str]) -> None:
    given = [*write(tmp_path, tables), *resume]
    parts = tmp_path / "slates.parquet.parts"
    parts.mkdir()
    (parts / "thesis.txt").write_text("four years of work")
    message = refused(given)
    assert message == (
        f"{parts}: has no run.json, must be a folder that excalibr rerank made, or not be there. "
        "Hint: move it away, or name another output."
    )
    (parts / "run.json").write_text('{"distance": 12}')
    assert "has another's run.json" in refused(given)
    (parts / "run.json").write_text("run, run, run")
    assert "has another's run.json" in refused(given)
    assert (parts / "thesis.txt").read_text() == "four years of work"
    assert not (tmp_path / "slates.parquet.lock").exists()


def test_what_somebody_names_as_parts_are_named_stays_when_a_run_goes_on(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write(tmp_path, tables)
    with monkeypatch.context() as stopped:
        before_call(stopped, Run, "keep", 2, lambda: signal.raise_signal(signal.SIGTERM))
        assert run(given).exit_code == 143
    ours = tmp_path / "slates.parquet.parts"
    for name in ("part-notes.txt", "part-000099.txt"):
        (ours / name).write_text("keep")
    assert run([*given, "--resume"]).exit_code == 0
    assert names(ours) == ["part-000099.txt", "part-notes.txt", "run.json"]


def test_an_output_that_is_a_link_to_itself_is_told_in_a_line(tmp_path: Path, tables: Invented) -> None:
    given = write(tmp_path, tables)
    (tmp_path / "slates.parquet").symlink_to("slates.parquet")
    result = run(given)
    assert result.exit_code == 3
    assert last_line(result).startswith("excalibr: [Errno ")


def test_what_somebody_puts_into_our_folder_stays(tmp_path: Path, tables: Invented) -> None:
    given = write(tmp_path, tables)
    parts = tmp_path / "slates.parquet.parts"
    parts.mkdir()
    (parts / "run.json").write_text('{"made_by": "excalibr rerank", "stamp": "another"}')
    (parts / "part-000000.slates.arrow").write_bytes(b"of a run before")
    (parts / "notes.txt").write_text("keep")
    assert run(given).exit_code == 0
    assert names(parts) == ["notes.txt", "run.json"]
    assert run(given).exit_code == 0
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


def test_a_wrong_option_leaves_no_folder_where_nothing_was_done(tmp_path: Path, tables: Invented) -> None:
    given = write(tmp_path, tables)
    before = names(tmp_path)
    assert "--floors: is 'dramma', must be one of" in refused([*given, "--floors", "dramma=0.1"])
    assert names(tmp_path) == before


def test_an_input_that_changes_later_leaves_the_parts_that_are_done(
    tmp_path: Path, tables: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write(tmp_path, tables)
    before_call(monkeypatch, Run, "keep", 2, lambda: os.utime(tmp_path / "items.parquet", ns=(1, 1)))
    assert "changed during the run" in refused(given)
    assert "part-000000.json" in names(tmp_path / "slates.parquet.parts")


def test_an_empty_folder_is_of_a_run_that_was_killed_as_it_began(tmp_path: Path, tables: Invented) -> None:
    given = write(tmp_path, tables)
    parts = tmp_path / "slates.parquet.parts"
    parts.mkdir()
    (parts / ".run.0123456789ab.tmp.json").write_text("{")
    assert run(given).exit_code == 0
    assert not parts.exists()


def test_nothing_is_written_through_a_link(tmp_path: Path, tables: Invented) -> None:
    given = write(tmp_path, tables)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("slates.parquet.tmp", "slates.parquet"):
        (tmp_path / name).symlink_to(victim)
    assert run(given).exit_code == 0
    assert victim.read_text() == "precious"
    assert not (tmp_path / "slates.parquet").is_symlink()
    assert pq.read_table(tmp_path / "slates.parquet").equals(expected(tables))


def test_a_link_at_the_lock_or_the_parts_is_refused(tmp_path: Path, tables: Invented) -> None:
    given = write(tmp_path, tables)
    victim = tmp_path / "victim"
    victim.mkdir()
    (tmp_path / "slates.parquet.parts").symlink_to(victim)
    assert f"{tmp_path / 'slates.parquet.parts'}: is a link, must be a folder that excalibr" in refused(given)
    (tmp_path / "slates.parquet.parts").unlink()
    (victim / "file").write_text("precious")
    (tmp_path / "slates.parquet.lock").symlink_to(victim / "file")
    result = run(given)
    assert result.exit_code == 3
    assert "is a link, and nothing is written through links" in result.output
    assert (victim / "file").read_text() == "precious"


def test_what_a_killed_run_left_beside_the_outputs_is_removed(tmp_path: Path, tables: Invented) -> None:
    given = [*write(tmp_path, tables), "--report", str(tmp_path / "report.csv")]
    left = [".slates.0123456789ab.tmp.parquet", ".report.ba9876543210.tmp.csv"]
    others = [".other.0123456789ab.tmp.parquet", ".slates.tmp.parquet"]
    for name in (*left, *others):
        (tmp_path / name).write_text("half")
    assert run(given).exit_code == 0
    assert [name for name in names(tmp_path) if name.startswith(".")] == sorted(others)


def test_a_csv_is_written_like_any_other(tmp_path: Path, tables: Invented) -> None:
    write(tmp_path, tables)
    assert run(arguments(tmp_path, out="new/folder/slates.csv")).exit_code == 0
    assert pa.csv.read_csv(tmp_path / "new" / "folder" / "slates.csv").equals(expected(tables))
    assert names(tmp_path / "new" / "folder") == ["slates.csv"]
