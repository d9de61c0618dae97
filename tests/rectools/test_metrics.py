from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rectools")

from rectools.metrics import NDCG, calc_metrics
from rectools.models import EASEModel

from excalibr import Policy, Problem, metrics, targets
from excalibr.errors import InputError
from excalibr.rectools import CalibrationError
from tests.rectools.invented import GENRES, ITEMS, dataset, genres, interactions, items_table

DATA = dataset()
USERS = [7, 3, 12, 1]
RECO = EASEModel(10.0).fit(DATA).recommend(USERS, DATA, 8, True)
PAST = interactions()


def rows() -> Any:
    """The shares of the items, those of the one without a genre in a last column."""
    own = [[(genre in each) / max(len(each), 1) for genre in GENRES] + [not each] for each in genres()]
    return np.array(own, dtype=np.float64)


def ours(user: int, k: int, divergence: str, weights: str, *, weighted: bool = False) -> float:
    """The same by the metrics of this library, from a problem and a policy."""
    mine, shown = PAST[PAST["user_id"] == user], RECO[RECO["user_id"] == user].head(k)
    counted = mine["weight"] if weighted else None
    target = targets.history(rows(), mine["item_id"] - ITEMS[0], weights=counted)
    problem = Problem.of(np.zeros(k), rows()[shown["item_id"] - ITEMS[0]], target, position_weights=weights)
    return metrics.deviation(Policy(problem, np.arange(k)[None], np.ones(1)), divergence).of_expectation


@pytest.mark.parametrize("divergence", ["kl", "l1", "hellinger", "jensen_shannon"])
@pytest.mark.parametrize("weights", ["log", "uniform"])
@pytest.mark.parametrize("k", [5, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_deviation_of_this_library(divergence: str, weights: str, k: int, weighted: bool) -> None:
    how: dict[str, Any] = {"divergence": divergence, "position_weights": weights, "weighted": weighted}
    found = CalibrationError(k, items=DATA, **how).calc_per_user(RECO, PAST)
    expected = [ours(user, k, divergence, weights, weighted=weighted) for user in sorted(USERS)]
    assert found.index.tolist() == sorted(USERS)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_it_stands_beside_ndcg_in_calc_metrics() -> None:
    asked = {"ndcg": NDCG(5), "kl": CalibrationError(5, items=items_table())}
    found = calc_metrics(asked, RECO, interactions=PAST, prev_interactions=PAST)
    assert found["kl"] == pytest.approx(np.mean([ours(user, 5, "kl", "log") for user in USERS]))
    assert 0 <= found["ndcg"] <= 1


def test_users_without_a_history_and_unknown_items_count_for_nothing() -> None:
    more = pd.DataFrame({"user_id": [99, 1], "item_id": [100, 777], "score": 0.5, "rank": [1, 1]})
    reco = pd.concat([RECO[RECO["user_id"] != 1], more])
    metric = CalibrationError(5, items=DATA)
    found = metric.calc_per_user(reco, PAST)
    assert found[[1, 99]].isna().all()
    assert metric.calc(reco, PAST) == pytest.approx(np.mean([ours(user, 5, "kl", "log") for user in (3, 7, 12)]))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="divergence: is 'KL2'"):
        CalibrationError(5, items=DATA, divergence="KL2")
    with pytest.raises(InputError, match="position_weights: is 'lgo'"):
        CalibrationError(5, items=DATA, position_weights="lgo")
    with pytest.raises(InputError, match="feature: is 'genres'"):
        CalibrationError(5, items=DATA, feature="genres")


def test_ranks_of_any_type_count_alike() -> None:
    metric = CalibrationError(5, items=DATA)
    for ranks in (RECO["rank"].astype(float), RECO["rank"].astype("uint8")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # RecTools' own, of ranks that are no integers
            assert metric.calc(RECO.assign(rank=ranks), PAST) == metric.calc(RECO, PAST)


@pytest.mark.filterwarnings("ignore:Expected:UserWarning")
@pytest.mark.parametrize("shift", [-1, -0.5])
def test_ranks_that_do_not_count_from_1_are_refused(shift: float) -> None:
    with pytest.raises(InputError, match="column 'rank' of reco: has a value that is no rank, must count slots from 1"):
        CalibrationError(5, items=DATA).calc(RECO.assign(rank=RECO["rank"] + shift), PAST)


def test_weights_that_are_asked_for_must_be_there() -> None:
    with pytest.raises(InputError, match="prev_interactions: have no column 'weight', must have one"):
        CalibrationError(5, items=DATA, weighted=True).calc(RECO, PAST.drop(columns="weight"))
