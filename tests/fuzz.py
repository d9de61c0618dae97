"""``make fuzz``: fresh problems for as long as asked; prints problems tried and failures, and how to repeat each.

python -m tests.fuzz --seconds 60
python -m tests.fuzz --seed 123 --problems 1 --size small
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
import traceback
import warnings
from collections.abc import Iterator

import numpy as np

from excalibr.solver import prepare, solve
from tests.checks import (
    as_kl,
    check_against_the_lp,
    check_agreement,
    check_certificate,
    check_kl_certificate,
    check_lottery,
)
from tests.problems import LARGE, SMALL, mixed_problem

LARGE_EVERY = 8


def main() -> int:
    options = _options()
    warnings.simplefilter("ignore")  # a gap that was not reached is a failure of check_certificate
    prepare()  # compiling is not fuzzing
    deadline = time.monotonic() + options.seconds
    tried = failures = 0
    for seed, size in _plan(options):
        if time.monotonic() > deadline:
            break
        tried += 1
        failures += not _passes(seed, size)
        if sys.stdout.isatty():
            print(f"\r{tried} problems tried, {failures} failures", end="", flush=True)
    print(f"\r{tried} problems tried, {failures} failures")
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--problems", type=int, default=sys.maxsize, help="how many problems at most")
    parser.add_argument("--seed", type=int, default=None, help="first seed; a fresh one if not given")
    parser.add_argument("--size", choices=(SMALL, LARGE), default=None, help="one size only")
    return parser.parse_args()


def _plan(options: argparse.Namespace) -> Iterator[tuple[int, str]]:
    first = secrets.randbits(40) if options.seed is None else options.seed
    for place in range(options.problems):
        yield first + place, options.size or (LARGE if place % LARGE_EVERY == LARGE_EVERY - 1 else SMALL)


def _passes(seed: int, size: str) -> bool:
    """Solve and check one problem, with L1 and with KL; small L1 ones against HiGHS, all by their certificate."""
    problem = mixed_problem(np.random.default_rng(seed), size)
    try:
        policy = solve(problem)
        check_lottery(policy)
        check_agreement(policy)
        check_certificate(policy)
        if size == SMALL:
            check_against_the_lp(policy)
        curved = solve(as_kl(problem))
        check_lottery(curved)
        check_kl_certificate(curved)
    except Exception:
        print(f"\nfailure: --seed {seed} --size {size} --problems 1 (n={problem.n}, k={problem.k}, r={problem.r}, "
              f"trade_off={problem.trade_off})\n{traceback.format_exc(limit=1)}", file=sys.stderr)  # fmt: skip
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
