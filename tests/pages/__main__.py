"""``python -m tests.pages docs/beyond.md`` writes what the examples of a page print into it, and its combinations."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from tests.combinations import table
from tests.pages.blocks import BLOCK, ROOT, blocks_of, text_of
from tests.pages.given import given
from tests.pages.running import Session

TABLE = re.compile(r"^\| \| attributes \|.*?\n(?!\|)|^TABLE\n", re.DOTALL | re.MULTILINE)


def written(page: str) -> str:
    """The page with what its examples print."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder), given(page, Path(folder)))
        printed = [None if each.not_run or each.needs else session.run(each) for each in blocks_of(page)]
    text = text_of(page)
    for match, own in reversed(list(zip(BLOCK.finditer(text), printed, strict=True))):
        part = {"python": "shown", "console": "code"}.get(match["language"])
        if own is not None and part is not None and match[part] is not None:
            text = text[: match.start(part)] + own + text[match.end(part) :]
    return TABLE.sub(lambda _: table() + "\n", text)


if __name__ == "__main__":
    (ROOT / sys.argv[1]).write_text(written(sys.argv[1]), encoding="utf-8")
