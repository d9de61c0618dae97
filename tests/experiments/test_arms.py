import numpy as np
import pytest

from excalibr import Policy, baselines
from excalibr._calibration import calibrate
from excalibr._experiments.arms import ARMS, MIP_GAP, MIP_NODES, Question, answer
from excalibr.metrics import kl


def question(n: int = 24, slots: int = 8) -> Question:
    random = np.random.default_rng(11)
    categories = np.eye(3)[random.integers(3, size=n)]
    return Question(np.sort(random.random(n))[::-1].copy(), categories, np.array([0.5, 0.3, 0.2]), slots)


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_answers_for_each_weighting_and_trade_off(name: str) -> None:
    found = answer(ARMS[name], question(), ["log", "sqrt"], [0.1, 0.6])
    assert [[policy.problem.trade_off for policy in row] for row in found] == [[0.1, 0.6]] * 2
    for weighting, row in zip(("log", "sqrt"), found, strict=True):
        for policy in row:
            assert policy.problem.position_weights == pytest.approx(question().problem(weighting).position_weights)


def test_excalibr_is_the_exact_optimum() -> None:
    asked = question()
    policies = answer(ARMS["excalibr"], asked, ["log"], [0.2, 0.7])[0]
    for policy in policies:
        alone = calibrate(asked.scores, asked.categories, asked.target, k=8, trade_off=policy.problem.trade_off)
        assert policy.objective == pytest.approx(alone.objective, abs=1e-8)


def test_excalibr_with_kl_is_the_best_by_kl() -> None:
    def value(policy: Policy) -> float:
        trade_off = policy.problem.trade_off
        return (1 - trade_off) * policy.relevance - trade_off * float(kl(policy.distribution, policy.problem.target))

    trade_offs = [0.05, 0.2, 0.7]
    ours, *others = (
        answer(ARMS[name], question(), ["log"], trade_offs)[0] for name in ("excalibr-kl", "excalibr", "greedy")
    )
    for policies in others:
        assert all(value(best) >= value(other) - 1e-8 for best, other in zip(ours, policies, strict=True))


def test_the_set_of_mip_greedy_serves_every_weighting() -> None:
    found = answer(ARMS["mip-greedy"], question(), ["log", "reciprocal"], [0.3, 0.8])
    for weighting, row in zip(("log", "reciprocal"), found, strict=True):
        for policy in row:
            problem = question().problem(weighting).with_trade_off(policy.problem.trade_off)
            alone = baselines.mip_greedy(problem, max_nodes=MIP_NODES, relative_gap=MIP_GAP)
            assert policy.rankings.tolist() == alone.rankings.tolist()


def test_as_many_slots_as_candidates_is_no_cause_for_a_warning() -> None:
    assert answer(ARMS["excalibr"], question(8, 8), ["log"], [0.5])[0][0].problem.k == 8
