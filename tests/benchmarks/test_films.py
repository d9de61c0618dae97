from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import films
from benchmarks.kernels import inspect
from benchmarks.problems import TRADE_OFFS, TUNED, UNSEEN
from excalibr.datasets import load_movielens, split_users
from tests.experiments.invented import movielens_folder


def test_a_movielens_folder_becomes_sets_by_attribute_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(films, "SIZES", (10, 20))
    monkeypatch.setattr(films, "SLOTS", 5)
    sets = films.film_sets(movielens_folder(tmp_path), users=2)
    names = [f"{attribute}, n={n}" for attribute in ("genre", "decade", "popularity") for n in (10, 20)]
    assert [each.name for each in sets] == names
    for each in sets:
        assert [instance.trade_off for instance in each.instances] == list(TRADE_OFFS[:2])
        for instance in each.instances:
            problem = instance.problem()
            assert (problem.n, problem.k) == (len(instance.scores), 5)
            assert (np.diff(instance.scores) <= 0.0).all()


def test_another_seed_has_none_of_the_users_that_constants_were_chosen_on(tmp_path: Path) -> None:
    liked = load_movielens(movielens_folder(tmp_path)).positives()
    asked = []
    for seed in (TUNED, UNSEEN):
        tested = split_users(liked, seed=seed).test.history
        asked.append({*tested.user_ids[films._chosen(liked, tested, 1000, seed)].tolist()})
    assert asked[0]
    assert asked[1]
    assert not asked[0] & asked[1]


def test_a_solve_says_which_engine_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(films, "SIZES", (10,))
    monkeypatch.setattr(films, "SLOTS", 5)
    found = inspect(films.film_sets(movielens_folder(tmp_path), users=1)[0].instances[0])
    assert found.engine
    assert found.gap <= 1e-9
    assert found.sorts > 0
