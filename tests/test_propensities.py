"""Propensities: they are the lottery's own frequencies, and a log with them says what another policy would earn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import excalibr
from excalibr import Reranker
from excalibr.errors import InputError, InputTypeError
from tests.problems import movie_like_problem
from tests.tables.invented import GENRE_COLUMNS, invented_tables


def a_policy(seed: int = 3) -> excalibr.Policy:
    each = movie_like_problem(np.random.default_rng(seed), 40, 6, 7, 2, 0.6)
    return excalibr.calibrate(each.scores, each.memberships.dense(), each.target, k=6, trade_off=0.6)


@pytest.mark.parametrize("seed", range(5))
def test_propensities_are_those_of_the_matrix(seed: int) -> None:
    policy = a_policy(seed)
    matrix = policy.matrix()
    for ranking, weight in zip(policy.rankings, policy.weights, strict=True):
        found = policy.propensities(ranking)
        np.testing.assert_allclose(found.in_slot, matrix[ranking, np.arange(6)], atol=1e-14)
        np.testing.assert_allclose(found.anywhere, matrix[ranking].sum(axis=1), atol=1e-14)
        assert policy.probability(ranking) == weight


def test_a_ranking_that_is_never_drawn_has_no_probability() -> None:
    policy = a_policy()
    never = policy.rankings[0][::-1]
    assert policy.probability(never) == 0.0
    unseen = np.setdiff1d(np.arange(40), policy.rankings)[:6]
    assert policy.propensities(unseen).anywhere.tolist() == [0.0] * 6


@pytest.mark.parametrize("ranking", [[0, 1], [0, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 40], [-1, 1, 2, 3, 4, 5], [0.5] * 6])
def test_what_is_no_ranking_is_refused(ranking: list[float]) -> None:
    with pytest.raises(InputError, match="ranking: "):
        a_policy().propensities(ranking)
    with pytest.raises(InputError, match="ranking: "):
        a_policy().probability(ranking)


@pytest.mark.parametrize("ranking", [[[0], [1, 2]], np.ma.array(range(6), mask=[True] + [False] * 5)])
def test_what_cannot_be_read_as_a_ranking_is_refused_by_name(ranking: Any) -> None:
    for ask in (a_policy().propensities, a_policy().probability):
        with pytest.raises(InputTypeError, match="ranking: cannot be read as whole numbers .*must be whole numbers"):
            ask(ranking)


def test_slates_carry_the_propensities_of_the_policy_that_they_were_drawn_from() -> None:
    tables, reranker = invented_tables(users=8), Reranker(k=5, trade_off=0.4, seed=3)
    given = (tables.candidates, tables.items)
    results = reranker.solve(*given, history=tables.history, keep=True, propensities=True, **GENRE_COLUMNS)
    slates, lotteries = results.slates().to_pylist(), results.lotteries().to_pylist()
    assert slates
    for row in slates:
        own = [each for each in lotteries if each["user_id"] == row["user_id"] and each["item_id"] == row["item_id"]]
        in_slot = sum(each["probability"] for each in own if each["rank"] == row["rank"])
        assert row["propensity"] == pytest.approx(in_slot, abs=1e-14)
        assert row["propensity_anywhere"] == pytest.approx(sum(each["probability"] for each in own), abs=1e-14)
        assert row["probability"] in {each["probability"] for each in own}
    plain = reranker.rerank(*given, history=tables.history, **GENRE_COLUMNS)
    assert results.slates().select(plain.column_names).equals(plain)


def test_a_log_of_draws_says_what_another_policy_would_have_earned() -> None:
    """Inverse propensity scoring recovers the value of a policy that was never shown, from 20,000 logged draws."""
    logged = a_policy()
    worth = np.random.default_rng(1).random(40)  # the chance that a candidate is clicked, where it is looked at
    seen = logged.problem.position_weights / logged.problem.position_weights[0]  # the chance that a slot is looked at
    wanted = dict(zip(map(tuple, logged.rankings.tolist()), np.roll(logged.weights, 1), strict=True))
    value = sum(weight * (worth[list(ranking)] * seen).sum() for ranking, weight in wanted.items())
    clicks = np.random.default_rng(2)
    estimates = []
    for key in range(20_000):
        ranking = logged.sample(seed=9, key=key)
        earned = (clicks.random(6) < worth[ranking] * seen).sum()
        estimates.append(earned * wanted[tuple(ranking.tolist())] / logged.probability(ranking))
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - value) < 4 * error
    assert error < 0.02 * value
