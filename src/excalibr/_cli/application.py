"""The application: its options, and its commands, each imported when it is called."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from excalibr import __version__
from excalibr._cli.printing import print_error
from excalibr._cli.signals import UNREADABLE, text_of
from excalibr._cli.wording import in_command_words
from excalibr.errors import ExcalibrError

COMMANDS = {
    "demo": "excalibr demo --user Bruno -k 20 --trade-off 0.1 --out bruno.png",
    "rerank": "excalibr rerank candidates.parquet --items items.parquet --history history.parquet "
    "-k 10 --trade-off 0.5 -o slates.parquet",
    "explore": "excalibr explore candidates.parquet --items items.parquet --history history.parquet -k 10",
    "serve": "excalibr serve profiles.toml --port 8000 --threads 4",
    "balance": "excalibr balance candidates.parquet --items items.parquet --history history.parquet "
    "--everyone seller=targets.csv -k 10 -o prices.parquet",
    "warmup": "excalibr warmup",
    "experiment": "excalibr experiment --data ml-1m.zip --out results --threads 2",
    "compare": "excalibr compare results-before results-after -o compared.md",
    "data": "excalibr data get ml-1m",
}
"""The commands in the order of the help, each with an example."""

UsageError: Any = typer.BadParameter.__mro__[1]
"""Of click, or of the click inside typer."""


class Commands(TyperGroup):
    """The commands by name: whoever calls one does not wait for the modules of the others."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # names to list, and to suggest

    def make_context(self, *given: Any, **options: Any) -> Any:
        """Read the options before the command, for which typer imports a good deal."""
        with _interrupts_as_aborts():
            return super().make_context(*given, **options)

    def invoke(self, ctx: Any) -> Any:
        """Import the command and run it."""
        with _interrupts_as_aborts():
            return super().invoke(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        found, epilog = _import(cmd_name), f"Example: {COMMANDS[cmd_name]}"
        if isinstance(found, typer.Typer):
            found.info.epilog = epilog
        else:
            # A line for each paragraph of its help, for terminals of any width.
            paragraphs = [" ".join(each.split()) for each in inspect.cleandoc(found.__doc__).split("\n\n")]
            how: dict[str, Any] = {"epilog": epilog, "help": "\n\n".join(paragraphs), "hidden": cmd_name == "warmup"}
            command, found = found, typer.Typer(add_completion=False)
            found.command(cmd_name, **how)(in_command_words(command))
        made = typer.main.get_command(found)
        made.name = cmd_name
        return made


def _import(name: str) -> Any:
    """A command's function, or the group of its own commands; written out, so that the import contracts see it."""
    command: Any
    match name:
        case "demo":
            from excalibr._cli.demo import demo as command
        case "rerank":
            from excalibr._cli.rerank import rerank as command
        case "explore":
            from excalibr._cli.explore import explore as command
        case "serve":
            from excalibr._cli.serve import serve as command
        case "balance":
            from excalibr._cli.balance import balance as command
        case "warmup":
            from excalibr._cli.warmup import warmup as command
        case "experiment":
            from excalibr._cli.experiment import experiment as command
        case "compare":
            from excalibr._cli.compare import compare as command
        case "data":
            from excalibr._cli.data import data as command
    return command


# An error of ours goes up to `main`, which prints it; typer's own pretty tracebacks would hide it.
application = typer.Typer(name="excalibr", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


def run_application() -> None:
    """Run it, and exit: a wrong call, and a file that cannot be read or written, is a line, as every error is."""
    try:
        code = application(prog_name="excalibr", standalone_mode=False)
    except UsageError as error:
        code = error.exit_code
        if type(error).__name__ != "NoArgsIsHelpError":  # then the help is printed
            _print_usage(error)
    except typer.Abort:
        print_error("interrupted.")
        code = 130
    except OSError as error:
        if isinstance(error, ExcalibrError):
            raise
        print_error(text_of(error))
        code = UNREADABLE
    raise SystemExit(code if isinstance(code, int) else 0)


@contextmanager
def _interrupts_as_aborts() -> Iterator[None]:
    """Have an interrupt end with a message: typer would make it an exit code, and end without a word."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Abort from None


def _print_usage(error: Any) -> None:
    message = str(error.format_message()).rstrip(".")
    asked = "excalibr" if error.ctx is None else error.ctx.command_path
    if "unexpected extra argument" in message:  # as a shell makes them of parts/*.csv
        message = f"{message}. A table in several files is given as their folder"
    print_error(message if message.endswith("?") else f"{message}. Hint: {asked} --help says more.")


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
