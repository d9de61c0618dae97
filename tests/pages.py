"""The examples of a page: each Python block with the output that is shown below it.

``python -m tests.pages docs/beyond.md`` writes what the examples print, and the table of combinations, into the page.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import NamedTuple

from tests.combinations import table

BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
TABLE = re.compile(r"^\| \| attributes \|.*?\n(?!\|)|^TABLE\n", re.DOTALL | re.MULTILINE)


class Example(NamedTuple):
    """A block, what the page says that it prints (None where it says nothing), and what it prints."""

    code: str
    shown: str | None
    printed: str


def examples(text: str) -> list[Example]:
    """The blocks of a page, run one after the other."""
    names: dict[str, object] = {}
    found = []
    for block in BLOCK.finditer(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block[1], names)
        found.append(Example(block[1], block[2], printed.getvalue()))
    return found


def _written(text: str) -> str:
    """The page with what its examples print."""
    printed = iter(examples(text))

    def block(match: re.Match[str]) -> str:
        example = next(printed)
        below = f"\n\n```text\n{example.printed}```" if match[2] is not None else ""
        return f"```python\n{match[1]}```{below}"

    return TABLE.sub(lambda _: table() + "\n", BLOCK.sub(block, text))


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(_written(page.read_text(encoding="utf-8")), encoding="utf-8")
