"""Every exception and warning of the library.

::

    ExcalibrError                     anything that excalibr raises on purpose
    ├── InputError (ValueError)       an argument has a wrong value
    ├── InputTypeError (TypeError)    an argument has a wrong type
    ├── InfeasibleError (ValueError)  no policy can do what was asked; says which limits conflict or how far one can get
    ├── SolverError (ValueError)      a solver gave up; says at what and with what status
    ├── MissingExtraError (ImportError, ValueError)   an optional dependency is not installed
    └── DownloadError (OSError, ValueError)           a data set could not be had; says what to do by hand

    ExcalibrWarning (UserWarning)
    ├── BatchWarning                  some users of a batch or a table could not be calibrated; says how many and why
    ├── GapWarning                    a solve stopped before its tolerance; its gap was proven, a missed limit is named
    ├── TableWarning                  a table reads as what was hardly meant; says which option would change that
    └── TruncationWarning             as many slots as candidates: a re-ranker can do little there

Messages read *what* · must be · got · where · hint: errors are raised with these parts, and put them together. A
:class:`Message` remembers the options that it names, so that the command line can say them in its own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from excalibr._messages import Message, Option

__all__ = [
    "BatchWarning",
    "DownloadError",
    "ExcalibrError",
    "ExcalibrWarning",
    "GapWarning",
    "InfeasibleError",
    "InputError",
    "InputTypeError",
    "MissingExtraError",
    "SolverError",
    "TableWarning",
    "TruncationWarning",
    "explain",
    "missing_extra",
    "needs_extra",
    "unknown_name",
]


class ExcalibrError(Exception):
    """Base of every error that excalibr raises on purpose: one text, or the parts of one, as :func:`explain` has them.

    >>> raise InputError("k", "is 0", "be at least 1")
    Traceback (most recent call last):
    excalibr.errors.InputError: k: is 0, must be at least 1.
    """

    def __init__(self, what: str, found: str | None = None, must: str = "", hint: str = "") -> None:
        super().__init__(what if found is None else explain(what, found, must, hint))

    def __str__(self) -> str:
        # The message itself where there is one: whoever keeps str(error) can still have it in the command's words.
        given = self.args[0] if len(self.args) == 1 else None
        return given if isinstance(given, Message) else super().__str__()


class InputError(ExcalibrError, ValueError):
    """An argument has a value that the method cannot take."""


class InputTypeError(ExcalibrError, TypeError):
    """An argument has a type that the method cannot take."""


class InfeasibleError(ExcalibrError, ValueError):
    """No policy can meet the limits that were asked."""


class SolverError(ExcalibrError, ValueError):
    """A solver ended without an answer."""


class MissingExtraError(ExcalibrError, ImportError, ValueError):
    """An optional dependency is needed and not installed."""


class DownloadError(ExcalibrError, OSError, ValueError):
    """A data set could not be downloaded."""


class ExcalibrWarning(UserWarning):
    """Base of every warning of excalibr."""


class BatchWarning(ExcalibrWarning):
    """Some users of many, or rows of a table, were not taken as they came."""


class GapWarning(ExcalibrWarning):
    """A solve stopped before it reached its tolerance."""


class TableWarning(ExcalibrWarning):
    """A table reads as something that was hardly meant."""


class TruncationWarning(ExcalibrWarning):
    """There are no more candidates than slots."""


def explain(argument: str, found: str, must: str, hint: str = "") -> Message:
    """One message in the house's form; each part may be a :class:`Message`, and the argument is an option if it is not.

    >>> explain("k", "is 0", "be at least 1", Message("pass ", Option("k", 10), " for a slate of ten."))
    'k: is 0, must be at least 1. Hint: pass k=10 for a slate of ten.'
    """
    name = Option(argument) if argument.isidentifier() and not isinstance(argument, Message) else argument
    return Message(name, ": ", found, ", must ", must, ".", *((" Hint: ", hint) if hint else ()))


LISTED, COMPARED = 40, 10_000
"""How many known names an error lists, and up to how many it compares for the nearest, a fifth of a second."""


def unknown_name(argument: str, name: object, known: Iterable[object]) -> InputError:
    """The error for a name that is not one of the known ones, with the nearest of them.

    >>> raise unknown_name("position_weights", "Square", ["log", "sqrt"])
    Traceback (most recent call last):
    excalibr.errors.InputError: position_weights: is 'Square', must be one of 'log', 'sqrt'. Hint: did you mean 'sqrt'?
    """
    import difflib  # only whoever mistypes needs it

    names = {str(each).lower(): each for each in known}
    cutoff = 0.4 if isinstance(name, str) else 1.0  # 1990 may be meant for "1990", but None for nothing
    near = difflib.get_close_matches(str(name).lower(), names, n=1, cutoff=cutoff) if len(names) <= COMPARED else []
    hint = f"did you mean {names[near[0]]!r}?" if near else ""
    listed = ", ".join(repr(each) for each in list(names.values())[:LISTED])
    listed += f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    must = f"be one of {listed}" if len(names) > 1 else f"be {listed}"
    return InputError(argument, f"is {name!r}", must, hint)


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """The error for an optional package that is not there, naming the extra that brings it.

    >>> raise missing_extra("matplotlib", "plot")
    Traceback (most recent call last):
    excalibr.errors.MissingExtraError: matplotlib is not installed. Hint: pip install 'excalibr[plot]'.
    """
    return MissingExtraError(f"{package} is not installed. Hint: pip install 'excalibr[{extra}]'.")


@contextmanager
def needs_extra(extra: str, *packages: str) -> Iterator[None]:
    """Around imports: where one of the packages is not there, the error that names the extra that brings it.

    Without packages it is said of any that is missing.

    >>> with needs_extra("plot", "no_such_package"):
    ...     import no_such_package
    Traceback (most recent call last):
    excalibr.errors.MissingExtraError: no_such_package is not installed. Hint: pip install 'excalibr[plot]'.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if packages and package not in packages:
            raise
        raise missing_extra(package, extra) from None
