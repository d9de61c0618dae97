"""Models with calibrated recommendations: RecTools' two-stage model, and a wrapper around any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from rectools.dataset import Dataset
from rectools.models.base import ModelBase
from rectools.models.ranking import CandidateRankingModel

from excalibr._options import whole_number
from excalibr.errors import InputTypeError
from excalibr.rectools._calibrating import Calibrating
from excalibr.rectools._reranker import CalibratedReranker


class CalibratedModel(ModelBase):  # type: ignore[misc]
    """Any model of RecTools, with its recommendations calibrated to each user's history.

    Parameters
    ----------
    model
        The model that scores items.
    candidates
        How many of its recommendations to choose from; more than the ``k`` that is asked for.
    feature
        The categorical item feature of the dataset that has the categories, or several of them.
    items
        A table of items and categories, in place of the dataset's features; ``feature`` names its columns.
    weighted
        Whether interactions count by their weight in a user's history, or all alike.
    verbose
        As for other models.
    **options
        Those of :class:`excalibr.Reranker` but ``k`` (``trade_off``, ``seed``, ``position_weights``, …), and
        ``targets`` (for everybody, in place of histories), ``prior``, ``strength``, ``half_life``.
    """

    def __init__(
        self,
        model: ModelBase,
        candidates: int = 200,
        *,
        feature: str | Sequence[str] = "genre",
        items: Any = None,
        weighted: bool = False,
        verbose: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(verbose=verbose)
        if not isinstance(model, ModelBase):
            raise InputTypeError("model", f"is {model!r}", "be a model of RecTools, such as EASEModel()")
        whole_number(1, or_none=False)("candidates", candidates)
        self.model, self.candidates = model, candidates
        self.calibrating = Calibrating(feature, items, weighted, options)
        self.is_fitted = model.is_fitted

    @property
    def require_recommend_context(self) -> bool:
        """Whether the model needs a context."""
        return bool(self.model.require_recommend_context)

    def _fit(self, dataset: Dataset, *args: Any, **kwargs: Any) -> None:
        self.model.fit(dataset, *args, **kwargs)

    def recommend(
        self,
        users: Any,
        dataset: Dataset,
        k: int,
        filter_viewed: bool,
        items_to_recommend: Any = None,
        add_rank_col: bool = True,
        on_unsupported_targets: str = "raise",
        context: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """As the model's own ``recommend``, calibrated; histories are the dataset's interactions."""
        self._check_is_fitted()
        self._check_k(k)
        reco = self.model.recommend(
            users=users,
            dataset=dataset,
            k=max(k, self.candidates),
            filter_viewed=filter_viewed,
            items_to_recommend=items_to_recommend,
            add_rank_col=False,
            on_unsupported_targets=on_unsupported_targets,
            context=context,
        )
        return self.calibrating.rerank(reco, dataset, k, add_rank_col=add_rank_col)


class CalibratedRankingModel(CandidateRankingModel):  # type: ignore[misc]
    """RecTools' two-stage model, which passes the dataset to its :class:`CalibratedReranker`.

    Everything else is RecTools' own: generators, splitter, sampler, features.
    """

    reranker: CalibratedReranker

    def _fit(self, dataset: Dataset, *args: Any, **kwargs: Any) -> None:
        if not isinstance(self.reranker, CalibratedReranker):
            hint = "RecTools' own model takes other rerankers."
            raise InputTypeError("reranker", f"is {self.reranker!r}", "be a CalibratedReranker", hint)
        super()._fit(dataset, *args, **kwargs)

    def recommend(self, users: Any, dataset: Dataset, *args: Any, **kwargs: Any) -> pd.DataFrame:
        """As RecTools does, with histories and categories of this dataset."""
        with self.reranker.using(dataset):
            return super().recommend(users, dataset, *args, **kwargs)
