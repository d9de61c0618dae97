"""What a policy is worth: relevance against held-out items, and how far its categories are from the target.

Metrics are computed for each user (:func:`evaluate`), and averaged with standard errors (:func:`summarise`). Deviations
are given *of the expectation* and *of a draw*, mean and worst, which differ for every lottery.
"""

from excalibr.metrics._calibration import (
    DIVERGENCES,
    Deviation,
    deviation,
    deviation_over_ranks,
    exposure_by_category,
    hellinger,
    jensen_shannon,
    kl,
    l1,
)
from excalibr.metrics._evaluation import Evaluation, Summary, evaluate, summarise, summarise_evaluations
from excalibr.metrics._relevance import HeldOut, mrr, mrr_of_draws, ndcg, ndcg_of_draws, recall, recall_of_draws

__all__ = [
    "DIVERGENCES",
    "Deviation",
    "Evaluation",
    "HeldOut",
    "Summary",
    "deviation",
    "deviation_over_ranks",
    "evaluate",
    "exposure_by_category",
    "hellinger",
    "jensen_shannon",
    "kl",
    "l1",
    "mrr",
    "mrr_of_draws",
    "ndcg",
    "ndcg_of_draws",
    "recall",
    "recall_of_draws",
    "summarise",
    "summarise_evaluations",
]
