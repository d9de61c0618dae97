"""Links between pages and to their headings, what stands within their lists, and the version that they name."""

import re

import pytest

from tests.pages.blocks import PAGES, ROOT, text_of


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = text_of(page)
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_to_headings_lead_to_headings(page: str) -> None:
    links = re.findall(r"\]\((?!https?://)([^)#]*)#([^)]+)\)", text_of(page))
    targets = [(page if not path else (ROOT / page).parent.joinpath(path), anchor) for path, anchor in links]
    assert [anchor for path, anchor in targets if anchor not in anchors_of((ROOT / path).read_text("utf-8"))] == []


def anchors_of(text: str) -> set[str]:
    """The headings of a page as GitHub writes their anchors."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_blocks_and_tables_within_a_list_are_indented_as_the_site_needs_it(page: str) -> None:
    """By four: with less, the site ends the list, and numbers what follows from 1."""
    assert re.findall(r"^ {1,3}(?:```|\||<!--).*", text_of(page), re.MULTILINE) == []


def test_the_citation_is_of_this_version() -> None:
    version = re.search(r"__version__ = \"(.+)\"", (ROOT / "src/excalibr/__init__.py").read_text(encoding="utf-8"))
    assert version is not None
    assert f"version: {version[1]}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_changelog_opens_with_this_version() -> None:
    version = re.search(r"__version__ = \"(.+)\"", (ROOT / "src/excalibr/__init__.py").read_text(encoding="utf-8"))
    assert version is not None
    assert f"[{version[1]}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
