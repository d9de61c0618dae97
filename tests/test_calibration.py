import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import excalibr
from excalibr import Policy, calibrate, calibrate_path
from excalibr.errors import ExcalibrError, GapWarning, InputError, InputTypeError, TruncationWarning

SCORES = [0.9, 0.8, 0.5, 0.4, 0.3]
CATEGORIES = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.5, 0.5]]
TARGET = [0.5, 0.5]


def asked(**changes: Any) -> Policy:
    options: dict[str, Any] = {"k": 2, **changes}
    return calibrate(
        options.pop("scores", SCORES), options.pop("categories", CATEGORIES), options.pop("target", TARGET), **options
    )


def drawn(seed: int, n: int = 40, r: int = 5) -> tuple[Any, Any, Any]:
    """A random problem of n candidates with one or two of r categories each."""
    generator = np.random.default_rng(seed)
    rows = np.eye(r)[generator.integers(r, size=n)] + np.eye(r)[generator.integers(r, size=n)]
    return generator.random(n), rows / 2.0, generator.dirichlet(np.ones(r))


def test_relevance_only_is_plain_sorting() -> None:
    policy = asked(trade_off=0, k=3)
    assert policy.rankings.tolist() == [[0, 1, 2]]
    assert policy.weights.tolist() == [1.0]


def test_calibration_only_reaches_a_target_within_reach() -> None:
    assert asked(trade_off=1, position_weights="uniform").deviation == pytest.approx(0.0, abs=1e-9)


def test_more_calibration_means_less_deviation_and_less_relevance() -> None:
    path = [calibrate(*drawn(1), k=10, trade_off=trade_off) for trade_off in (0.0, 0.05, 0.2, 0.8)]
    assert all(one.deviation >= other.deviation - 1e-9 for one, other in pairwise(path))
    assert all(one.relevance >= other.relevance - 1e-9 for one, other in pairwise(path))
    assert path[0].deviation > path[-1].deviation + 0.1


def test_half_and_half_is_what_is_asked_when_nothing_is() -> None:
    assert asked().problem.trade_off == 0.5
    assert asked(trade_off=0.5).rankings.tolist() == asked().rankings.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_the_answer_is_a_lottery_with_a_proof(seed: int) -> None:
    scores, rows, target = drawn(seed)
    policy = calibrate(scores, rows, target, k=10, trade_off=0.3)
    assert policy.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (policy.weights > 0).all()
    assert (np.diff(policy.weights) <= 0).all()
    assert len(policy.weights) <= 6
    assert all(len(set(ranking)) == 10 for ranking in policy.rankings.tolist())
    assert 0.0 <= policy.gap <= 1e-9
    check_prices(policy)


def check_prices(policy: Policy) -> None:
    """The prices are within the trade-off and prove the bound by themselves."""
    problem, prices = policy.problem, policy.prices
    assert prices is not None
    assert np.abs(prices).max() <= problem.trade_off + 1e-12
    adjusted = np.sort(problem.gains - problem.memberships.dense() @ prices)[::-1][: problem.k]
    bound = prices @ problem.target + np.sort(problem.position_weights)[::-1] @ adjusted
    assert bound - policy.objective == pytest.approx(policy.gap, abs=1e-12)


def test_no_single_ranking_beats_the_lottery() -> None:
    scores, rows, target = drawn(3)
    policy = calibrate(scores, rows, target, k=5, trade_off=0.4)
    generator = np.random.default_rng(0)
    rankings = np.array([generator.permutation(40)[:5] for _ in range(200)] + [np.argsort(-scores)[:5]])
    others = Policy(policy.problem, rankings, np.full(len(rankings), 1.0 / len(rankings)))
    values = 0.6 * others.draw_relevances - 0.4 * others.draw_deviations
    assert values.max() <= policy.bound + 1e-12


def test_sparse_and_dense_categories_give_the_same_policy() -> None:
    scores, rows, target = drawn(2)
    dense, sparse = (calibrate(scores, kind(rows), target, k=8) for kind in (np.array, sp.csr_array))
    assert dense.rankings.tolist() == sparse.rankings.tolist()
    assert dense.weights.tolist() == sparse.weights.tolist()


def test_weights_that_rise_put_the_best_at_the_end() -> None:
    policy = asked(trade_off=0, k=3, position_weights=[1, 2, 3])
    assert policy.rankings.tolist() == [[2, 1, 0]]


def test_the_same_question_has_the_same_answer() -> None:
    first, second = (calibrate(*drawn(4), k=10) for _ in range(2))
    assert first.rankings.tolist() == second.rankings.tolist()
    assert first.weights.tolist() == second.weights.tolist()


def test_a_path_is_one_policy_for_each_trade_off_in_the_order_asked() -> None:
    trade_offs = [0.5, 0.0, 1.0, 0.1]
    path = calibrate_path(*drawn(5), trade_offs=trade_offs, k=10)
    assert [policy.problem.trade_off for policy in path] == trade_offs
    for policy in path:
        alone = calibrate(*drawn(5), k=10, trade_off=policy.problem.trade_off)
        assert policy.objective == pytest.approx(alone.objective, abs=2e-9)


def test_a_path_over_no_trade_offs_is_empty() -> None:
    assert calibrate_path(*drawn(5), trade_offs=[], k=10) == []


def test_a_cap_on_sorts_warns_and_still_gives_a_valid_lottery() -> None:
    with pytest.warns(GapWarning):
        policy = calibrate(*drawn(6, n=400, r=12), k=20, max_sorts=2)
    assert policy.gap > 1e-9
    assert policy.weights.sum() == pytest.approx(1.0, abs=1e-12)
    check_prices(policy)


def test_as_many_slots_as_candidates_warns_at_the_line_of_the_caller() -> None:
    with pytest.warns(TruncationWarning, match="k = n = 5: .* Pass more candidates than slots") as caught:
        calibrate(SCORES, CATEGORIES, TARGET)
    assert caught[0].filename == __file__


def test_one_candidate_is_no_reason_to_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert calibrate([1.0], [[1.0]], [1.0]).rankings.tolist() == [[0]]


BAD_VALUES: list[tuple[dict[str, Any], str]] = [
    ({"scores": [0.9, np.nan, 0.5, 0.4, 0.3]}, "scores: element 1 is nan, must be finite"),
    ({"scores": [0.9, 0.8, np.inf, 0.4, 0.3]}, "scores: element 2 is inf, must be finite"),
    ({"scores": [], "categories": np.ones((0, 2))}, "scores: are empty, must have at least one candidate"),
    ({"scores": [0.9]}, "categories: have shape"),
    ({"categories": [[2, 0]] * 5}, "categories: row 0 sums to 2, must sum to 1. Hint: divide each row by its sum"),
    ({"categories": [[2, -1]] * 5}, "categories: row 0, column 1 is -1.0, must be finite and at least 0"),
    ({"target": [0.5, 0.6]}, "target: sums to 1.1, must sum to 1. Hint: divide it by its sum"),
    ({"k": 0}, "k: is 0, must be a whole number of at least 1"),
    ({"k": 6}, "k: is 6, must be at most the number of candidates"),
    ({"trade_off": 1.01}, "trade_off: is 1.01, must be from 0"),
    ({"trade_off": float("nan")}, "trade_off: is nan, must be from 0"),
    ({"position_weights": [0, 0]}, "position_weights: are all 0"),
    ({"position_weights": [-1, 2]}, "position_weights: element 0 is -1.0"),
    ({"position_weights": "logs"}, "position_weights: is 'logs'.*did you mean 'log'"),
    ({"method": "excaliber"}, "method: is 'excaliber', must be .*did you mean 'excalibr'"),
    ({"method": ["excalibr"]}, r"method: is \['excalibr'\], must be"),
    ({"divergence": "L1"}, "divergence: is 'L1', must be .*did you mean 'l1'"),
    ({"draws": "lotery"}, "draws: is 'lotery', must be .*did you mean 'lottery'"),
    ({"tolerance": 0.0}, "tolerance: is 0.0, must be a positive number"),
    ({"max_sorts": 0}, "max_sorts: is 0, must be a whole number of at least 1"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_VALUES)
def test_a_wrong_argument_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        asked(**changes)
    assert isinstance(caught.value, ExcalibrError)
    assert isinstance(caught.value, ValueError)


def test_a_path_refuses_a_single_number_and_a_wrong_one() -> None:
    with pytest.raises(InputTypeError, match="trade_offs: is 0.5, must be a list of numbers"):
        calibrate_path(SCORES, CATEGORIES, TARGET, trade_offs=0.5, k=2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="trade_off: is 2, must be from 0"):
        calibrate_path(SCORES, CATEGORIES, TARGET, trade_offs=[0.5, 2], k=2)


def test_every_known_method_can_be_asked_for_by_name() -> None:
    assert "excalibr" in excalibr.methods.METHODS
    assert asked(method="excalibr").method == "excalibr"
