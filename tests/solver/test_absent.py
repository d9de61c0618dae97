"""Categories that no candidate has: answers are those of the question without them, bit for bit."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from scipy import sparse

import excalibr
from excalibr import Band, Policy, Problem, calibrate, calibrate_batch, calibrate_path, frontier
from excalibr.errors import ExcalibrError, ExcalibrWarning, InfeasibleError
from tests.checks import check_agreement, check_certificate
from tests.fuzz.questions import Question
from tests.strategies import plain_questions, questions, shares, small_problems

BY_CATEGORY = {"category_weights": 1.0, "floors": 0.0, "caps": 1.0}
AIMS = ("trade_off", "relevance_loss", "max_deviation")


@st.composite
def with_absent(draw: DrawFn, drawn: st.SearchStrategy[Question]) -> Question:
    """The same question with categories between the others that no candidate has, most of them wanted."""
    question = draw(drawn)
    names = list(question.categories) if isinstance(question.categories, dict) else [None]
    rows, targets, options = {}, {}, dict(question.options)
    limits: dict[str, dict[Any, Any]] = {option: {} for option in BY_CATEGORY if option in options}
    for name in names:
        table = question.categories if name is None else question.categories[name]
        wanted = question.target if name is None else question.target[name]
        size, more = table.shape[1], draw(st.integers(0, 3))
        present = np.sort(np.array(draw(st.permutations(range(size + more)))[:size]))
        rows[name] = np.zeros((len(table), size + more))
        rows[name][:, present] = table
        targets[name] = _spread(wanted, present, size + more, draw)
        for option, own in limits.items():
            said = question.options[option] if name is None else question.options[option][name]
            default = draw(st.sampled_from([0.0, 0.5, 2.0])) if option == "category_weights" else BY_CATEGORY[option]
            own[name] = np.full(size + more, draw(st.sampled_from([0.0, 0.3])) if option == "caps" else default)
            own[name][present] = said
    plain = names == [None]
    options |= {option: own[None] if plain else own for option, own in limits.items()}
    return replace(
        question,
        categories=rows[None] if plain else rows,
        target=targets[None] if plain else targets,
        options=options,
    )


def _spread(wanted: Any, present: Any, size: int, draw: DrawFn) -> Any:
    """A target, or a band, with a part of it on the categories that nobody has."""
    if isinstance(wanted, Band):
        low, high = np.zeros(size), np.full(size, draw(st.sampled_from([0.0, 0.2, 1.0])))
        low[present], high[present] = wanted.low, wanted.high
        return Band(low, high)
    others = np.setdiff1d(np.arange(size), present)
    part = draw(st.sampled_from([0.0, 0.25, 0.9])) if len(others) else 0.0
    target = np.zeros(size)
    target[present] = (1.0 - part) * wanted
    target[others] = part * draw(shares(len(others))) if len(others) else 0.0
    return target


def asked(question: Question) -> Policy:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcalibrWarning)
        return calibrate(question.scores, question.categories, question.target, **question.options)


def whole(question: Question) -> Problem:
    options = {name: value for name, value in question.options.items() if name != "method"}
    return Problem.of(question.scores, question.categories, question.target, **options)


def without(question: Question) -> tuple[Question, Any]:
    """The question of those categories alone that candidates have, with the same weights; and which they are.

    Its target is a band without a width, because it need not sum to 1.
    """
    problem = whole(question)
    there = problem.memberships.dense().max(axis=0) > 0.0
    low, high = problem.batch.checked.edges(0)  # without what was shown before
    named = isinstance(question.categories, dict)
    spans = {each.name: each.columns for each in problem.attributes} if named else {None: slice(0, problem.r)}
    rows = question.categories if named else {None: question.categories}
    kept = {name: there[columns] for name, columns in spans.items()}
    parts = {
        name: (rows[name][:, kept[name]], low[own][kept[name]], high[own][kept[name]]) for name, own in spans.items()
    }
    weights = {name: problem.weights[own][kept[name]] for name, own in spans.items()}
    others = ("relative", "attribute_weights", *BY_CATEGORY)
    options = {name: value for name, value in question.options.items() if name not in others}
    limits = {name: question.options[name] for name in ("floors", "caps") if name in question.options}
    for option, own in limits.items():
        options[option] = {name: own[name][kept[name]] for name in kept} if named else own[kept[None]]
    options["category_weights"] = weights if named else weights[None]
    categories = {name: part[0] for name, part in parts.items()}
    targets = {name: Band(*part[1:]) for name, part in parts.items()}
    reduced = replace(
        question,
        categories=categories if named else categories[None],
        target=targets if named else targets[None],
        options=options,
    )
    return reduced, np.flatnonzero(there)


def cost_of_absent(problem: Problem, there: Any) -> float:
    """What those categories cost that nobody has, before λ."""
    costs = problem.divergence.costs(np.zeros(problem.r))
    return float(np.delete(costs, there).sum())


def same(policy: Policy, other: Policy, there: Any) -> None:
    """The same answer to the bit, at the same prices of the categories that candidates have."""
    assert policy.rankings.tolist() == other.rankings.tolist()
    assert policy.weights.tolist() == other.weights.tolist()
    drawn = (
        policy.problem.options.draws != "lottery"
    )  # whose gap is a difference of objectives, with that cost or without
    rounding = 1e-14 * (1.0 + float(np.abs(policy.problem.scores).max())) if drawn else 0.0
    assert policy.gap == pytest.approx(other.gap, rel=0.0, abs=rounding)
    assert policy.problem.trade_off == other.problem.trade_off
    assert policy.category_prices is not None
    assert other.category_prices is not None
    np.testing.assert_array_equal(policy.category_prices[there], other.category_prices)
    settled = cost_of_absent(policy.problem, there)
    assert policy.cost == pytest.approx(other.cost + settled, rel=1e-12, abs=1e-12)
    assert policy.relevance == other.relevance


@given(with_absent(questions()).filter(lambda question: "trade_off" in question.options))
@settings(max_examples=300)
def test_what_nobody_has_changes_nothing(question: Question) -> None:
    try:
        reduced, there = without(question)
    except ExcalibrError:
        assume(False)
    terms = whole(question).batch.terms
    floors = None if terms is None else terms.floors
    if floors is not None and np.delete(floors, there).max(initial=0.0) > 0.0:
        with pytest.raises(ExcalibrError):
            asked(question)
        return
    try:
        policy = asked(question)
    except ExcalibrError as error:
        with pytest.raises(type(error)):
            asked(reduced)
        return
    same(policy, asked(reduced), there)


@given(with_absent(plain_questions()), st.sampled_from([0.05, 0.3]))
def test_budgets_count_what_nobody_has(question: Question, more: float) -> None:
    reduced, there = without(question)
    best = asked(replace(reduced, options=reduced.options | {"trade_off": 1.0}))
    settled = cost_of_absent(whole(question), there)
    size = max(1.0, float(np.abs(question.scores).max()))

    def within(budget: str, amount: float, of_reduced: float) -> tuple[Policy, ...]:
        found = []
        for each, own in ((question, amount), (reduced, of_reduced)):
            options = {name: value for name, value in each.options.items() if name not in AIMS}
            found.append(asked(replace(each, options=options | {budget: own})))
        return tuple(found)

    policy, other = within("max_deviation", settled + best.cost + more, best.cost + more)
    assert policy.relevance == pytest.approx(other.relevance, abs=1e-7 * size)
    assert policy.cost <= settled + best.cost + more + 1e-8
    policy, other = within("relevance_loss", more, more)
    assert policy.relevance == pytest.approx(other.relevance, abs=1e-7 * size)
    assert policy.cost == pytest.approx(other.cost + settled, abs=1e-7)


@given(with_absent(plain_questions()))
def test_paths_and_frontiers_are_those_without_what_nobody_has(question: Question) -> None:
    reduced, there = without(question)
    curves, paths = [], []
    for each in (question, reduced):
        arrays = (each.scores, each.categories, each.target)
        options = {name: value for name, value in each.options.items() if name not in AIMS}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExcalibrWarning)
            paths.append(calibrate_path(*arrays, trade_offs=[0.0, 0.3, 0.7, 1.0], **options))
            curves.append(frontier(*arrays, tolerance=1e-2, **options))
    for policy, other in zip(*paths, strict=True):
        same(policy, other, there)
    settled = cost_of_absent(curves[0].policies[0].problem, there)
    # between their ends two curves to one tolerance may have other points, and another number of them
    ends = [curve.relevance[[0, -1]].tolist() for curve in curves]
    assert ends[0] == pytest.approx(ends[1], abs=1e-2 * np.ptp(question.scores))
    assert curves[0].deviation[-1] == pytest.approx(curves[1].deviation[-1] + settled, abs=1e-8)


@pytest.mark.filterwarnings("ignore::excalibr.errors.TruncationWarning")
@given(small_problems(), st.integers(1, 3), st.sampled_from([0.1, 0.5]))
def test_prices_of_what_nobody_has_prove_the_gap(problem: Problem, more: int, part: float) -> None:
    rows = np.hstack([problem.memberships.dense(), np.zeros((problem.n, more))])
    target = np.append((1 - part) * problem.target, np.full(more, part / more))
    policy = calibrate(
        *(problem.scores, rows, target),
        k=problem.k,
        trade_off=problem.trade_off,
        position_weights=problem.position_weights,
    )
    check_agreement(policy)
    check_certificate(policy)
    assert policy.prices.tolist()[problem.r :] == [-problem.trade_off] * more


def test_a_floor_on_what_nobody_has_is_out_of_reach_and_a_cap_is_kept() -> None:
    arrays: Any = ([0.9, 0.5, 0.4], np.eye(4)[[0, 0, 1]], [0.25, 0.25, 0.25, 0.25])
    with pytest.raises(
        InfeasibleError, match="floors: category 2 cannot reach 0.1; the most that any policy shows of it is 0"
    ):
        calibrate(*arrays, k=2, floors={2: 0.1, 3: 0.1})
    with pytest.raises(InfeasibleError, match="floors: category 1 cannot reach 0.9"):
        calibrate(*arrays, k=2, floors={1: 0.9, 3: 0.1})
    capped, free = calibrate(*arrays, k=2, caps={2: 0.0, 3: 0.1}), calibrate(*arrays, k=2)
    assert capped.weights.tolist() == free.weights.tolist()
    assert capped.prices.tolist() == free.prices.tolist()
    with pytest.raises(InfeasibleError, match="category 2 cannot reach 0.1"):
        calibrate(*arrays, k=2, floors=0.1)


def test_a_limit_on_what_is_only_pinned_is_kept_or_not_by_the_pin() -> None:
    options: dict[str, Any] = {"k": 2, "pinned": {0: 2}, "position_weights": "uniform"}
    options |= {"scores": [0.9, 0.5, 0.4], "categories": np.eye(3)[[0, 0, 1]], "target": [0.5, 0.5, 0.0]}
    kept: Any
    for kept in ({"floors": {1: 0.5}}, {"caps": {1: 0.5}}):
        assert calibrate(**options, **kept).distribution.tolist() == [0.5, 0.5, 0.0]
    with pytest.raises(InfeasibleError, match="floors: category 1 cannot reach 0.6"):
        calibrate(**options, floors={1: 0.6})
    with pytest.raises(InfeasibleError, match="caps: category 1 cannot stay within 0.4"):
        calibrate(**options, caps={1: 0.4})


@pytest.mark.parametrize(
    "options", [{}, {"divergence": "kl"}, {"relative": True}, {"caps": 0.5}, {"draws": "single"}], ids=str
)
def test_sparse_targets_are_dense_ones_and_a_batch_is_each_user_alone(options: dict[str, Any]) -> None:
    random = np.random.default_rng(5)
    users, r = 12, 300
    sizes = random.integers(4, 30, users)
    sellers = random.integers(0, r, sizes.sum())
    rows = sparse.csr_array((np.ones(len(sellers)), (np.arange(len(sellers)), sellers)), shape=(len(sellers), r))
    history = sparse.csr_array(random.multinomial(20, np.full(r, 1 / r), users) / 20)
    starts = np.cumsum([0, *sizes])
    given: dict[str, Any] = {
        "scores": random.random(sizes.sum()),
        "indptr": starts,
        "categories": rows,
        "k": 3,
        **options,
    }
    dense: Any = history.toarray()
    expected = calibrate_batch(**given, targets=dense)
    mixed = sparse.coo_array(history)
    order = random.permutation(mixed.nnz)
    mixed = sparse.coo_array((mixed.data[order], (mixed.row[order], mixed.col[order])), shape=mixed.shape)
    for user, (one, other) in enumerate(zip(expected, calibrate_batch(**given, targets=mixed), strict=True)):
        own = slice(starts[user], starts[user + 1])
        alone = calibrate(given["scores"][own], rows[own], dense[user], k=3, **options)
        for policy in (other, alone):
            assert policy.rankings.tolist() == one.rankings.tolist()
            assert policy.weights.tolist() == one.weights.tolist()
            assert policy.prices.tolist() == one.prices.tolist()
            assert policy.problem.target.tolist() == one.problem.target.tolist()


def test_sparse_targets_of_another_shape_are_refused() -> None:
    given: dict[str, Any] = {"scores": [0.9, 0.8, 0.5], "indptr": [0, 2, 3], "categories": np.eye(3)}
    with pytest.raises(excalibr.errors.InputError, match=r"targets: have shape \(1, 3\), must have shape \(2, 3\)"):
        calibrate_batch(**given, targets=sparse.csr_array(np.eye(3)[:1]))


def test_nothing_of_a_batch_is_as_large_as_users_times_categories() -> None:
    random = np.random.default_rng(6)
    users, n, r = 400, 20, 50_000
    sellers = random.integers(0, r, users * n)
    rows = sparse.csr_array((np.ones(users * n), (np.arange(users * n), sellers)), shape=(users * n, r))
    wanted = sparse.csr_array(
        (np.full(4 * users, 0.25), random.integers(0, r, 4 * users), np.arange(0, 4 * users + 1, 4)), shape=(users, r)
    )
    given: dict[str, Any] = {
        "scores": random.random(users * n),
        "indptr": np.arange(0, users * n + 1, n),
        "categories": rows,
        "targets": wanted,
        "k": 5,
    }
    calibrate_batch(**given)
    tracemalloc.start()
    policies = calibrate_batch(**given)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * users * r * 8
    kept = [getattr(policies.lotteries, name).nbytes for name in ("prices", "price_categories", "places", "weights")]
    assert sum(kept) < 0.02 * users * r * 8
    assert policies[7].prices.shape == policies[7].distribution.shape == policies[7].problem.target.shape == (r,)
