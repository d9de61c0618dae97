"""One good ranking instead of a lottery, and lotteries whose every ranking is good.

``best_ranking`` searches the single ranking with the largest value of its own; ``even_lottery`` keeps a lottery's
expectation and looks for rankings that are each close to the target. Both take arrays: a :class:`SearchProgram`.
"""

from __future__ import annotations

from excalibr.search.even import Lottery, even_lottery
from excalibr.search.program import SearchProgram
from excalibr.search.single import Found, best_ranking, ranking_values

__all__ = ["Found", "Lottery", "SearchProgram", "best_ranking", "even_lottery", "ranking_values"]
