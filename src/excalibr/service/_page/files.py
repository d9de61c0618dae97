"""The page's own files, from a fixed list, and the headers that go with them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from excalibr.service._reply import Reply

POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Nothing from anywhere else, nothing inline."""

SECURITY_HEADERS = {
    "Content_Security_Policy": POLICY,
    "X_Content_Type_Options": "nosniff",
    "Referrer_Policy": "no-referrer",
    "Cache_Control": "no-store",
}
"""What every answer of the page carries."""

STYLE = "style.css"

MODULES = (
    *("numbers.js", "dom.js", "categories.js", "summary.js", "store.js", "api.js", "figures.js", "sweep.js"),
    *("aim.js", "frontier.js", "bars.js", "histogram.js", "everybody.js"),
    *("reasons.js", "slates.js", "lottery.js", "visits.js", "person.js"),
    *("choices.js", "settings.js", "main.js"),
)
"""In an order in which each imports only from those before it."""

KINDS = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}


@cache
def read_file(name: str) -> bytes:
    """One of the page's files."""
    return (files("excalibr.service") / "page" / name).read_bytes()


def file_reply(path: str) -> Reply | None:
    """The file at a path; None where the page has none."""
    name = {"/": "index.html", "/favicon.ico": "favicon.svg"}.get(path, path.removeprefix("/page/"))
    if name not in ("index.html", "favicon.svg", STYLE, *MODULES) or (path != "/" and name == "index.html"):
        return None
    kind = KINDS.get(name.rpartition(".")[2], "text/javascript; charset=utf-8")
    return Reply(200, read_file(name), kind, **SECURITY_HEADERS)
