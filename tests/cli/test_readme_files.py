import re
import shlex
import sys
from pathlib import Path

import pytest

from excalibr._cli import main

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("### A CSV of your own")[2]


def files() -> dict[str, list[str]]:
    """The three files that stand side by side, by their columns in the text."""
    lines = SECTION.partition("```text\n")[2].partition("```")[0].splitlines()
    starts = [match.start() for match in re.finditer("# ", lines[0])]
    ends = [*starts[1:], None]
    columns = [[line[start:end].strip() for line in lines] for start, end in zip(starts, ends, strict=True)]
    return {own[0].removeprefix("# "): [line for line in own[1:] if line] for own in columns}


def test_the_files_of_the_readme_are_reranked_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    for name, lines in files().items():
        Path(name).write_text("\n".join(lines) + "\n")
    console = SECTION.partition("```console\n$ ")[2].partition("```")[0]
    command, _, said = console.replace("\\\n", " ").partition("\n")
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 0
    assert capsys.readouterr().err == said
    assert len(Path("slates.csv").read_text().splitlines()) == 5
