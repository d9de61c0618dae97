"""The command ``excalibr``, one command per module; it needs the extra ``cli``."""

from __future__ import annotations

import io
import sys

from excalibr._cli.printing import print_error
from excalibr.errors import ExcalibrError, needs_extra

__all__ = ["main"]


def main() -> None:
    """Run the command line; an error of ours is one line on standard error and exit code 2, an interrupt 130."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # in a pipe on Windows it may be of few characters, and no error
    try:
        _run()
    except KeyboardInterrupt:  # before a command has begun
        print_error("interrupted.")
        raise SystemExit(130) from None
    except ExcalibrError as error:
        print_error(str(error))
        raise SystemExit(2) from None


def _run() -> None:
    with needs_extra("cli", "rich", "typer"):
        import rich  # noqa: F401 — commands need it, and typer would begin without it

        from excalibr._cli.application import run_application
    run_application()
