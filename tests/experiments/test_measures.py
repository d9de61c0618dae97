import numpy as np
import pytest

from excalibr import calibrate_path, metrics
from excalibr._experiments.measures import METRICS, measure
from excalibr._policy import Policy
from excalibr.metrics import HeldOut

POPULARITY = np.linspace(0.0, 0.95, 20)


def lotteries(k: int) -> list[Policy]:
    random = np.random.default_rng(3)
    categories = random.dirichlet(np.ones(4) * 0.3, size=20)
    return calibrate_path(random.random(20), categories, [0.4, 0.3, 0.2, 0.1], k=k, trade_offs=[0.05, 0.5, 0.9])


@pytest.mark.parametrize("k", [3, 12])
def test_what_is_measured_is_what_the_metrics_say(k: int) -> None:
    policies, held_out = lotteries(k), HeldOut.of([1, 7, 15], n=20, total=5)
    found = measure(policies, held_out, POPULARITY, seed=0, key="ada")
    assert max(len(policy.weights) for policy in policies) > 1
    for policy, row in zip(policies, found, strict=True):
        by_name = dict(zip(METRICS, row, strict=True))
        expected = metrics.evaluate(policy, held_out)
        for name in (*METRICS[:3], *METRICS[4:10]):
            assert by_name[name] == pytest.approx(getattr(expected, name), abs=1e-12), name
        assert by_name["popularity"] == pytest.approx(policy.exposure @ POPULARITY, abs=1e-12)
        assert by_name["rankings"] == len(policy.weights)
        assert by_name["gap"] == policy.gap


def test_the_one_draw_is_the_ranking_that_the_policy_samples() -> None:
    held_out = HeldOut.of([0, 2, 3], n=20)
    for user in range(8):
        found = measure(lotteries(3), held_out, POPULARITY, seed=4, key=user)
        for policy, row in zip(lotteries(3), found, strict=True):
            alone = Policy(policy.problem, policy.sample(seed=4, key=user)[None, :], np.ones(1))
            expected = metrics.evaluate(alone, held_out)
            shown = dict(zip(METRICS, row, strict=True))
            for name in ("ndcg", "mrr"):
                assert shown[f"{name}_of_one_draw"] == pytest.approx(getattr(expected, name), abs=1e-12)
            for name in ("kl", "l1"):
                known = getattr(expected, f"{name}_of_expectation")
                assert shown[f"{name}_of_one_draw"] == pytest.approx(known, abs=1e-12)


def test_after_some_visits_it_is_the_mean_of_what_they_showed() -> None:
    held_out = HeldOut.of([0, 2, 3], n=20)
    for user in ("ada", "bob"):
        found = measure(lotteries(3), held_out, POPULARITY, seed=4, key=user)
        for policy, row in zip(lotteries(3), found, strict=True):
            categories, weights = policy.problem.memberships.dense(), policy.problem.position_weights
            shown = policy.sample(seed=4, key=user, visit=0, size=30)
            seen = np.array([weights @ categories[ranking] for ranking in shown])
            for visits in (1, 3, 7, 30):
                known = np.abs(seen[:visits].mean(axis=0) - policy.problem.target).sum()
                name = "l1_of_1_visit" if visits == 1 else f"l1_of_{visits}_visits"
                assert row[METRICS.index(name)] == pytest.approx(known, abs=1e-12)
