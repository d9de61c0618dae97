"""Recommenders that make the scores to re-rank."""

from excalibr.models._ease import EASE, gram_matrix
from excalibr.models._ranking import TopItems, top_items

__all__ = ["EASE", "TopItems", "gram_matrix", "top_items"]
