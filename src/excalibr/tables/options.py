"""What comes beside the candidates: tables, the names of their columns, and how to read them, written once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from excalibr.errors import InputError, explain
from excalibr.settings import option

__all__ = ["Tables"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tables:
    """The keywords of :meth:`excalibr.Reranker.rerank` and its sisters."""

    history: Any = option(None, "What users had before (user_id, item_id, optional weight or timestamp).")
    targets: Any = option(
        None, "Wanted shares (user_id, category, weight, or low and high); without user_id, one target for all."
    )
    users: Any = option(None, "Users with a trade_off or a k of their own (user_id, trade_off, k).")
    prior: Any = option(None, "Shares for users without history (category, weight).")
    pinned: Any = option(None, "Items that keep a place in a user's slate (user_id, rank, item_id).")
    shown: Any = option(None, "Items that users have just seen (user_id, item_id, optional weight or rank).")
    strength: float = option(0.0, "How many items of a history the prior is worth; 0: it only serves empty histories.")
    half_life: float | None = option(
        None, "Weigh the history by age: the weight halves with each; in the timestamps' unit, seconds for dates."
    )
    separator: str | None = option(None, "What stands between the categories in one text, such as |.")
    user_id: str = option("user_id", "Column with the user.")
    item_id: str = option("item_id", "Column with the item.")
    score: str = option("score", "Column with the score.")
    category: str | Sequence[str] | Mapping[str, str] = option(
        "category", "Column with the category, a list of them, or a text with separators; several for attributes."
    )
    attribute: str = option("attribute", "Column with the attribute, in targets and prior, where there are several.")
    weight: str = option("weight", "Column with weights.")
    low: str = option("low", "Column with the least share wanted, in targets that are bands.")
    high: str = option("high", "Column with the largest share wanted, in targets that are bands.")
    timestamp: str = option("timestamp", "Column with the moment, in the history.")
    rank: str = option("rank", "Column with the rank: written to slates, read in pinned and shown.")
    ranking: str = option("ranking", "Column to write the number of a ranking to, in lotteries.")
    probability: str = option("probability", "Column to write the probability of a ranking to, in lotteries.")

    def __post_init__(self) -> None:
        if self.history is not None and self.targets is not None:
            raise InputError(explain("targets", "are given with a history", "be given alone", "leave one of them out."))
        if self.history is None and self.targets is None and self.prior is None:
            raise InputError(
                explain("history", "is missing", "be given, or targets", "targets={'drama': 0.6, …} is one for all.")
            )
        if not 0 <= self.strength < float("inf") or (self.strength and self.prior is None):
            found = f"is {self.strength}" + (" without a prior" if self.prior is None else "")
            raise InputError(explain("strength", found, "be finite and at least 0, and 0 without a prior"))
        if not self.category_columns:
            raise InputError(explain("category", "is empty", "name at least one column"))

    @property
    def category_columns(self) -> dict[str, str]:
        """The column of each attribute; where a single column is named, of one attribute without a name."""
        if isinstance(self.category, str):
            return {"": self.category}
        if isinstance(self.category, Mapping):
            return dict(self.category)
        return {name: name for name in self.category}
