from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("lenskit")

from lenskit.data import ItemList, ItemListCollection, UserIDKey
from lenskit.metrics import NDCG, RunAnalysis

from excalibr import Policy, Problem, metrics
from excalibr.errors import InputError, InputTypeError
from excalibr.lenskit import CalibratedReranker, CalibrationError, MeanCalibrationError
from tests.lenskit.invented import dataset, scored

DATA = dataset()
USERS = range(1, 13)


def trained() -> CalibratedReranker:
    reranker = CalibratedReranker()
    reranker.train(DATA)
    return reranker


def run() -> ItemListCollection[UserIDKey]:
    lists: ItemListCollection[UserIDKey] = ItemListCollection(UserIDKey)
    for user in USERS:
        lists.add(scored(DATA, user).top_n(8), user_id=user)
    return lists


def ours(reranker: CalibratedReranker, user: int, n: int, divergence: str, weights: str) -> float:
    """The same by the metrics of this library, from a problem and a policy."""
    shown = scored(DATA, user).top_n(n)
    rows = reranker.learned.items.rows.dense()[reranker.learned.places_of(shown)]
    target = reranker.learned.target_of(user, None, None)
    assert target is not None
    problem = Problem.of(np.zeros(n), rows, target, position_weights=weights)
    return metrics.deviation(Policy(problem, np.arange(n)[None], np.ones(1)), divergence).of_expectation


@pytest.mark.parametrize("divergence", ["kl", "l1", "hellinger", "jensen_shannon"])
@pytest.mark.parametrize("weights", ["log", "uniform"])
@pytest.mark.parametrize("n", [5, 8])
def test_both_metrics_are_the_deviation_of_this_library(divergence: str, weights: str, n: int) -> None:
    reranker = trained()
    how: dict[str, Any] = {"divergence": divergence, "position_weights": weights}
    expected = [ours(reranker, user, n, divergence, weights) for user in USERS]
    np.testing.assert_allclose(MeanCalibrationError(reranker, n, **how).measure_lists(run()), expected, atol=1e-12)
    histories = DATA.interactions().matrix().item_lists()
    found = RunAnalysis(CalibrationError(reranker, n, **how)).measure(run(), histories).list_metrics()
    np.testing.assert_allclose(found.iloc[:, 0], expected, atol=1e-12)


def test_the_mean_stands_beside_ndcg_in_one_analysis() -> None:
    reranker = trained()
    test: ItemListCollection[UserIDKey] = ItemListCollection(UserIDKey)
    for user in USERS:
        test.add(ItemList(scored(DATA, user).ids()[:3]), user_id=user)
    measure = MeanCalibrationError(reranker, 5)
    result = RunAnalysis(NDCG(5), measure).measure(run(), test)
    assert "NDCG@5" in result.list_summary().index
    means = [ours(reranker, user, 5, "kl", "log") for user in USERS]
    assert result.global_metrics()["MeanCalibrationError(kl)@5"] == pytest.approx(np.mean(means))


def test_users_without_a_target_and_empty_lists_count_for_nothing() -> None:
    reranker = trained()
    lists = run()
    lists.add(ItemList([], ordered=True), user_id=1)
    lists.add(scored(DATA, 1).top_n(5), user_id=4711)
    lists.add(ItemList([999_999], ordered=True), user_id=2)
    values = MeanCalibrationError(reranker, 5).measure_lists(lists)
    assert np.isnan(values[-3:]).all()
    assert MeanCalibrationError(reranker, 5).measure_run(lists) == pytest.approx(np.mean(values[:-3]))
    assert np.isnan(CalibrationError(reranker, 5).measure_list(scored(DATA, 1).top_n(5), ItemList([])))


def test_a_measure_needs_a_trained_reranker_and_known_names() -> None:
    with pytest.raises(InputError, match="reranker: is not trained"):
        CalibrationError(CalibratedReranker())
    with pytest.raises(InputError, match="divergence: is 'KL2'"):
        CalibrationError(trained(), divergence="KL2")
    with pytest.raises(InputError, match="position_weights: is 'lgo'"):
        CalibrationError(trained(), position_weights="lgo")
    numbers: Any = [3.0, 2.0, 1.0]
    with pytest.raises(InputTypeError, match=r"position_weights: is \[3.0, 2.0, 1.0\], must be a name, such as 'log'"):
        CalibrationError(trained(), position_weights=numbers)


def test_a_run_in_which_nobody_has_a_target_has_no_mean() -> None:
    nobody: ItemListCollection[UserIDKey] = ItemListCollection(UserIDKey)
    assert np.isnan(MeanCalibrationError(trained()).measure_run(nobody))
    nobody.add(scored(DATA, 1).top_n(5), user_id=4711)
    assert np.isnan(MeanCalibrationError(trained()).measure_run(nobody))


def test_a_run_by_other_keys_is_refused() -> None:
    lists: Any = ItemListCollection(["query_id"])
    lists.add(scored(DATA, 1).top_n(5), query_id=1)
    with pytest.raises(InputError, match="run: has lists by query_id, must have them by user_id"):
        MeanCalibrationError(trained()).measure_run(lists)
