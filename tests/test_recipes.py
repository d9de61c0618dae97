from __future__ import annotations

import contextlib
import io
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.pages import BLOCK

PAGE = (Path(__file__).parent.parent / "docs" / "recipes.md").read_text(encoding="utf-8")
NEEDS = re.compile(r"# needs: (\w+)")
BLOCKS = [(match[1], match[2]) for match in BLOCK.finditer(PAGE)]
SHARED = [each for each in BLOCKS if not NEEDS.search(each[0])]
RECIPES = {found[1]: each for each in BLOCKS if (found := NEEDS.search(each[0]))}


def run(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def shared() -> dict[str, object]:
    names: dict[str, object] = {}
    for code, shown in SHARED:
        assert run(code, names) == (shown or "")
    return names


@pytest.mark.parametrize("package", sorted(RECIPES))
@pytest.mark.filterwarnings("ignore")  # of packages that are not ours
def test_a_recipe_runs_and_gives_every_user_a_slate(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    pytest.importorskip("scipy")
    names, (code, shown) = shared(), RECIPES[package]
    printed = run(code, names)
    assert shown in (None, printed)
    slates = names["slates"]
    assert len(slates) == 30  # type: ignore[arg-type]
    assert list(getattr(slates, "column_names", None) or slates.columns) == ["user_id", "rank", "item_id", "score"]  # type: ignore[attr-defined]


def test_recipes_without_a_package_of_their_own_print_what_the_page_shows() -> None:
    pytest.importorskip("scipy")
    assert "candidates" in shared()
