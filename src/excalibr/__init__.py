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

_MODULES_WHEN_ASKED = ("baselines", "datasets", "metrics", "models", "paper", "ray", "spark", "tables", "targets")
_NAMES_WHEN_ASKED = {"Reranker": "tables", "calibrate_batch": "_many_users"}
"""What not every program needs: modules, and names with the modules that have them."""


def __getattr__(name: str) -> typing.Any:
    if name in _MODULES_WHEN_ASKED:
        return importlib.import_module(f"excalibr.{name}")
    if name in _NAMES_WHEN_ASKED:
        return getattr(importlib.import_module(f"excalibr.{_NAMES_WHEN_ASKED[name]}"), name)
    raise AttributeError(f"module 'excalibr' has no attribute {name!r}")
