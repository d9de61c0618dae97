"""What others do: greedy re-rankers, a mixed-integer program, plain relevance. Each is a function ``Problem → Policy``.

Each returns one ranking, proves nothing (``gap`` is nan, ``prices`` None), and is registered by name in
:data:`excalibr.methods.METHODS`.
"""

from excalibr.baselines._greedy import SMOOTHING, greedy, greedy_projected, greedy_simple, mmr, top_k
from excalibr.baselines._mip import mip_greedy

__all__ = ["SMOOTHING", "greedy", "greedy_projected", "greedy_simple", "mip_greedy", "mmr", "top_k"]
