"""Problems that once failed, stored as arrays under the name of what made them hard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from excalibr import Problem

FOLDER = Path(__file__).parent


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.npz"))


def hard_problem(name: str) -> Problem:
    """The stored problem; rows may be stored as whole numbers in proportion to the shares."""
    with np.load(FOLDER / f"{name}.npz") as stored:
        arrays = dict(stored)
    sizes = (len(arrays["scores"]), len(arrays["target"]))
    rows = csr_array((arrays["values"].astype(np.float64), arrays["indices"], arrays["indptr"]), shape=sizes)
    rows = csr_array(rows / rows.sum(axis=1)[:, None])
    return Problem.of(
        arrays["scores"],
        rows,
        arrays["target"],
        k=len(arrays["position_weights"]),
        trade_off=float(arrays["trade_off"]),
        position_weights=arrays["position_weights"],
    )


def store(name: str, problem: Problem) -> None:
    """Keep a problem for ever: ``python -c "from tests.hard import store; …"``."""
    rows = problem.memberships
    np.savez_compressed(
        FOLDER / f"{name}.npz",
        scores=problem.scores,
        indptr=rows.indptr.astype(np.int32),
        indices=rows.indices.astype(np.int16),
        values=rows.values,
        target=problem.target,
        position_weights=problem.position_weights,
        trade_off=np.array(problem.trade_off),
    )
