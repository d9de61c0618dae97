"""Calibrated re-ranking, exactly: lotteries over rankings that match a target balance of categories."""

import importlib
import typing

from excalibr import errors, methods, positions
from excalibr._calibration import calibrate, calibrate_path, frontier
from excalibr._policy import Policy
from excalibr._problem import Band, Problem, Shown

if typing.TYPE_CHECKING:
    from excalibr import baselines, datasets, metrics, models, paper, tables, targets
    from excalibr._many_users import calibrate_batch
    from excalibr.tables import Reranker

__version__ = "0.2.0"

__all__ = [
    "Band",
    "Policy",
    "Problem",
    "Reranker",
    "Shown",
    "__version__",
    "baselines",
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
    "ray",
    "spark",
    "tables",
    "targets",
]

_LAZY_MODULES = ("baselines", "datasets", "metrics", "models", "paper", "ray", "spark", "tables", "targets")
_LAZY_NAMES = {"Reranker": "tables", "calibrate_batch": "_many_users"}
"""Imported when first asked for, because not every program needs them: modules, and names with their modules."""


def __getattr__(name: str) -> typing.Any:
    if name in _LAZY_MODULES:
        return importlib.import_module(f"excalibr.{name}")
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(f"excalibr.{_LAZY_NAMES[name]}"), name)
    raise AttributeError(f"module 'excalibr' has no attribute {name!r}")
