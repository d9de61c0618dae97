"""ExCalibR in LensKit pipelines: a trainable re-ranker, a pipeline that gives it enough candidates, and metrics.

It needs the extra ``lenskit``. The data flow: ``Dataset`` → ``_learning`` (categories of items, targets of users) →
``_component`` (a list of scored items in, a calibrated list out).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from excalibr.errors import needs_extra

if TYPE_CHECKING:
    from excalibr.lenskit._component import CalibratedReranker
    from excalibr.lenskit._config import CalibratedRerankerConfig
    from excalibr.lenskit._metrics import CalibrationError, MeanCalibrationError
    from excalibr.lenskit._pipeline import calibrated_pipeline

__all__ = [
    "CalibratedReranker",
    "CalibratedRerankerConfig",
    "CalibrationError",
    "MeanCalibrationError",
    "calibrated_pipeline",
]


def __getattr__(name: str) -> Any:
    """The public names, with LensKit and PyTorch imported when they are asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs_extra("lenskit"):
        from excalibr.lenskit import _component, _config, _metrics, _pipeline
    return next(getattr(each, name) for each in (_component, _config, _metrics, _pipeline) if hasattr(each, name))
