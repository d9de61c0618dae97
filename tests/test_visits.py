"""Visits: each single draw has the lottery's probabilities, and few of them together are near the target."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import excalibr
from excalibr import Policy, Reranker
from excalibr._visits import DEAL
from excalibr.errors import BatchWarning, InputError
from tests.problems import movie_like_problem
from tests.tables.invented import GENRE_COLUMNS, invented_tables

RERANKER = Reranker(k=5, trade_off=0.4, seed=3)
TABLES = invented_tables(users=12)


def policies(count: int, k: int = 10) -> list[Policy]:
    rng = np.random.default_rng(11)
    problems = [movie_like_problem(rng, 60, k, 8, 2, 0.6) for _ in range(count)]
    return [
        excalibr.calibrate(each.scores, each.memberships.dense(), each.target, k=k, trade_off=0.6) for each in problems
    ]


def distance(policy: Policy, rankings: np.ndarray) -> float:
    shares = {tuple(each): share for each, share in zip(policy.rankings.tolist(), policy.draw_shares, strict=True)}
    seen = np.mean([shares[tuple(ranking)] for ranking in rankings.tolist()], axis=0)
    return float(np.abs(seen - policy.shares).sum())


def test_each_visit_sees_every_ranking_with_its_probability() -> None:
    """Over 2,000 keys, visit by visit: a χ² test of each visit, at one in a million."""
    (policy,) = policies(1)
    chosen = {tuple(ranking): number for number, ranking in enumerate(policy.rankings.tolist())}
    keys, visits = 2000, (0, 1, 2, 6, 30, DEAL, DEAL + 1)
    for visit in visits:
        drawn = [chosen[tuple(policy.sample(seed=5, key=key, visit=visit).tolist())] for key in range(keys)]
        found, expected = np.bincount(drawn, minlength=len(policy.weights)), policy.weights * keys
        often = expected >= 5
        statistic = ((found - expected) ** 2 / expected)[often].sum()
        assert chi2.sf(statistic, max(int(often.sum()) - 1, 1)) > 1e-6


def test_seven_visits_are_at_most_0_6_as_far_from_the_expectation_as_seven_independent_draws() -> None:
    visited, independent = [], []
    for policy in policies(20):
        for key in range(8):
            visited.append(distance(policy, policy.sample(seed=1, key=key, visit=0, size=7)))
            independent.append(distance(policy, policy.sample(seed=1, key=key, size=7)))
    assert np.mean(visited) <= 0.6 * np.mean(independent)


def test_a_visit_is_the_same_whenever_it_is_asked_for() -> None:
    (policy,) = policies(1)
    together = policy.sample(seed=2, key="ada", visit=60, size=8)
    alone = [policy.sample(seed=2, key="ada", visit=visit) for visit in range(60, 68)]
    assert together.tolist() == np.array(alone).tolist()
    assert policy.sample(seed=2, key="ada", visit=64, size=0).shape == (0, 10)


def test_a_late_visit_is_drawn_as_quickly_as_an_early_one() -> None:
    (policy,) = policies(1)
    assert policy.sample(seed=2, key="ada", visit=2**53 - 1).tolist() in policy.rankings.tolist()


@pytest.mark.parametrize("visit", [-1, 1.5, True, "3", 2**53])
def test_what_is_no_visit_is_refused(visit: object) -> None:
    (policy,) = policies(1)
    with pytest.raises(
        InputError, match=r"visit: is .*, must be a whole number of at least 0 and below 2\^53, or None"
    ):
        policy.sample(seed=1, key="ada", visit=visit)  # type: ignore[arg-type]


def test_a_visit_belongs_to_a_key() -> None:
    (policy,) = policies(1)
    with pytest.raises(InputError, match="without a seed and a key"):
        policy.sample(visit=3)


def rerank(**options: object) -> pa.Table:
    return RERANKER.rerank(TABLES.candidates, TABLES.items, history=TABLES.history, **GENRE_COLUMNS, **options)


def test_tables_draw_what_policies_draw() -> None:
    results = RERANKER.solve(
        TABLES.candidates, TABLES.items, history=TABLES.history, keep=True, visit=4, day="monday", **GENRE_COLUMNS
    )
    slates = results.slates().to_pylist()
    for user in {row["user_id"] for row in slates}:
        rows = [row for row in results.lotteries().to_pylist() if row["user_id"] == user]
        rankings = np.array([row["item_id"] for row in rows]).reshape(-1, 5)
        weights = np.array([row["probability"] for row in rows])[::5]
        problem = movie_like_problem(np.random.default_rng(0), int(rankings.max()) + 1, 5, 2, 1, 0.5)
        policy = Policy(problem, rankings, weights)
        drawn = policy.sample(seed=3, key=(user, "monday"), visit=4)
        assert [row["item_id"] for row in slates if row["user_id"] == user] == drawn.tolist()


@pytest.mark.parametrize("visit", [0, 3, 100])
def test_stored_lotteries_draw_the_same_visits(visit: int) -> None:
    stored = RERANKER.lotteries(TABLES.candidates, TABLES.items, history=TABLES.history, **GENRE_COLUMNS)
    assert RERANKER.draw(stored, visit=visit).equals(rerank(visit=visit))
    drawn = RERANKER.draw(stored, visit=visit, day="monday", propensities=True)
    asked = rerank(visit=visit, day="monday", propensities=True)
    assert drawn.select(asked.column_names).equals(asked)


def test_users_have_visits_of_their_own() -> None:
    users = sorted(set(TABLES.candidates["user_id"].to_pylist()))
    own = pa.table({"user_id": users[:4], "visit": [0, 1, 2, None]})
    slates = rerank(users=own, visit=5).to_pylist()
    by_visit = {visit: rerank(visit=visit).to_pylist() for visit in (0, 1, 2, 5)}
    for user, visit in zip(users, [0, 1, 2, 5, *[5] * len(users)], strict=False):
        expected = [row for row in by_visit[visit] if row["user_id"] == user]
        assert [row for row in slates if row["user_id"] == user] == expected
    without = rerank().to_pylist()
    slates = rerank(users=own).to_pylist()
    for user in users[3:]:
        assert [row for row in slates if row["user_id"] == user] == [row for row in without if row["user_id"] == user]


@pytest.mark.parametrize("visit", [-1.0, 0.5, float("inf")])
def test_a_bad_visit_of_one_user_stops_nobody(visit: float) -> None:
    users = sorted(set(TABLES.candidates["user_id"].to_pylist()))
    own = pa.table({"user_id": users[:2], "visit": [visit, 1.0]})
    with pytest.warns(BatchWarning, match="1 bad visit"):
        slates = rerank(users=own)
    assert set(slates["user_id"].to_pylist()) == set(users)
    stored = RERANKER.lotteries(TABLES.candidates, TABLES.items, history=TABLES.history, **GENRE_COLUMNS)
    with pytest.raises(InputError, match="users: has the visit"):
        RERANKER.draw(stored, users=own)


def test_stored_rankings_of_different_lengths_are_refused_where_they_must_be_compared() -> None:
    stored = RERANKER.lotteries(TABLES.candidates, TABLES.items, history=TABLES.history, **GENRE_COLUMNS)
    ragged = stored.slice(1)
    with pytest.raises(InputError, match="rankings of different lengths for user"):
        RERANKER.draw(ragged, visit=1)


def test_a_visit_is_the_same_however_many_are_asked_from_whichever_on() -> None:
    (policy,) = policies(1)
    whole = policy.sample(seed=1, key="ada", visit=0, size=4 * DEAL)
    for first in (1, DEAL - 1, DEAL, 2 * DEAL + 5, 4 * DEAL - 3):
        part = policy.sample(seed=1, key="ada", visit=first, size=3)
        assert part.tolist() == whole[first : first + 3].tolist()
