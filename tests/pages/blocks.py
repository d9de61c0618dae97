"""A page as its code blocks, each with what the page says of it."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDERS = (".", "benchmarks", "docs", "docs/site", "src/kernel", "tests")
PAGES = sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))

BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>not run|needs): (?P<said>.+?) -->\n)?"
    r"^ *```(?P<language>python|console|toml|json)\n(?P<code>.*?)^ *```$"
    r"(?:\n\n```text\n(?P<shown>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
SHELL = re.compile(r"^ *```(?:bash|sh|shell|pycon)$", re.MULTILINE)


class Block(NamedTuple):
    """Code in a language, the output that is shown below it, and why it is not run, or which package it needs."""

    language: str
    code: str
    shown: str | None
    not_run: str | None
    needs: str | None


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_of(page: str) -> list[Block]:
    return [_block(match) for match in BLOCK.finditer(text_of(page))]


def _block(match: re.Match[str]) -> Block:
    said = {"not run": None, "needs": None} | {match["mark"]: match["said"]}
    return Block(match["language"], dedent(match["code"]), match["shown"], said["not run"], said["needs"])
