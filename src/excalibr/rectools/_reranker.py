"""The second stage of a two-stage model: a ranking model's scores, or those of the first stage, calibrated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from rectools import Columns
from rectools.dataset import Dataset
from rectools.models.ranking import Reranker as SecondStage

from excalibr.errors import InputError
from excalibr.rectools._calibrating import Calibrating


class CalibratedReranker(SecondStage):  # type: ignore[misc]
    """RecTools' ``Reranker`` whose recommendations are calibrated to users' histories.

    It is meant for :class:`CalibratedRankingModel`, which passes it the dataset; with RecTools' own
    ``CandidateRankingModel``, which does not, call :meth:`use` with the dataset first.

    Parameters
    ----------
    model
        A classifier or ranker that scores candidates by their features, as RecTools takes it; None: the first
        generator's scores (``CandidateGenerator(…, keep_scores=True)``) are taken as they are.
    fit_kwargs
        For the model's ``fit``.
    feature, items, weighted, **options
        As for :class:`CalibratedModel`.
    """

    def __init__(
        self,
        model: Any = None,
        fit_kwargs: dict[str, Any] | None = None,
        *,
        feature: str | Sequence[str] = "genre",
        items: Any = None,
        weighted: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(model, fit_kwargs)
        self.calibrating = Calibrating(feature, items, weighted, options)
        self._dataset: Dataset | None = None

    def use(self, dataset: Dataset) -> None:
        """Take categories and histories from this dataset."""
        self._dataset = dataset

    @contextmanager
    def using(self, dataset: Dataset) -> Iterator[None]:
        """Take them from this dataset within a ``with`` block, so that a model stored later has no dataset in it."""
        before, self._dataset = self._dataset, dataset
        try:
            yield
        finally:
            self._dataset = before

    def fit(self, candidates_with_target: pd.DataFrame) -> None:
        """Fit the ranking model, where there is one."""
        if self.model is not None:
            super().fit(candidates_with_target)

    def predict_scores(self, candidates: pd.DataFrame) -> Any:
        """The ranking model's scores, or those of the first generator."""
        if self.model is not None:
            return super().predict_scores(candidates)
        named = [name for name in candidates.columns if str(name).endswith("_score")]
        if not named:
            hint = "CandidateGenerator(…, keep_scores=True), or a model."
            raise InputError("candidates", "have no scores", "have those of a generator", hint)
        return candidates[named[0]].to_numpy(dtype=np.float64)

    def recommend(self, scored_pairs: pd.DataFrame, k: int, add_rank_col: bool = True) -> pd.DataFrame:
        """The calibrated slates of the users of a table with user, item and score."""
        if self._dataset is None:
            hint = "use CalibratedRankingModel, or call use(dataset) first."
            raise InputError("CalibratedReranker", "has no dataset", "have one", hint)
        if Columns.Score not in scored_pairs:
            raise InputError("scored_pairs", "have no score", "have a score each")
        return self.calibrating.rerank(scored_pairs, self._dataset, k, add_rank_col=add_rank_col)
