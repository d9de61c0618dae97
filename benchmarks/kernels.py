"""A look into the kernel, apart from timing: which engine solved a problem, its sorts and the size of its lottery."""

from __future__ import annotations

import numpy as np

import excalibr
from benchmarks.problems import Instance
from benchmarks.results import Solve

__all__ = ["inspect"]


def inspect(instance: Instance) -> Solve:
    """Solve once more, and ask the policy."""
    policy = excalibr.calibrate(
        instance.scores,
        instance.categories,
        instance.target,
        k=instance.k,
        trade_off=instance.trade_off,
        position_weights=instance.position_weights,
    )
    problem, info = policy.problem, policy.info
    assert info is not None
    return Solve(
        n=problem.n,
        k=problem.k,
        r=problem.r,
        trade_off=problem.trade_off,
        sorts=info.sorts,
        engine=info.engine,
        rankings=len(policy.weights),
        gap=float(policy.gap),
        scale=max(1.0, float(np.ptp(problem.gains))),
    )
