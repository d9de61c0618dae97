"""What the command says to people, a line each on standard error: errors in red and warnings in yellow on a terminal.

Elsewhere, with NO_COLOR, or on a terminal that has no colours, the same lines are plain.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from excalibr._messages import CommandWords, message_of

RED, YELLOW = "31", "33"


def print_line(text: str) -> None:
    """What is going on; nothing where standard error is closed, for which Python has None, or cannot be written."""
    if sys.stderr is not None:
        with suppress(OSError):  # a full disk of a log, or a pipe that nobody reads, is no end of the work
            print(text, file=sys.stderr, flush=True)


def print_error(text: str) -> None:
    """Why the command ends."""
    print_line(_coloured(f"excalibr: {text}", RED))


def print_warning(warning: object, words: CommandWords) -> None:
    """What looks wrong, or was not used as it came, in the words of the command."""
    print_line(_coloured(f"excalibr: warning: {message_of(warning, words)}", YELLOW))


def _coloured(text: str, colour: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or sys.stderr is None or not sys.stderr.isatty() else f"\033[{colour}m{text}\033[0m"
