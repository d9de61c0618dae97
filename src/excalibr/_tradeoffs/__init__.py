"""The trade-off itself: one user's exact curve between relevance and deviation, and the points that budgets ask for."""

from excalibr._tradeoffs.budgets import most_relevant_within, nearest_within, relevance_floor
from excalibr._tradeoffs.frontier import Frontier
from excalibr._tradeoffs.tracing import trace

__all__ = ["Frontier", "most_relevant_within", "nearest_within", "relevance_floor", "trace"]
