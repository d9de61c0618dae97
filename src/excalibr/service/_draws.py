"""Which ranking of its lottery a request draws: by user or session, day, visit and seed, as ``Reranker`` draws."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from excalibr import _seeds as seeds
from excalibr._policy import Policy
from excalibr._visits import choose_visits
from excalibr.service._failures import RequestFailure
from excalibr.service._profiles import Profile
from excalibr.service._requests import RankRequest


def drawn_number(profile: Profile, request: RankRequest, named: Hashable) -> float:
    """The number in [0, 1) that a request draws for a user or session; nobody's draws anew with every request."""
    if named is None:
        return seeds.uniform(None, None)
    return seeds.uniform(_seed(profile, request), _key(request, named))


def drawn_ranking(profile: Profile, request: RankRequest, policy: Policy, named: Hashable) -> int:
    """The number of the ranking that a request draws for a user or session, or that its visit sees."""
    if request.visit is None:
        return seeds.choose_one(policy.weights.tolist(), drawn_number(profile, request, named))
    if named is None:
        raise RequestFailure(422, "A visit must be one of a `user` or a `session`.", "$.visit")
    counts, slots = np.array([len(policy.weights)]), np.array([policy.problem.k])
    keys, visits = [_key(request, named)], np.array([request.visit])
    seed = _seed(profile, request)
    return int(choose_visits(policy.rankings.ravel(), policy.weights, counts, slots, keys, seed, visits)[0])


def _seed(profile: Profile, request: RankRequest) -> int | None:
    return profile.reranker.seed if request.seed is None else request.seed


def _key(request: RankRequest, named: Hashable) -> Hashable:
    return named if request.day is None else (named, request.day.isoformat())
