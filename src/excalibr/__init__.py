"""Calibrated re-ranking, exactly: lotteries over rankings that match a target balance of categories."""

import importlib
import typing

from excalibr import errors, methods, positions
from excalibr.calibration import calibrate, calibrate_path
from excalibr.policy import Policy
from excalibr.problem import Problem

if typing.TYPE_CHECKING:
    from excalibr import datasets, metrics, models, paper, targets

__version__ = "0.1.0"

__all__ = [
    "Policy",
    "Problem",
    "__version__",
    "calibrate",
    "calibrate_path",
    "datasets",
    "errors",
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
