"""What the page of a server explores: the tables of the first profile that names its candidates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from excalibr._options import read_options
from excalibr.errors import InputError
from excalibr.service._page.explored import PageSource
from excalibr.service._profiles import errors_of, read_toml, split_profile
from excalibr.tables import Reranker

EXACT = "excalibr"
"""The method that the page shows, which has prices to explain an item by."""


def source_of(profiles: Path | None) -> PageSource:
    """The source of a file of profiles; without one, the invented catalogue."""
    if profiles is None:
        return PageSource()
    with errors_of(str(profiles)):
        given: Any = read_toml(profiles).get("profiles", {})
    found = given if isinstance(given, Mapping) else {}
    name = next((each for each in found if isinstance(found[each], Mapping) and "candidates" in found[each]), None)
    if name is None:
        must = 'have a profile with candidates = "file"'
        raise InputError("page", f"{profiles} names no candidates", must, "the page shows their users.")
    method = found[name].get("method", EXACT)
    if method != EXACT:
        raise InputError("page", f"its profile has method = {method!r}", f"be of a profile with {EXACT!r}")
    with errors_of(f"{profiles}: [profiles.{name}]"):
        ranking, columns, tables = split_profile(found[name], profiles.parent)
        return PageSource(read_options(Reranker, ranking), columns, tables)
