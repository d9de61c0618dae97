import numpy as np
import pytest

from excalibr._experiments import ExperimentResults, Setting
from excalibr._experiments.curves import Curves
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._experiments.plan import PlanPart
from excalibr._experiments.store import Block
from excalibr.metrics import summarise

SETTING = Setting(20, 10)


def block(arm: str, users: list[int], trade_offs: tuple[float, ...], seed: int) -> Block:
    values = np.random.default_rng(seed).random((1, len(users), len(trade_offs), len(METRICS)))
    return Block(PlanPart("genre", SETTING, arm), ("log",), np.array(users), trade_offs, values, values[:, 0, :, :2])


def test_means_and_errors_are_those_of_the_metrics_module() -> None:
    every = [block("relevance", [1, 2, 3, 4], (0.0,), 1), block("greedy", [1, 2, 3, 4], (0.1, 0.9), 2)]
    curve = Curves.of(every).get("genre", "log", SETTING, "greedy")
    assert curve is not None
    known = summarise(every[1].values[0, :, 1, METRICS.index("mrr")])
    assert curve.means["mrr"][1] == pytest.approx(known.mean)
    assert curve.errors["mrr"][1] == pytest.approx(known.standard_error)


def test_a_sample_keeps_its_own_means_and_start() -> None:
    relevance, sampled = block("relevance", [1, 2, 3, 4], (0.0,), 1), block("mip-greedy", [2, 4], (0.1, 0.9), 2)
    curve = Curves.of([relevance, sampled]).get("genre", "log", SETTING, "mip-greedy")
    assert curve is not None
    place = METRICS.index("ndcg")
    assert (curve.users, curve.complete) == (2, False)
    assert curve.means["ndcg"] == pytest.approx(sampled.values[0, :, :, place].mean(axis=0))
    assert curve.start["ndcg"] == pytest.approx(relevance.values[0, [1, 3], 0, place].mean())


def test_a_curve_is_read_between_its_points_and_not_beyond(results: ExperimentResults) -> None:
    curve = results.curves.get("genre", "log", SETTING, "excalibr")
    assert curve is not None
    x, y = curve.means["kl_of_expectation"], curve.means["ndcg"]
    assert curve.at(x[1:2])[0] == pytest.approx(y[1])
    between = 0.5 * (x[0] + curve.start["kl_of_expectation"])
    assert curve.at(np.array([between]))[0] == pytest.approx(0.5 * (y[0] + curve.start["ndcg"]))
    assert np.isnan(curve.at(np.array([10.0, -1.0]))).all()


def test_the_summary_is_tidy(results: ExperimentResults) -> None:
    summary = results.curves.summary()
    sizes = {len(column) for column in summary.values()}
    assert sizes == {sum(len(curve.trade_offs) for curve in results.curves) * len((*METRICS, *CATALOGUE))}
    assert set(summary["metric"]) == {*METRICS, *CATALOGUE}
