"""Deprecated, and gone with the next version: the paper's experiment is the command ``excalibr experiment``."""

import typing
import warnings

from excalibr import _experiments

_RENAMED = {"Results": "ExperimentResults"}


def __getattr__(name: str) -> typing.Any:
    if _RENAMED.get(name, name) not in _experiments.__all__:
        raise AttributeError(f"module 'excalibr.experiments' has no attribute {name!r}")
    said = "excalibr.experiments goes with the next version. Hint: run the command `excalibr experiment`."
    warnings.warn(said, DeprecationWarning, stacklevel=2)
    return getattr(_experiments, _RENAMED.get(name, name))
