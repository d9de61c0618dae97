"""A callable class for ``map_batches`` of Ray Data: one whole partition of users in, their slates out.

Ray is not imported here. The guide in docs/tables.md shows how to have whole users in every batch.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from excalibr._options import read_options, split_keywords
from excalibr.errors import InputTypeError
from excalibr.tables import review_items, warn_all
from excalibr.tables._options import read_tables
from excalibr.tables._reranker import Reranker, read_items_and_prices
from excalibr.tables._results import check_day

__all__ = ["RerankBatch"]


class RerankBatch:
    """Re-ranks Arrow batches that hold whole users, in an actor that has read the items once.

    Parameters
    ----------
    items
        Any local table.
    day
        As for :meth:`excalibr.Reranker.rerank`.
    **options
        Those of :class:`excalibr.Reranker` and of its methods, in the same words; tables are local ones.

    Examples
    --------
    >>> import pyarrow as pa
    >>> items = pa.table({"item_id": [1, 2], "category": ["drama", "comedy"]})
    >>> rerank = RerankBatch(items, targets={"comedy": 1.0}, k=1, trade_off=0.9)
    >>> rerank(pa.table({"user_id": [7, 7], "item_id": [1, 2], "score": [0.9, 0.5]}))["item_id"].to_pylist()
    [2]
    """

    def __init__(self, items: Any, *, day: Hashable = None, **options: Any) -> None:
        check_day(day)
        ranking, self._tables = split_keywords(options, Reranker)
        self._reranker = read_options(Reranker, {"threads": 1, **ranking})
        tables = read_tables(self._tables, Reranker)
        self._items, _ = read_items_and_prices(items, tables.prices, tables)
        warn_all(review_items(self._items), stacklevel=2)
        self._day = day

    def __call__(self, batch: Any) -> Any:
        """The slates of one batch of candidates.

        Raises
        ------
        InputTypeError
            For a mapping of arrays, which ``map_batches`` gives without ``batch_format="pyarrow"``.
        """
        if isinstance(batch, Mapping):
            hint = "pass batch_format='pyarrow' to map_batches."
            raise InputTypeError("batch", "is a mapping of arrays", "be a table", hint)
        return self._reranker.solve(batch, self._items, day=self._day, **self._tables).slates()
