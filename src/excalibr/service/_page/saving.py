"""The page as one file that works without a server: its scripts and styles within it, and the answers it would get.

The modules are put one after another with their imports and exports taken off, so no two may declare the same name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from excalibr._writing import atomic_write
from excalibr.errors import ExcalibrError
from excalibr.service._page.about import about, grids_of
from excalibr.service._page.choices import Aim, Choices, first_choices
from excalibr.service._page.explored import Explored
from excalibr.service._page.files import MODULES, STYLE, read_file
from excalibr.service._page.person import person_of
from excalibr.service._page.routes import Page
from excalibr.service._page.sample import figures_of
from excalibr.service._page.settings import settings_of

STORED_PEOPLE = 12
"""Users that a saved page can show: half of them the worst calibrated before, half as the sample has them."""

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

_encode = msgspec.json.Encoder().encode


def save_page(page: Page, path: Path) -> None:
    """Write the page at its first choices, in one step."""
    assert page.explored is not None
    html = saved_page(page, page.explored, *first_choices(page.explored))
    with atomic_write(path) as name:
        Path(name).write_bytes(html)


def saved_page(page: Page, explored: Explored, choices: Choices, aim: Aim) -> bytes:
    """The page with everything that it shows at these choices."""
    stored = _encode(_stored(page, explored, choices, aim)).replace(b"<", b"\\u003c")
    text = read_file("index.html").decode()
    text = re.sub(r'<link rel="(?:stylesheet|icon)"[^>]*>\s*', "", text)
    text = re.sub(r'<script type="module"[^>]*></script>\s*', "", text)
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<style>\n{read_file(STYLE).decode()}</style>\n"
    )
    end = (
        f'<script type="application/json" id="stored">{stored.decode()}</script>\n'
        f'<script type="module">\n{bundle()}</script>\n'
    )
    return text.replace("</head>", f"{head}</head>").replace("</body>", f"{end}</body>").encode()


def bundle() -> str:
    """All modules as one."""
    parts = []
    for name in MODULES:
        text = read_file(name).decode()
        text = re.sub(r"^import [^;]*;\n", "", text, flags=re.MULTILINE)
        parts.append(re.sub(r"^export ", "", text, flags=re.MULTILINE))
    return "\n".join(parts).replace("</script", "<\\/script")


def _stored(page: Page, explored: Explored, choices: Choices, aim: Aim) -> dict[str, Any]:
    """The answers that the page would get, point by point of the curve: the sample's, some users', the settings."""
    first = about(explored)
    grid = sorted({*grids_of(explored, aim)[aim.kind], aim.value}, reverse=aim.kind == "max_deviation")
    prepared, users = page.prepared(explored, choices), len(explored.sample)
    aims = [Aim(aim.kind, value) for value in grid]
    figures = [figures_of(prepared, each, 0, users) for each in aims]
    worst = sorted(range(users), key=lambda user: -_number(figures[0].columns["deviation_before"][user]))
    chosen = dict.fromkeys([*worst[: STORED_PEOPLE // 2], *range(users)])
    people = [int(explored.sample[user]) for user in list(chosen)[:STORED_PEOPLE]]
    return {
        "about": msgspec.structs.replace(first, choices=choices, aim=aim, grids={aim.kind: grid}),
        "figures": figures,
        "people": {str(user): [_person(explored, choices, each, user) for each in aims] for user in people},
        "labels": {str(user): str(explored.keys[user]) for user in people},
        "settings": [settings_of(explored, choices, each) for each in aims],
    }


def _person(explored: Explored, choices: Choices, aim: Aim, user: int) -> Any:
    try:
        return person_of(explored, choices, aim, user)
    except ExcalibrError as error:
        return {"error": {"message": explored.named(str(error))}}


def _number(value: float) -> float:
    return value if value == value else -1.0
