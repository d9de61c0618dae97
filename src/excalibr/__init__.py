"""Calibrated re-ranking, exactly: lotteries over rankings that match a target balance of categories."""

import importlib
import typing

from excalibr import errors, methods, positions
from excalibr.calibration import calibrate, calibrate_path, frontier
from excalibr.policy import Policy
from excalibr.problem import Band, Problem, Shown

if typing.TYPE_CHECKING:
    from excalibr import datasets, metrics, models, paper, targets
    from excalibr.batch import calibrate_batch
    from excalibr.reranker import Reranker

__version__ = "0.1.0"

__all__ = [
    "Band",
    "Policy",
    "Problem",
    "Reranker",
    "Shown",
    "__version__",
    "calibrate",
    "calibrate_batch",
    "calibrate_path",
    "datasets",
    "errors",
    "frontier",
    "methods",
    "metrics",
    "models",
    "paper",
    "positions",
    "spark",
    "targets",
]

_WHEN_ASKED = ("datasets", "metrics", "models", "paper", "spark", "targets")  # modules that not every program needs
_NAMES_WHEN_ASKED = {"Reranker": "reranker", "calibrate_batch": "batch"}  # the same, names of modules


def __getattr__(name: str) -> typing.Any:
    if name in _WHEN_ASKED:
        return importlib.import_module(f"excalibr.{name}")
    if name in _NAMES_WHEN_ASKED:
        return getattr(importlib.import_module(f"excalibr.{_NAMES_WHEN_ASKED[name]}"), name)
    raise AttributeError(f"module 'excalibr' has no attribute {name!r}")
