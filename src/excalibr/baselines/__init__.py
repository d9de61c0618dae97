"""What others do: greedy re-rankers, a mixed-integer program, plain relevance. Each is a function ``Problem → Policy``.

Each returns one ranking, proves nothing (``gap`` is nan, ``prices`` None), and is registered by name in
:data:`excalibr.methods.METHODS`. Each takes problems of one attribute, a distribution and the L1 divergence, and
refuses what else is asked, such as pins and limits, with an :class:`excalibr.errors.InputError`.
"""

from excalibr.baselines._greedy import SMOOTHING, greedy, greedy_projected, greedy_simple, mmr, top_k
from excalibr.baselines._mip import mip_greedy

__all__ = ["SMOOTHING", "greedy", "greedy_projected", "greedy_simple", "mip_greedy", "mmr", "top_k"]
