"""``excalibr explore``: the page on which to choose the trade-off by eye."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from excalibr._cli.options import WORDS, given_paths, read_words, with_options
from excalibr._options import read_options
from excalibr.errors import InputError, needs_extra
from excalibr.tables import Reranker, Tables
from excalibr.tables._files import files_of

PORTS = range(8000, 8100)

LEFT_OUT = (
    *("users", "pinned", "shown", "visit", "propensities", "method", "fallback", "max_sorts", "time_limit"),
    *("rank", "ranking", "probability", "propensity", "propensity_anywhere", "users_user_id"),
    *("pinned_user_id", "pinned_item_id", "pinned_rank"),
    *("shown_user_id", "shown_item_id", "shown_weight", "shown_rank"),
)
"""Options of tables and re-rankers that the page has its own of, or no use for."""


@with_options(Reranker, Tables, without=LEFT_OUT)
def explore(
    candidates: Annotated[
        Path | None, typer.Argument(help="Scored candidates (user_id, item_id, score); without, an invented catalogue.")
    ] = None,
    *,
    items: Annotated[Path | None, typer.Option(help="Items (item_id, category, optional weight and title).")] = None,
    truth: Annotated[
        Path | None, typer.Option(help="What users went on to like (user_id, item_id), for NDCG and recall.")
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Column of items to show; title or name where there is one.")
    ] = None,
    sample: Annotated[int, typer.Option(min=2, max=100_000, help="Users whose slates are averaged.")] = 500,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Port of this machine; without it, the first free one from 8000 on."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the page to one HTML file, and stop: nothing is served.")
    ] = None,
    **options: Any,
) -> None:
    """Choose the trade-off by eye, on a page of this machine.

    The page shows what calibration does to a sample of users and to each of them, for every trade-off, and gives the
    settings to take along. Options of how to rank are what it begins with. Ctrl-C ends it.
    """
    with needs_extra("serve"):
        from excalibr.service._limits import Limits
        from excalibr.service._page import Page, PageSource, save_page
        from excalibr.service._server import Server, is_free
        from excalibr.service._server import serve as run
    source = PageSource(*_read(candidates, items, truth, options), sample=sample, title=title)
    if save is not None:
        page = Page(source)
        page.load()
        save_page(page, save)
        typer.echo(f"The page is in {save}.", err=True)
        return
    ready = partial(_print_ready, browser=not no_browser)
    typer.echo("Reading the tables …", err=True)
    port = port or next((each for each in PORTS if is_free(Server.host, each)), PORTS[0])
    run(Server(port=port, log="off", limits=Limits(threads=2), preempt=True, page=source, words=WORDS, ready=ready))


def _read(
    candidates: Path | None, items: Path | None, truth: Path | None, options: dict[str, Any]
) -> tuple[Reranker, dict[str, Any], dict[str, Path]]:
    """How to rank, how columns are called, and the tables."""
    ranking, columns, others = read_words(options)
    tables = given_paths(candidates=candidates, items=items, truth=truth) | others
    for name, path in tables.items():
        files_of(name, path)  # refused before the page says that it reads them
    if tables and not {"candidates", "items"} <= tables.keys():
        missing = "candidates" if candidates is None else "items"
        raise InputError(missing, "are missing", "be given with the other tables")
    return read_options(Reranker, ranking), columns, tables


def _print_ready(address: str, *, browser: bool) -> None:
    typer.echo(f"The page is at {address} until you press Ctrl-C.", err=True)
    if browser:
        import webbrowser

        webbrowser.open(address)
