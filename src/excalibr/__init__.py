"""Calibrated re-ranking, exactly: lotteries over rankings that match a target balance of categories."""

import importlib
import typing

from excalibr import errors, methods, positions
from excalibr.calibration import calibrate, calibrate_path, frontier
from excalibr.policy import Policy
from excalibr.problem import Band, Problem, Shown

if typing.TYPE_CHECKING:
    from excalibr import datasets, metrics, models, paper, targets

__version__ = "0.1.0"

__all__ = [
    "Band",
    "Policy",
    "Problem",
    "Shown",
    "__version__",
    "calibrate",
    "calibrate_path",
    "datasets",
    "errors",
    "frontier",
    "methods",
    "metrics",
    "models",
    "paper",
    "positions",
    "targets",
]

_WHEN_ASKED = ("datasets", "metrics", "models", "paper", "targets")  # modules that not every program needs


def __getattr__(name: str) -> typing.Any:
    if name in _WHEN_ASKED:
        return importlib.import_module(f"excalibr.{name}")
    raise AttributeError(f"module 'excalibr' has no attribute {name!r}")
