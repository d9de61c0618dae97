"""How far lists are from a target of categories, as metrics of LensKit's run analysis.

LensKit shows a metric a list and what it is measured against, not whose it is. So there are two: one against the list
that it is measured with, and one over a whole run, which knows the users.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lenskit.data import ItemList, ItemListCollection
from lenskit.metrics import GlobalMetric, ListMetric, RankingMetricBase

from excalibr._options import one_of
from excalibr._types import Floats
from excalibr.errors import InputError, InputTypeError
from excalibr.lenskit._component import CalibratedReranker
from excalibr.metrics import DIVERGENCES
from excalibr.positions import position_weights as weigh_positions


class _Measure(RankingMetricBase):  # type: ignore[misc]
    """The divergence of a list's categories from a target, with the categories of a trained re-ranker.

    Parameters
    ----------
    reranker
        Trained on the training data; whether a pipeline has it does not matter.
    n
        Measure the first ``n`` items; None: all.
    divergence
        "kl" (natural logarithm, smoothed by 0.01), "l1", "hellinger" or "jensen_shannon".
    position_weights
        The attention of each slot: "log", "sqrt", "reciprocal", "uniform".
    """

    def __init__(
        self,
        reranker: CalibratedReranker,
        n: int | None = None,
        *,
        divergence: str = "kl",
        position_weights: str = "log",
    ) -> None:
        super().__init__(n)
        one_of(DIVERGENCES)("divergence", divergence)
        if not isinstance(position_weights, str):  # lists have many lengths
            raise InputTypeError("position_weights", f"is {position_weights!r}", "be a name, such as 'log'")
        weigh_positions(position_weights, 1)
        if not hasattr(reranker, "learned"):
            raise InputError("reranker", "is not trained", "be trained", "call reranker.train(dataset).")
        self.reranker, self.divergence, self.position_weights = reranker, divergence, position_weights

    @property
    def label(self) -> str:
        """Its name, with the divergence and the length."""
        return f"{type(self).__name__}({self.divergence})" + ("" if self.n is None else f"@{self.n}")

    def _of(self, output: ItemList, target: Floats | None) -> float:
        places = self.reranker.learned.places_of(self.truncate(output)) if len(output) else np.empty(0, dtype=np.int64)
        if target is None or not (places >= 0).any():
            return float("nan")
        weights = np.where(places >= 0, weigh_positions(self.position_weights, len(places)), 0.0)
        rows = self.reranker.learned.items.rows.of(places[places >= 0])
        shares = rows.shares(weights[places >= 0] / weights.sum())
        return float(DIVERGENCES[self.divergence](shares, target))


class CalibrationError(ListMetric, _Measure):  # type: ignore[misc]
    """How far each list is from the categories of the list that it is measured with.

    ``RunAnalysis(CalibrationError(reranker)).measure(lists, histories)``, with
    ``histories = train.interactions().matrix().item_lists()``, is the calibration to users' histories.
    """

    default = None

    def measure_list(self, output: ItemList, test: ItemList) -> float:
        """Of one list; nan where one of them is empty."""
        learned, weight = self.reranker.learned, self.reranker.config.weight
        return self._of(output, learned.target_of(None, test, weight))


class MeanCalibrationError(GlobalMetric, _Measure):  # type: ignore[misc]
    """The mean, over the lists of a run, of how far each is from its own user's target, as the re-ranker learned it.

    It stands beside NDCG in one run analysis, whatever the lists are measured against.
    """

    def measure_run(self, output: ItemListCollection, test: Any = None) -> float:
        """Of a run whose lists have a ``user_id``; nan where no user has a target."""
        values = self.measure_lists(output)
        known = values[np.isfinite(values)]
        return float(known.mean()) if len(known) else float("nan")

    def measure_lists(self, output: ItemListCollection) -> Floats:
        """(lists,) of each list by itself; nan where its user has no target."""
        learned = self.reranker.learned
        if "user_id" not in output.key_fields:
            raise InputError("run", f"has lists by {', '.join(output.key_fields)}", "have them by user_id")
        at = output.key_fields.index("user_id")
        return np.array([self._of(each, learned.target_of(key[at], None, None)) for key, each in output])
