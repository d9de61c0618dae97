"""The application: its options, and the list of its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from excalibr import __version__
from excalibr._cli.balance import balance
from excalibr._cli.data import data
from excalibr._cli.demo import demo
from excalibr._cli.experiment import experiment
from excalibr._cli.rerank import rerank
from excalibr._cli.serve import serve
from excalibr._cli.warmup import warmup
from excalibr._cli.wording import in_own_words

__all__ = ["application"]

# An error of ours goes up to `main`, which prints it; typer's own pretty tracebacks would hide it.
application = typer.Typer(name="excalibr", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"excalibr {__version__}")
        raise typer.Exit


@application.callback(epilog="Example: excalibr demo --user Bruno")
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Calibrated re-ranking, exactly."""


application.command(epilog="Example: excalibr demo --user Bruno -k 20 --trade-off 0.1 --out bruno.png")(
    in_own_words(demo)
)
application.command(
    epilog="Example: excalibr rerank candidates.parquet --items items.parquet --history history.parquet "
    "-k 10 --trade-off 0.5 -o slates.parquet"
)(in_own_words(rerank))
application.command(epilog="Example: excalibr serve profiles.toml --port 8000 --threads 4")(in_own_words(serve))
application.command(
    epilog="Example: excalibr balance candidates.parquet --items items.parquet --history history.parquet "
    "--everyone seller=targets.csv -k 10 -o prices.parquet"
)(in_own_words(balance))
application.command(hidden=True)(warmup)
application.command(epilog="Example: excalibr experiment --data ml-1m.zip --out results --threads 2")(
    in_own_words(experiment)
)
application.add_typer(data, name="data", epilog="Example: excalibr data get ml-1m")
