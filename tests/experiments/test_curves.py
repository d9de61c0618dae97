from dataclasses import replace

import numpy as np
import pytest

from excalibr._experiments import ExperimentResults, Setting
from excalibr._experiments.curves import KL, RESAMPLES, SHARES, Curves, _margins, best_rise, kept, margins, of_users
from excalibr._experiments.measures import CATALOGUE, METRICS
from excalibr._experiments.plan import PAPER_SETTING, PlanPart
from excalibr._experiments.store import Block
from excalibr.metrics import summarise
from tests.experiments.test_claims import line

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


def test_margins_are_taken_at_equal_kl() -> None:
    first, second = (line("genre", "log", PAPER_SETTING, "excalibr", loss) for loss in (0.0, 0.1))
    found = margins(first, second)
    assert found.values == pytest.approx(0.1 * (1 - SHARES))
    assert found.clear.tolist() == [1.0] * len(SHARES)
    assert margins(second, first).clear.tolist() == [-1.0] * len(SHARES)
    assert found.mean.value == pytest.approx(0.1 * (1 - SHARES).mean())


def test_a_difference_that_chance_can_make_is_none() -> None:
    first, second = (line("genre", "log", PAPER_SETTING, "excalibr", loss) for loss in (0.0, 0.1))
    first.own["ndcg"][:] += np.random.default_rng(1).normal(0.0, 1.0, 9)[:, None]
    found = margins(first, second)
    assert not found.clear.any()
    assert found.mean.verdict.startswith("not clear: about ")


def test_what_differs_from_user_to_user_alike_for_both_does_not_count() -> None:
    first, second = (line("genre", "log", PAPER_SETTING, "excalibr", loss) for loss in (0.0, 0.1))
    alike = np.random.default_rng(1).normal(0.0, 1.0, 9)[:, None]
    for curve in (first, second):
        curve.own["ndcg"][:] += alike
    assert margins(first, second).clear.tolist() == [1.0] * len(SHARES)


def test_a_sample_is_compared_on_its_own_users() -> None:
    everybody, other = (line("genre", "log", PAPER_SETTING, "excalibr", loss) for loss in (0.0, 0.1))
    everybody.own["ndcg"][4:] = 0.0  # users that the sample does not have
    sample = replace(other, user_ids=np.arange(4), own=of_users(other.own, np.arange(4)))
    assert margins(everybody, sample).values == pytest.approx(0.1 * (1 - SHARES))


def test_a_level_that_one_curve_does_not_reach_is_not_known() -> None:
    first, second = (line("genre", "log", PAPER_SETTING, "excalibr", 0.1) for _ in range(2))
    second.own[KL][:, 3] = 0.04  # it stops at a share of 0.2
    assert np.isnan(margins(first, second).values).tolist() == [False] * 5 + [True] * 2


def test_a_rise_is_paired() -> None:
    curve = line("popularity", "log", PAPER_SETTING, "excalibr", -0.1)
    found = best_rise(curve)
    assert found.value == pytest.approx(0.1)
    assert found.error == pytest.approx(0.0)
    assert found.users == 9
    assert found.verdict == "holds"


def test_what_never_deviates_has_a_least_deviation_of_nothing() -> None:
    """Once it was 0 ÷ 0, such as where all items have one category."""
    curve = line("genre", "log", PAPER_SETTING, "excalibr", 0.0)
    level = replace(curve, means=curve.means | {KL: np.zeros(4)}, start=curve.start | {KL: 0.0})
    assert level.least(KL, 0.9) == 0.0


def test_the_least_deviation_is_where_so_much_of_the_ndcg_is_left() -> None:
    curve = line("genre", "log", PAPER_SETTING, "excalibr", 0.1)  # a tenth of the KL costs 0.01 of 0.4
    assert curve.least(KL, 0.9) == pytest.approx(0.06, abs=1e-4)
    assert curve.least(KL, 2.0) == 0.1


def test_a_level_that_fewer_than_half_of_the_resamples_reach_is_not_known() -> None:
    found = np.full((1 + RESAMPLES, 2), 0.1)
    found[1 : 1 + int(0.6 * RESAMPLES), 0] = np.nan
    found[1 : 1 + int(0.4 * RESAMPLES), 1] = np.nan
    known = _margins(found, 9)
    assert np.isnan(known.values).tolist() == [True, False]
    assert known.resampled[:, 1].tolist() == [0.1] * RESAMPLES


def test_the_best_trade_off_is_not_chosen_by_those_who_judge_it() -> None:
    """Chosen on all of them, the best of many trade-offs that change nothing was above by chance."""
    random, rises = np.random.default_rng(3), []
    for _ in range(300):
        curve = line("popularity", "log", PAPER_SETTING, "excalibr", 0.0)
        curve.own["ndcg"][:] += random.normal(0.0, 0.1, curve.own["ndcg"].shape)
        rises.append(best_rise(curve).value)
    assert abs(np.mean(rises)) < 3 * np.std(rises) / np.sqrt(len(rises))


def test_one_user_is_no_resample() -> None:
    first, second = (line("genre", "log", PAPER_SETTING, "excalibr", loss) for loss in (0.0, 0.1))
    alone = replace(second, user_ids=np.arange(1), own=of_users(second.own, np.arange(1)))
    found = margins(first, alone)
    assert np.isnan(found.errors).all()
    assert not found.clear.any()
    assert found.mean.verdict == best_rise(alone).verdict == "not clear: too few users"


def test_nothing_is_left_of_an_ndcg_of_nothing() -> None:
    """Once it was a warning of numpy's."""
    curve = line("genre", "log", PAPER_SETTING, "excalibr", 0.0)
    curve.own["ndcg"][:] = 0.0
    assert kept(curve).at(0.5).verdict == "not clear: no level is reached by both"
