"""EASE at the paper's scale: time and peak memory on an invented catalogue of MovieLens 20M's size, long-tailed.

    python -m benchmarks.ease [--users 138493] [--items 20720] [--interactions 20000000]

Times depend on the machine; the memory does not. The linear algebra runs on one thread, as it does by default.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from scipy import sparse

from excalibr.models import EASE, gram_matrix


def main() -> None:
    options = _options()
    matrix = _timed("generate", lambda: generate(options.users, options.items, options.interactions))
    print(f"{matrix.shape[0]:,} users, {matrix.shape[1]:,} items, {matrix.nnz:,} interactions")
    gram = _timed("Gram matrix", lambda: gram_matrix(matrix))
    print(f"{np.count_nonzero(gram) / gram.size:.0%} of the Gram matrix is not 0")
    model = _timed("invert in place", lambda: EASE.from_gram(gram, 500.0, overwrite=True))
    _timed("top 150 of 5,000 users", lambda: model.top(matrix[:5000], 150))


def generate(users: int, items: int, interactions: int, seed: int = 1) -> Any:
    """Sparse interactions: log-normal lengths, popularity a shifted power law, no item twice for a user."""
    random = np.random.default_rng(seed)
    lengths = random.lognormal(0.0, 1.0, users)
    lengths = np.clip(lengths / lengths.sum() * interactions * 1.12, 5, items // 4).astype(np.int64)
    popularity = 1.0 / (np.arange(items) + 100.0) ** 1.2
    chosen = np.searchsorted(np.cumsum(popularity) / popularity.sum(), random.random(int(lengths.sum()))).astype(
        np.int32
    )
    rows = np.repeat(np.arange(users, dtype=np.int32), lengths)
    matrix = sparse.csr_array((np.ones(len(chosen), dtype=np.float32), (rows, chosen)), shape=(users, items))
    matrix.data[:] = 1.0  # drawn twice is liked once
    return matrix


def _timed(what: str, action: Any) -> Any:
    started = time.perf_counter()
    result = action()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{what:24} {time.perf_counter() - started:7.1f} s   peak so far {peak:.2f} GiB", flush=True)
    return result


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in (("users", 138_493), ("items", 20_720), ("interactions", 20_000_000)):
        parser.add_argument(f"--{name}", type=int, default=size)
    return parser.parse_args()


if __name__ == "__main__":
    main()
