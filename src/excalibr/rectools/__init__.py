"""ExCalibR in RecTools: a second stage that calibrates, a wrapper around any model, and a metric for ``calc_metrics``.

It needs RecTools (extra ``rectools``). The data flow: ``Dataset`` → ``_reading`` (categories of items, histories of
users) → ``excalibr.Reranker``, all users at once → a table of recommendations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from excalibr.errors import needs_extra

if TYPE_CHECKING:
    from excalibr.rectools._metrics import CalibrationError
    from excalibr.rectools._models import CalibratedModel, CalibratedRankingModel
    from excalibr.rectools._reranker import CalibratedReranker

__all__ = ["CalibratedModel", "CalibratedRankingModel", "CalibratedReranker", "CalibrationError"]


def __getattr__(name: str) -> Any:
    """The public names, with RecTools imported when they are asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs_extra("rectools"):
        from excalibr.rectools import _metrics, _models, _reranker
    return next(getattr(each, name) for each in (_metrics, _models, _reranker) if hasattr(each, name))
