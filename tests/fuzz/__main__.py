"""``make fuzz``: fresh questions, so many or for so long, each checked; prints what failed and how to repeat it.

python -m tests.fuzz --seconds 60
python -m tests.fuzz --problems 1000000 --profile small --seed 0 --workers 2
python -m tests.fuzz --show 123 --profile scales
python -m tests.fuzz --keep 123 "a name for what is hard about it" --profile scales
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter, defaultdict

import numpy as np

from tests import cases
from tests.fuzz.problems import MIXED, PROFILES, profile_of, question
from tests.fuzz.running import HANG, Plan, Report, examine, run

SHOWN_SEEDS = 12


def main() -> int:
    options = _options()
    if options.keep:
        return _keep(options.profile, int(options.keep[0]), options.keep[1])
    if options.show is not None:
        return _show(options.profile, options.show)
    seconds = 60.0 if options.seconds is None and options.problems is None else options.seconds
    plan = Plan(
        profile=options.profile,
        first=secrets.randbits(40) if options.seed is None else options.seed,
        problems=options.problems,
        seconds=seconds,
        workers=options.workers,
        literal_every=options.literal_every,
        hang=options.hang,
        memory=options.memory,
    )
    print(f"questions of the profile {plan.profile!r} from seed {plan.first} on, {plan.workers} workers", flush=True)
    report = run(plan, _Progress(plan))
    _print(plan, report)
    return int(any(failure.kind != "slow" or not options.untimed for _, failure in report.failures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", type=int, help="how many questions")
    parser.add_argument("--seconds", type=float, help="how long at most; 60 if no number of questions is given")
    parser.add_argument("--seed", type=int, help="first seed; a fresh one if not given")
    parser.add_argument("--profile", choices=(MIXED, *PROFILES), default=MIXED, help="which questions")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--literal-every", type=int, default=50, help="which part is checked by HiGHS; 0 for none")
    parser.add_argument("--hang", type=float, default=HANG, help="processor seconds after which a question is given up")
    parser.add_argument("--memory", type=float, default=8.0, help="gigabytes a worker may have; 0 for no limit")
    parser.add_argument("--untimed", action="store_true", help="slow answers are told, and no failure")
    parser.add_argument("--show", type=int, metavar="SEED", help="ask one question here and print what is said of it")
    parser.add_argument("--keep", nargs=2, metavar=("SEED", "NAME"), help="store a question under a name")
    return parser.parse_args()


def _keep(profile: str, seed: int, name: str) -> int:
    print(f"stored as {cases.store(name, question(profile, seed))}")
    return 0


def _show(profile: str, seed: int) -> int:
    asked = question(profile, seed)
    with np.printoptions(threshold=30, linewidth=120):
        print(f"{profile_of(profile, seed)} {seed}: {asked!r}\nscores {asked.scores}", flush=True)
    failures, seconds, kind = examine(asked, literally=True)
    print(f"{kind}, {seconds:.3f} s of the library")
    for failure in failures:
        print(f"{failure.kind}: {failure.detail}")
    return 1 if failures else 0


class _Progress:
    """A line that is written over on a terminal, and now and then a new one elsewhere; failures as they come."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.told = plan, 0
        self.written = time.monotonic()
        self.every = 0.5 if sys.stdout.isatty() else 30.0

    def __call__(self, report: Report) -> None:
        for seed, failure in report.failures[self.told :]:
            print(f"\r  {failure.kind} {_again(self.plan, seed, failure.detail)}", flush=True)
        self.told = len(report.failures)
        if time.monotonic() - self.written < self.every:
            return
        self.written = time.monotonic()
        line = f"{report.tried:,} questions in {report.seconds:.0f} s, {len(report.failures):,} failures"
        print(f"\r{line}  " if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n", flush=True)


def _print(plan: Plan, report: Report) -> None:
    rate = report.tried / max(report.seconds, 1e-9)
    print(
        f"\r{report.tried:,} questions in {report.seconds:.0f} s ({rate:,.0f} a second), "
        f"{report.library_seconds:.0f} s of processor time in the library, {len(report.failures):,} failures"
    )
    print("answers: " + ", ".join(f"{kind} {count:,}" for kind, count in report.answers.most_common()))
    by_kind: dict[str, list[int]] = defaultdict(list)
    details: dict[tuple[str, int], str] = {}
    for seed, failure in report.failures:
        by_kind[failure.kind].append(seed)
        details.setdefault((failure.kind, seed), failure.detail)
    for kind, seeds in sorted(by_kind.items(), key=lambda each: -len(each[1])):
        counted = Counter(profile_of(plan.profile, seed) for seed in seeds)
        print(f"\n{kind}: {len(seeds):,} (" + ", ".join(f"{name} {count}" for name, count in counted.items()) + ")")
        for seed in list(dict.fromkeys(seeds))[:SHOWN_SEEDS]:
            print("  " + _again(plan, seed, details[kind, seed]))
    print("\nslowest: " + ", ".join(f"{seconds:.2f} s {seed} ({kind})" for seconds, seed, kind in report.slowest))


def _again(plan: Plan, seed: int, detail: str) -> str:
    """How to ask a question again, and what was wrong."""
    return f"--profile {profile_of(plan.profile, seed)} --show {seed}: {' '.join(detail.split())[:110]}"


if __name__ == "__main__":
    sys.exit(main())
