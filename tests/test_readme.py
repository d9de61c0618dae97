import re
from pathlib import Path

import pytest

from tests.pages import examples

ROOT = Path(__file__).parent.parent
PAGES = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/beyond.md",
    "docs/explore.md",
    "docs/glossary.md",
    "docs/index.md",
    "docs/lenskit.md",
    "docs/questions.md",
    "docs/recipes.md",
    "docs/rectools.md",
    "docs/reference.md",
    "docs/serve.md",
    "docs/tables.md",
    "docs/visits.md",
    "docs/which-tool.md",
]


@pytest.mark.parametrize(
    "page", ["README.md", "docs/beyond.md", "docs/questions.md", "docs/visits.md", "docs/which-tool.md"]
)
def test_the_examples_print_what_the_page_shows(page: str) -> None:
    if page == "docs/beyond.md":
        pytest.importorskip("matplotlib").use("agg")
    found = examples((ROOT / page).read_text(encoding="utf-8"))
    assert any(example.shown is not None for example in found)
    for example in found:
        assert example.shown in (None, example.printed)


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_the_citation_is_of_this_version() -> None:
    version = re.search(r"__version__ = \"(.+)\"", (ROOT / "src/excalibr/__init__.py").read_text(encoding="utf-8"))
    assert version is not None
    assert f"version: {version[1]}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_changelog_opens_with_this_version() -> None:
    version = re.search(r"__version__ = \"(.+)\"", (ROOT / "src/excalibr/__init__.py").read_text(encoding="utf-8"))
    assert version is not None
    assert f"[{version[1]}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
