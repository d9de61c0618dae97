"""What sellers cost that a user's candidates do not have: ``python -m benchmarks.sellers``.

Each problem is solved with all sellers and with those that its candidates have, in turn. The others are then one
category without a candidate, which what is wanted of them goes to: the same program, but for a constant in KL too.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from time import thread_time
from typing import Any

import numpy as np
import scipy.sparse as sp

import excalibr
from benchmarks.many_categories import sellers
from benchmarks.problems import TRADE_OFFS, UNSEEN, Instance
from benchmarks.statistics import ratio_of_typical, summarise
from benchmarks.tables import estimate, milliseconds, table

N, K = 150, 20


def with_own_sellers(given: Instance) -> Instance:
    """The same problem with the sellers of its candidates, and one more for all others."""
    own = np.unique(given.categories.indices)
    others = np.delete(given.target, own).sum()
    rows = sp.hstack([given.categories[:, own], sp.csr_array((len(given.scores), 1))], format="csr")
    return Instance(given.scores, rows, np.append(given.target[own], others), given.k, given.trade_off)


def measured(r: int, divergence: str, problems: int, rounds: int) -> list[str]:
    """A row: both times, their ratio, and how far the objectives are apart in units of (1 − λ)·(max s − min s)."""
    pairs = []
    for number in range(problems):
        random = np.random.default_rng((UNSEEN, r, number))
        given = sellers(random, N, K, r, TRADE_OFFS[number % len(TRADE_OFFS)])
        pairs.append((given, with_own_sellers(given)))
    seconds = np.empty((2, problems, rounds))
    apart = 0.0
    for turn in range(rounds):
        for number, pair in enumerate(pairs):
            found = [_timed(each, divergence) for each in pair]
            seconds[:, number, turn] = [each[0] for each in found]
            unit = (1 - pair[0].trade_off) * float(np.ptp(pair[0].scores))
            apart = max(apart, abs(found[0][1] - found[1][1]) / unit)
    everybody, own = seconds
    means = [milliseconds(summarise(each).mean) for each in (own, everybody)]
    trade_offs = [given.trade_off for given, _ in pairs]
    return [
        f"{r:,}",
        divergence,
        str(problems),
        *means,
        estimate(ratio_of_typical(everybody, own, trade_offs)),
        f"{apart:.0e}",
    ]


def _timed(given: Instance, divergence: str) -> tuple[float, float]:
    options: dict[str, Any] = {"k": given.k, "trade_off": given.trade_off, "divergence": divergence}
    started = thread_time()
    policy = excalibr.calibrate(given.scores, given.categories, given.target, **options)
    return thread_time() - started, policy.objective


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sellers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sellers", type=int, nargs="+", default=[3000, 100_000], help="how many there are")
    parser.add_argument("--problems", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    head = [
        "sellers",
        "divergence",
        "problems",
        "own sellers, ms",
        "all sellers, ms",
        "all / own (95 %)",
        "objectives differ by",
    ]
    rows = [measured(r, divergence, asked.problems, asked.rounds) for r in asked.sellers for divergence in ("l1", "kl")]
    print(table(head, rows))


if __name__ == "__main__":
    main()
