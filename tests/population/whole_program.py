"""Everybody's program as one literal linear program in HiGHS, and small random populations to hold against it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from excalibr._options import Options
from excalibr._population import BatchPopulation, join_terms, limit_terms, target_terms
from excalibr._population.mixture import BLOCK_PER_USER
from excalibr._problem import Batch
from excalibr.positions import position_weights


@dataclass
class SmallCase:
    """Users of n candidates each, one attribute of their own, two attributes across everybody."""

    scores: np.ndarray  # (users, n)
    categories: np.ndarray  # (users·n, r)
    targets: np.ndarray  # (users, r)
    groups: np.ndarray  # (users·n, G) shares of the groups of both attributes
    user_weights: np.ndarray
    trade_off: float
    k: int
    terms: Any

    @property
    def population(self) -> Any:
        users, n = self.scores.shape
        options = Options(k=self.k, trade_off=self.trade_off)
        starts = np.arange(users + 1) * n
        batch = Batch.of(self.scores.ravel(), starts, self.categories, self.targets, options=options)
        keys = [f"user {number}" for number in range(users)]
        return BatchPopulation(batch, keys, sparse.csr_array(self.groups), self.user_weights, BLOCK_PER_USER)


def random_case(seed: Any, users: int = 20, n: int = 15, k: int = 5, r: int = 3) -> Any:
    """Targets on one attribute and bands on another, now and then floors and caps that an even mix would keep."""
    random = np.random.default_rng(seed)
    sizes = (int(random.integers(2, 6)), int(random.integers(2, 4)))
    first, second = (np.eye(size)[random.integers(0, size, users * n)] for size in sizes)
    groups, n_groups = np.hstack([first, second]), sum(sizes)
    numbers = np.arange(n_groups)
    target = random.dirichlet(np.ones(sizes[0]))
    low = np.maximum(second.mean(axis=0) - random.uniform(0.0, 0.1), 0.0)
    wide = low + random.uniform(0.0, 0.2, sizes[1])
    terms = [
        target_terms(numbers[: sizes[0]], target, target, random.uniform(0.05, 1.0, sizes[0]), n_groups),
        target_terms(numbers[sizes[0] :], low, wide, random.uniform(0.05, 1.0, sizes[1]), n_groups),
    ]
    shares = groups.mean(axis=0)
    if random.random() < 0.5:
        terms.append(limit_terms(numbers[:1], 0.8 * shares[:1], -1.0, n_groups))
    if random.random() < 0.5:
        terms.append(limit_terms(numbers[-1:], np.minimum(1.2 * shares[-1:], 1.0), 1.0, n_groups))
    return SmallCase(
        scores=random.random((users, n)),
        categories=random.dirichlet(np.full(r, 0.5), users * n),
        targets=random.dirichlet(np.ones(r), users),
        groups=groups,
        user_weights=random.uniform(0.2, 2.0, users),
        trade_off=float(random.choice([0.0, 0.2, 0.5, 1.0])),
        k=k,
        terms=join_terms(terms),
    )


def best_value(case: Any) -> Any:
    """The optimum of the whole program: assignment matrices of all users, their deviations and the groups' costs."""
    users, n = case.scores.shape
    k, r, terms = case.k, case.categories.shape[1], case.terms
    weights = position_weights("log", k)
    visits = case.user_weights / case.user_weights.sum()
    cells, n_groups = users * n * k, case.groups.shape[1]
    expose = sparse.kron(sparse.eye_array(users * n), weights[None, :], format="csr")  # exposure of each candidate
    own = (
        sparse.block_diag(
            [sparse.coo_array(case.categories[u * n : (u + 1) * n].T) for u in range(users)], format="csr"
        )
        @ expose
    )
    shares = sparse.csr_array(case.groups.T * np.repeat(visits, n)) @ expose
    signed = sparse.diags_array(terms.signs) @ shares.tocsr()[terms.groups]
    columns = [cells, users * r, users * r, len(terms), len(terms)]
    nothing = [sparse.csr_array((users * r, len(terms)))] * 2
    eye, edge = sparse.eye_array(users * r), sparse.eye_array(len(terms))
    of_slot = sparse.kron(sparse.eye_array(users), sparse.kron(np.ones((1, n)), sparse.eye_array(k)))
    of_item = sparse.kron(sparse.eye_array(users * n), np.ones((1, k)))
    wide = sum(columns) - cells
    equal = sparse.vstack(
        [
            sparse.hstack([own, -eye, eye, *nothing]),
            sparse.hstack([signed, sparse.csr_array((len(terms), 2 * users * r)), -edge, edge]),
            sparse.hstack([of_slot, sparse.csr_array((users * k, wide))]),
        ],
        format="csr",
    )
    wanted = np.concatenate([case.targets.ravel(), terms.signs * terms.thresholds, np.ones(users * k)])
    at_most = sparse.hstack([of_item, sparse.csr_array((users * n, wide))], format="csr")
    gains = (1 - case.trade_off) * (np.repeat(visits, n) * case.scores.ravel())
    slopes = case.trade_off * np.repeat(visits, r)
    above = np.where(terms.hard, 0.0, terms.highest)
    costs = np.concatenate([-(expose.T @ gains), slopes, slopes, above, -terms.lowest])
    room = [(0, None)] * (cells + 2 * users * r) + [(0, 0) if hard else (0, None) for hard in terms.hard]
    room += [(0, None)] * len(terms)
    found = linprog(costs, at_most, np.ones(users * n), equal, wanted, bounds=room, method="highs")
    assert n_groups == terms.n_groups
    return None if found.fun is None else -found.fun
