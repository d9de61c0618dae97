"""Write docs/lotteries.md: the lotteries of the paper's decomposition and of the exact solver, for the same users.

``python -m benchmarks.lotteries [--users 20] [--problems FOLDER]``. Every ``*.npz`` of the folder is one more set of
users, named after the file, with the arrays scores (users, n), categories (users, n, r) and target (users, r).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from excalibr import Policy, Problem
from excalibr._solver import solve
from excalibr._types import Floats
from excalibr.paper import birkhoff, lottery, solve_full, solve_reduced

PAGE = Path(__file__).parent.parent / "docs" / "lotteries.md"
SLOTS = (100, 10)
TRADE_OFFS = (0.1, 0.5)
CANDIDATES = 150
GENRES = 18
SEED = 2024
MIXTURES = ((50, 5), (50, 50), (50, 5000), (100, 10), (100, 100))
"""Size, and permutations mixed, of the matrices that the two matchings are compared on."""

INTRODUCTION = """\
# The lotteries side by side

The paper's method and the exact solver reach the same optimum in expectation, with different lotteries. For the same
users this page counts the rankings and measures what a *single draw* does, which is what a person sees:

- **BvN of P̂** is the paper's method (`method="lp"`): reduced program, augmentation, Birkhoff–von Neumann;
  **BvN of P** decomposes the full program's n × n solution (`method="lp-full"`). *Any* is the plain matching of the
  paper, *bottleneck* the one whose smallest entry is largest (`paper.birkhoff(P, matching="bottleneck")`).
- **exact solver** is `method="excalibr"`.
- **|E p − q|** is the deviation *of the expectation*, which the programs minimise; **E|p(Q) − q|** the deviation *of a
  draw*, on average; **worst draw** that of the worst ranking that the lottery holds.
- **ms** is the time from the solved program (HiGHS, not counted) to the policy, and for the exact solver everything:
  the median user's, of one call each on a core that may have had other work, so rough.

What it shows:

- All ways need nearly the same number of rankings, and on a program's solution the plain matching does as well as the
  bottleneck one.
- With 100 slots a draw is on average at most 0.02 further from the target than the expectation is. With 10 slots it is
  0.03 to 0.28 further, whichever lottery it comes from: most with many categories and much weight on calibration.
- On average a draw of the exact solver is as close as the others', and closer with 10 slots, λ = 0.5 and many
  categories (genres: 0.17 against 0.21, and its worst draw 0.26 against 0.30 to 0.34). Elsewhere no way's worst draw is
  always the furthest.
"""

REPRODUCE = """\
## Making this page again

```
python -m benchmarks.lotteries --problems FOLDER
```

Without a folder the page has the made-up users alone, which are seeded: the times depend on the machine, and which of
several optima a program ends at on the version of its solver; the deviation of the expectation on neither.

Every `.npz` of the folder is one more set of users, named after the file (`_` becomes a space), with the arrays
`scores` (users, n), `categories` (users, n, r) and `target` (users, r).

The MovieLens 1M sets (`film_sets` of `benchmarks/films.py`), whose ratings may not be passed on, are 20 users that EASE
(regularisation 500) was not trained on: a rating above 3.5 is a positive, a random 80 % of a user's positives are the
history, the candidates are the 150 best scores outside it, and the target is the history's balance. The categories are
the 18 genres in equal shares, the decade of the year, or popularity (the top 5 % of films by positives, and the rest).
"""


@dataclass(frozen=True)
class User:
    """Scores (n,), categories (n, r) and target (r,), before slots and trade-off are chosen."""

    scores: Floats
    categories: Floats
    target: Floats

    def problem(self, k: int, trade_off: float) -> Problem:
        """What is asked for this user."""
        return Problem.of(self.scores, self.categories, self.target, k=k, trade_off=trade_off)


@dataclass(frozen=True)
class Made:
    """A policy and the seconds that it took."""

    policy: Policy
    seconds: float


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20, help="users of each set (20)")
    parser.add_argument("--problems", type=Path, help="a folder of .npz files with more sets of users")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write (docs/lotteries.md)")
    asked = parser.parse_args(arguments)
    for _ in policies(made_up_users(1)[0].problem(5, 0.5)):
        pass  # so that no measured call pays for compiling
    sets = {f"Made-up users (seed {SEED})": made_up_users(asked.users)}
    for path in sorted(asked.problems.glob("*.npz")) if asked.problems else ():
        sets[path.stem.replace("_", " ")] = stored_users(path, asked.users)
    parts = [INTRODUCTION, *(section(name, users) for name, users in sets.items()), matchings_compared(), REPRODUCE]
    asked.page.write_text("\n".join(parts), encoding="utf-8")


def made_up_users(count: int) -> list[User]:
    """Like MovieLens: few popular genres, one to three an item; the target is the balance of a history of 60 items."""
    random = np.random.default_rng(SEED)
    popularity = 1.0 / np.arange(1, GENRES + 1)
    popularity /= popularity.sum()
    return [_made_up_user(random, popularity) for _ in range(count)]


def _made_up_user(random: np.random.Generator, popularity: Floats) -> User:
    taste = random.dirichlet(20.0 * popularity) + 0.1 * popularity
    history = _items(random, 60, taste / taste.sum())
    candidates = _items(random, CANDIDATES, popularity)
    scores = random.gamma(1.5, 0.1, CANDIDATES) + candidates @ taste
    return User(scores, candidates, history.mean(axis=0))


def _items(random: np.random.Generator, count: int, genres: Floats) -> Floats:
    rows = np.zeros((count, GENRES))
    for row in rows:
        of_item = random.choice(GENRES, size=random.integers(1, 4), replace=False, p=genres)
        row[of_item] = 1.0 / len(of_item)
    return rows


def stored_users(path: Path, count: int) -> list[User]:
    with np.load(path) as stored:
        columns = [stored[name][:count] for name in ("scores", "categories", "target")]
    return [User(*arrays) for arrays in zip(*columns, strict=True)]


def section(name: str, users: list[User]) -> str:
    n, r = users[0].categories.shape
    lines = [f"## {name}", "", f"{len(users)} users, n = {n}, r = {r}, log weights; means over the users.", ""]
    for k in SLOTS:
        for trade_off in TRADE_OFFS:
            lines += [f"**k = {k}, λ = {trade_off:g}**", "", *table([user.problem(k, trade_off) for user in users]), ""]
    return "\n".join(lines)


def table(problems: list[Problem]) -> Iterator[str]:
    made: dict[str, list[Made]] = {}
    for problem in problems:
        for way, policy in policies(problem):
            made.setdefault(way, []).append(policy)
    yield "| lottery | rankings, mean (most) | \\|E p − q\\| | E\\|p(Q) − q\\| | worst draw | ms |"
    yield "|---|---|---|---|---|---|"
    for way, of_way in made.items():
        yield row(way, of_way)


def policies(problem: Problem) -> Iterator[tuple[str, Made]]:
    for name, solution in (("P̂", solve_reduced(problem)), ("P", solve_full(problem))):
        for matching in ("any", "bottleneck"):
            yield f"BvN of {name}, {matching}", timed(lottery, problem, solution, matching)
    yield "**exact solver**", timed(solve, problem)


def timed(make: Callable[..., Policy], *arguments: object) -> Made:
    started = perf_counter()
    policy = make(*arguments)
    return Made(policy, perf_counter() - started)


def row(way: str, made: list[Made]) -> str:
    lotteries = [each.policy for each in made]
    counts = [len(policy.weights) for policy in lotteries]
    expected = np.mean([policy.deviation for policy in lotteries])
    of_a_draw = np.mean([policy.weights @ policy.draw_deviations for policy in lotteries])
    worst = np.mean([policy.draw_deviations.max() for policy in lotteries])
    milliseconds = 1e3 * np.median([each.seconds for each in made])
    return (
        f"| {way} | {np.mean(counts):.1f} ({max(counts)}) | {expected:.4f} | {of_a_draw:.4f} | {worst:.4f} "
        f"| {milliseconds:.2f} |"
    )


def matchings_compared() -> str:
    lines = [
        "## The two matchings on matrices of their own",
        "",
        "A vertex of the program has few entries that are not zero, and any matching does. On a mixture of random",
        "permutations, which no LP made, the bottleneck matching needs far fewer terms:",
        "",
        "| m | permutations mixed | entries not zero | terms, any | terms, bottleneck | ms, any | ms, bottleneck |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(mixture_row(size, terms) for size, terms in MIXTURES), ""])


def mixture_row(size: int, terms: int) -> str:
    matrix = mixture(size, terms)
    found, milliseconds = [], []
    for matching in ("any", "bottleneck"):
        started = perf_counter()
        found.append(f"{len(birkhoff(matrix, matching).weights)}")
        milliseconds.append(f"{1e3 * (perf_counter() - started):.1f}")
    cells = [str(size), str(terms), str(np.count_nonzero(matrix)), *found, *milliseconds]
    return f"| {' | '.join(cells)} |"


def mixture(size: int, terms: int) -> Floats:
    random = np.random.default_rng(SEED)
    matrix = np.zeros((size, size))
    for weight in random.dirichlet(np.ones(terms)):
        matrix[np.arange(size), random.permutation(size)] += weight
    return matrix


if __name__ == "__main__":
    main()
