import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from scipy import sparse

from excalibr import Band, calibrate, calibrate_batch
from excalibr._many_users import measure, solve_users
from excalibr._options import Options
from excalibr._problem import Batch, Status
from excalibr._solver import questions_of
from excalibr.errors import BatchWarning, ExcalibrError, ExcalibrWarning, InputError, InputTypeError


def made_up(r: int = 4, users: int = 70, seed: int = 0) -> dict[str, Any]:
    """Users with one to forty candidates out of thirty items, all with numbers of their own."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 40, users)
    rows = random.random((30, r)) * (random.random((30, r)) < 0.4) + 1e-3
    return {
        "scores": random.normal(size=sizes.sum()),
        "indptr": np.cumsum([0, *sizes]),
        "categories": rows / rows.sum(axis=1, keepdims=True),
        "targets": random.dirichlet(np.ones(r), users),
        "items": random.integers(0, 30, sizes.sum()),
        "trade_offs": random.random(users),
        "slots": random.integers(1, 15, users),
    }


def one_by_one(given: dict[str, Any], user: int, **options: Any) -> Any:
    own = slice(given["indptr"][user], given["indptr"][user + 1])
    size = own.stop - own.start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)
        return calibrate(
            given["scores"][own],
            given["categories"][given["items"][own]],
            given["targets"][user],
            k=int(min(given["slots"][user], size)),
            trade_off=given["trade_offs"][user],
            **options,
        )


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("r", [4, 20])
def test_a_batch_is_calibrate_user_by_user_to_the_bit(r: int, threads: int) -> None:
    given = made_up(r)
    policies = calibrate_batch(**given, threads=threads)
    for user, policy in enumerate(policies):
        alone = one_by_one(given, user)
        assert policy.rankings.tolist() == alone.rankings.tolist()
        assert policy.weights.tolist() == alone.weights.tolist()
        assert policy.prices.tolist() == alone.prices.tolist()
        assert (policy.gap, policy.relevance, policy.deviation) == (alone.gap, alone.relevance, alone.deviation)


@pytest.mark.parametrize("trade_off", [0.0, 1.0])
def test_the_ends_of_the_trade_off_are_those_of_calibrate(trade_off: float) -> None:
    given = made_up(users=20)
    given["scores"] = given["scores"].round()
    given["trade_offs"][::2] = trade_off
    for user, policy in enumerate(calibrate_batch(**given)):
        alone = one_by_one(given, user)
        assert policy.rankings.tolist() == alone.rankings.tolist()
        assert policy.weights.tolist() == alone.weights.tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"divergence": "kl"},
        {"normalise": "range"},
        {"caps": {0: 0.99}},
        {"relative": True},
        {"draws": "single"},
        {"draws": "even"},
        {"category_weights": [1, 2, 0, 1]},
    ],
)
def test_every_option_of_calibrate_is_taken(options: dict[str, Any]) -> None:
    given = made_up(users=6)
    given["slots"][:] = 3
    for user, policy in enumerate(calibrate_batch(**given, **options)):
        alone = one_by_one(given, user, **options)
        assert policy.rankings.tolist() == alone.rankings.tolist()
        assert policy.cost == alone.cost


def test_limits_per_category_count_candidates_and_not_the_rows_that_they_share() -> None:
    scores, items = [0.9, 0.8, 0.7, 0.6], [0, 0, 0, 1]
    together = calibrate_batch(
        scores, [0, 4], np.eye(2), [0.5, 0.5], items=items, k=3, trade_off=0.0, max_per_category=3
    )
    alone = calibrate(scores, np.eye(2)[items], [0.5, 0.5], k=3, trade_off=0.0, max_per_category=3)
    assert together[0].rankings.tolist() == alone.rankings.tolist() == [[0, 1, 2]]


BITS = """
from tests.test_many_users import bits
print(bits())
"""


def bits() -> str:
    """Lotteries and measures of some users, every digit of them."""
    printed = []
    for r in (3, 14):
        given = made_up(r, users=4, seed=5)
        names = ("scores", "indptr", "categories", "targets")
        others = {name: given[name] for name in ("items", "trade_offs", "slots")}
        batch = Batch.of(*(given[name] for name in names), **others)
        (lotteries,) = solve_users(batch, lambda part: part)
        arrays = (lotteries.weights, lotteries.gaps, lotteries.prices, measure(questions_of(batch), lotteries))
        printed.append(f"{lotteries.places.tolist()} {[number.hex() for array in arrays for number in array.ravel()]}")
    return " ".join(printed)


def test_another_process_gives_the_same_bits() -> None:
    root = Path(__file__).parent.parent
    path = os.pathsep.join([str(root / "src"), str(root)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BITS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.strip() == bits()


@pytest.mark.parametrize("method", ["greedy", "top-k", "lp"])
def test_other_methods_run_one_by_one_in_the_same_threads(method: str) -> None:
    given = made_up(users=12)
    policies = calibrate_batch(**given, threads=2, method=method)
    for user, policy in enumerate(policies):
        assert policy.rankings.tolist() == one_by_one(given, user, method=method).rankings.tolist()
    assert policies.lotteries.objectives.tolist() == [policy.objective for policy in policies]


def test_the_kernel_answers_with_the_objectives_that_policies_recompute() -> None:
    policies = calibrate_batch(**made_up(users=12), threads=2)
    assert policies.lotteries.objectives == pytest.approx([policy.objective for policy in policies])


def test_drawing_from_a_batch_is_drawing_from_each_policy() -> None:
    policies = calibrate_batch(**made_up(users=20))
    keys = [f"user {user}" for user in range(20)]
    for key, drawn, policy in zip(keys, policies.sample(7, keys), policies, strict=True):
        assert drawn.tolist() == policy.sample(seed=7, key=key).tolist()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("abc", "keys: is 'abc', must be a list of length 3, a key for each user"),
        ({"a", "b", "c"}, "keys: is {.*}, must be a list"),  # which has no order
        (3, "keys: is 3, must be"),
        ([1], "keys: have length 1, must be a list of length 3"),
    ],
)
def test_there_is_a_key_for_each_user(keys: Any, message: str) -> None:
    policies = calibrate_batch(**made_up(users=3))
    assert len(policies.sample(7, iter("abc"))) == 3
    with pytest.raises(ExcalibrError, match=message):
        policies.sample(7, keys)


def test_policies_are_taken_by_user_or_by_slice() -> None:
    policies: Any = calibrate_batch(**made_up(users=5))
    assert [policy.problem.user for policy in policies[1:4:2]] == [1, 3]
    assert policies[np.int64(-1)].problem.user == 4
    with pytest.raises(IndexError, match="there are 5 users, and user 5 is not one of them"):
        policies[5]
    for user in (1.0, "ada", None):
        with pytest.raises(InputTypeError, match=f"user: is {user!r}, must be a whole number or a slice"):
            policies[user]


def test_one_bad_user_stops_nobody() -> None:
    given = made_up(users=30)
    good = calibrate_batch(**given)
    bad = {name: array.copy() for name, array in given.items()}
    bad["scores"][bad["indptr"][3]] = np.nan
    bad["targets"][5, 0] = -1.0
    bad["targets"][6] *= 2
    bad["trade_offs"][7] = 1.5
    bad["slots"][9] = 0
    with pytest.warns(BatchWarning, match="5 of 30 users: 1 bad scores, 2 bad target, 1 bad trade off, 1 bad k"):
        policies = calibrate_batch(**bad)
    assert {user: Status(code).text for user, code in enumerate(policies.statuses) if code} == {
        3: "bad scores",
        5: "bad target",
        6: "bad target",
        7: "bad trade off",
        9: "bad k",
    }
    for user in set(range(30)) - {3, 5, 6, 7, 9}:
        assert policies[user].rankings.tolist() == good[user].rankings.tolist()


def test_a_bad_user_answers_with_the_error_of_its_numbers() -> None:
    given = made_up(users=3)
    given["targets"][1] *= 2
    with pytest.warns(BatchWarning):
        policies = calibrate_batch(**given)
    with pytest.raises(InputError, match="target: sums to 2, must sum to 1"):
        policies[1]
    assert policies.sample(1, [0, 1, 2])[1].tolist() == []


def test_a_method_that_fails_for_a_user_says_why() -> None:
    with pytest.warns(BatchWarning, match="1 failed"):
        policies = calibrate_batch(
            [1.0, 2.0, 3.0, 1.0], [0, 1, 4], np.eye(2)[[0, 0, 1, 1]], [0.5, 0.5], k=1, method="mip-greedy"
        )
    with pytest.raises(InputError):
        policies[0]
    assert policies[1].method == "mip-greedy"


def test_a_solve_that_stops_early_is_a_status() -> None:
    given = made_up(r=20)
    with pytest.warns(BatchWarning, match="stopped early"):
        policies = calibrate_batch(**given, max_sorts=1)
    assert (policies.statuses[policies.gaps > 1e-3] == Status.STOPPED_EARLY).all()


def test_rows_of_categories_may_be_sparse_and_one_for_each_candidate() -> None:
    given = made_up(users=8)
    spread = given | {"categories": sparse.csr_array(given["categories"][given["items"]]), "items": None}
    for one, other in zip(calibrate_batch(**given), calibrate_batch(**spread), strict=True):
        assert one.rankings.tolist() == other.rankings.tolist()


def test_users_without_candidates_have_no_policy() -> None:
    with pytest.warns(BatchWarning, match="1 of 2 users: 1 no candidates"):
        policies = calibrate_batch([1.0, 0.5], [0, 0, 2], np.eye(2), [0.5, 0.5], k=1)
    assert len(policies) == 2
    assert policies[-1].problem.n == 2


def test_an_empty_batch_has_no_policies() -> None:
    assert list(calibrate_batch([], [0], np.empty((0, 2)), np.empty((0, 2)), k=1)) == []


def test_position_weights_of_users_with_few_candidates_are_the_first_ones() -> None:
    policies = calibrate_batch([1.0, 0.5], [0, 2], np.eye(2), [0.5, 0.5], k=3, position_weights=[3, 1, 6])
    assert policies[0].problem.position_weights.tolist() == [0.75, 0.25]


def test_there_are_no_more_slots_than_position_weights() -> None:
    policies = calibrate_batch(
        np.arange(8.0), [0, 4, 8], np.eye(2)[[0, 1] * 4], [0.5, 0.5], slots=[3, 1], position_weights=[2, 1]
    )
    assert [policy.problem.k for policy in policies] == [2, 1]


def test_bad_users_can_be_ranked_by_their_scores() -> None:
    targets = np.array([[0.5, 0.5], [2.0, 0.0]])
    batch = Batch.of([1.0, 2.0, 3.0, 1.0, 2.0, 3.0], [0, 3, 6], np.eye(2)[[0, 1, 0] * 2], targets, options=Options(k=2))
    (lotteries,) = solve_users(batch, lambda part: part, fall_back=True)
    assert lotteries.places[-2:].tolist() == [2, 1]
    greedy = Batch.of(
        batch.scores, batch.starts, np.eye(2)[[0, 1, 0] * 2], targets, options=Options(k=2, method="greedy")
    )
    (one_at_a_time,) = solve_users(greedy, lambda part: part, fall_back=True)
    assert one_at_a_time.places[-2:].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"indptr": [0, 5]}, "indptr: goes from 0 to 5, must rise from 0 to the number of scores"),
        ({"indptr": [0.0, 2.0]}, "indptr: has shape"),
        ({"indptr": []}, "indptr: is empty, must have at least a 0"),
        ({"indptr": [[0], [1, 2]]}, "indptr: cannot be read as whole numbers"),
        ({"items": [[0], [1, 1]]}, "items: cannot be read as whole numbers"),
        ({"items": np.ma.array([0, 1], mask=[False, True])}, "items: cannot be read .*some are masked"),
        ({"targets": np.ones((3, 2))}, r"targets: have shape \(3, 2\)"),
        ({"items": [0, 9]}, "items: element 1 is 9, must be whole numbers from 0 to 1 .*, a row of categories"),
        ({"categories": np.eye(3)}, "categories: have 3 rows"),
        ({"trade_offs": [0.5, 0.5]}, "trade_offs: have shape"),
        (
            {"trade_offs": [0.5], "max_deviation": 0.1},
            "trade_offs and max_deviation: are both given, must not go together",
        ),
        ({"trade_of": 0.5}, "option: is 'trade_of'.*did you mean 'trade_off'"),
        ({"threads": 0}, "threads: is 0"),
    ],
)
def test_arrays_that_do_not_fit_are_errors(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"scores": [1.0, 2.0], "indptr": [0, 2], "categories": np.eye(2), "targets": [0.5, 0.5]}
    with pytest.raises(ExcalibrError, match=message):
        calibrate_batch(**(given | wrong))


def test_slots_are_whole_numbers_or_as_many_as_there_are_candidates() -> None:
    rows = [[1, 0], [0, 1]] * 2
    with pytest.warns(BatchWarning, match="1 of 2 users: 1 bad k"):
        policies = calibrate_batch([0.9, 0.5, 0.8, 0.4], [0, 2, 4], rows, [0.5, 0.5], slots=[np.inf, 1.5])
    assert policies[0].problem.k == 2
    with pytest.raises(InputError, match="user 1: has bad k, must have a whole number of slots of at least 1"):
        _ = policies[1]


@pytest.mark.parametrize("method", ["greedy", "excalibr"])
def test_blas_has_one_thread_while_methods_in_python_run(method: str) -> None:
    def blas(_: object) -> set[int]:
        return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}

    batch = Batch.of([0.9, 0.5], [0, 2], np.eye(2), [0.5, 0.5], options=Options(k=1, method=method))
    with threadpoolctl.threadpool_limits(2, "blas"):
        several = blas(None)
        if several != {2}:
            pytest.skip("no BLAS whose threads can be told and limited")
        assert list(solve_users(batch, blas)) == [{2} if method == "excalibr" else {1}]
        assert blas(None) == several


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"pinned": {0: 1}}, InputError, "pinned: is given, must be left out. Hint: calibrate takes pins for one user"),
        ({"shown": None}, InputError, "shown: is given, must be left out. Hint: calibrate takes earlier pages for one"),
        ({"categories": {"genre": [[1, 0]]}}, InputTypeError, "categories: are a mapping.*several attributes for one"),
        ({"targets": {"genre": [0.5, 0.5]}}, InputTypeError, "targets: are a mapping.*several attributes for one user"),
        ({"targets": Band([0.2, 0.2], [0.8, 0.8])}, InputTypeError, "targets: have a Band.*calibrate takes bands for"),
        ({"targets": [[0.5, 0.5], Band([0.2, 0.2], [0.8, 0.8])]}, InputTypeError, "targets: have a Band.*Reranker"),
    ],
)
def test_what_a_batch_does_not_take_is_answered_with_who_does(change: Any, kind: type, message: str) -> None:
    given = {"scores": [0.9, 0.5], "indptr": [0, 1, 2], "categories": [[1, 0], [0, 1]], "targets": [0.5, 0.5]}
    with pytest.raises(kind, match=f"^{message}"):
        calibrate_batch(**(given | change))
