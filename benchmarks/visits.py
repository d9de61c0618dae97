"""How fast visits close in on the target, on real users: `python -m benchmarks.visits MOVIELENS_FOLDER`.

Prints the mean deviation of what was seen after some visits, for independent draws and for visits, beside the least
that any sequence with the lottery's own probabilities can have: the best distribution over sets of T rankings is a
linear program, and a random order of each set gives each single visit its probabilities.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

import excalibr
from excalibr import Policy
from excalibr.datasets import genre, load_movielens, split_users
from excalibr.models import EASE

Floats = NDArray[np.float64]

VISITS = (1, 2, 3, 5, 7, 14, 30)
MOST_SETS = 250_000
"""Linear programs with more sets of rankings are left out."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="a MovieLens folder or zip")
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--keys", type=int, default=50, help="keys a user")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--trade-off", type=float, default=0.5)
    parser.add_argument("--bound", type=int, default=7, help="visits that the linear program bounds; 0: none")
    asked = parser.parse_args(arguments)
    policies = real_policies(asked.data, asked.users, asked.k, asked.trade_off)
    rows = {
        "independent draws": [deviations(*each, asked.keys, visits=False) for each in enumerate(policies)],
        "visits": [deviations(*each, asked.keys, visits=True) for each in enumerate(policies)],
    }
    print(f"{len(policies)} users, {asked.keys} keys each, mean L1 deviation of what was seen after so many visits")
    print(f"{'':20}" + "".join(f"{visits:>9}" for visits in VISITS))
    for name, values in rows.items():
        print(f"{name:20}" + "".join(f"{value:9.4f}" for value in np.mean(values, axis=0)))
    independent, visited = (np.mean(values, axis=0) for values in rows.values())
    print(f"{'ratio':20}" + "".join(f"{value:9.3f}" for value in visited / independent))
    if asked.bound:
        print_bound(policies, rows, asked.bound)


def real_policies(data: str, users: int, k: int, trade_off: float) -> list[Policy]:
    """The lotteries of test users: the best 150 by EASE outside the history, genres, the history's own balance."""
    films = load_movielens(data)
    liked = films.positives()
    split = split_users(liked, validation=1, test=users, seed=0)
    histories = csr_array(split.test.history.matrix)
    best = EASE.fit(split.train.matrix, regularisation=500.0).top(histories, n=150)
    genres = csr_array(genre(films.items.genres).matrix)[np.searchsorted(films.items.ids, liked.item_ids)]
    policies = []
    for user in range(users):
        had = histories.indices[histories.indptr[user] : histories.indptr[user + 1]]
        target = np.asarray(genres[had].mean(axis=0)).ravel()
        scores = best.scores[user].astype(np.float64)
        policies.append(excalibr.calibrate(scores, genres[best.items[user]], target, k=k, trade_off=trade_off))
    return policies


def deviations(user: int, policy: Policy, keys: int, *, visits: bool) -> Floats:
    """(VISITS,) how far what was seen is from the target, on average over keys."""
    numbers = {tuple(ranking): number for number, ranking in enumerate(policy.rankings.tolist())}
    first = 0 if visits else None
    total = np.zeros(len(VISITS))
    for key in range(keys):
        drawn = policy.sample(seed=1, key=(user, key), size=max(VISITS), visit=first)
        shares = policy.draw_shares[[numbers[tuple(ranking)] for ranking in drawn.tolist()]]
        means = np.cumsum(shares, axis=0) / np.arange(1, max(VISITS) + 1)[:, None]
        total += np.abs(means[np.array(VISITS) - 1] - policy.problem.target).sum(axis=1)
    return total / keys


def print_bound(policies: list[Policy], rows: dict[str, list[Floats]], visits: int) -> None:
    """The least mean deviation after some visits, for the users whose linear program is small enough."""
    small = [number for number, policy in enumerate(policies) if _sets(policy, visits) <= MOST_SETS]
    bound = np.mean([least_deviation(policies[number], visits) for number in small])
    at = VISITS.index(visits)
    independent, visited = (np.mean([values[number][at] for number in small]) for values in rows.values())
    print(
        f"\nAfter {visits} visits, {len(small)} users with few enough rankings: independent {independent:.4f}, visits "
        f"{visited:.4f} ({visited / independent:.3f}), no sequence below {bound:.4f} ({bound / independent:.3f})"
    )


def least_deviation(policy: Policy, visits: int) -> float:
    """The least expected deviation of a mean of so many draws, each with the lottery's probabilities."""
    rankings = len(policy.weights)
    sets = np.array(list(combinations_with_replacement(range(rankings), visits)))
    counts = np.zeros((len(sets), rankings))
    for place in range(visits):
        counts[np.arange(len(sets)), sets[:, place]] += 1
    costs = np.abs(counts @ policy.draw_shares / visits - policy.problem.target).sum(axis=1)
    found = linprog(costs, A_eq=counts.T, b_eq=visits * policy.weights / policy.weights.sum(), method="highs")
    return float(found.fun or 0.0)


def _sets(policy: Policy, visits: int) -> int:
    return comb(len(policy.weights) + visits - 1, visits)


if __name__ == "__main__":
    main()
