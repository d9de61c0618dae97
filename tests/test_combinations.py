"""Every pair of options of ``docs/beyond.md``, with both divergences and all draws: it works, or it says why not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from excalibr import Band, Policy, Shown, calibrate, calibrate_path, frontier
from excalibr._native import kernel
from excalibr._problem import Penalty
from excalibr._solver.seam import question_of
from excalibr.errors import GapWarning, InfeasibleError, InputError, InputTypeError
from tests import combinations as c

PAGE = Path(__file__).parent.parent / "docs" / "beyond.md"
EVERY = np.array(list(permutations(range(c.N), c.K)))

Pair = tuple[str, str]

SLACK = 1e-3
"""How far an even lottery may move the expectation: all shares together, and the relevance as a part of its spread."""


def allowed(pair: Pair, rankings: np.ndarray) -> np.ndarray:
    """Which rankings keep what the options of a pair say of every ranking."""
    kept = np.ones(len(rankings), dtype=bool)
    if "pinned" in pair:
        for slot, candidate in c.PINNED.items():
            kept &= rankings[:, slot] == candidate
    if "shown" in pair:
        kept &= (rankings != c.SEEN).all(axis=1)
    if "max_per_category" in pair:
        kept &= c.GENRES[rankings].sum(axis=1).max(axis=1) <= c.AT_MOST
    return kept


def within(pair: Pair, policy: Policy, *, shares: Any, relevance: Any, cost: Any, slack: float = 1e-7) -> Any:
    """Whether expectations keep the limits and the budget of a pair."""
    kept = np.ones(np.shape(relevance), dtype=bool)
    if "floors, caps" in pair:
        kept &= (shares[..., 1] >= c.FLOOR - 2e-7) & (shares[..., 0] <= c.CAP + 2e-7)
    if "relevance_loss" in pair:
        curve = kernel.Curve(question_of(policy.problem), policy.problem.user)
        kept &= relevance >= curve.relevance_floor(c.LOSS) - slack
    if "max_deviation" in pair:
        kept &= cost <= c.DEVIATION + slack * (1.0 + np.abs(slopes(policy.problem.divergence, policy.shares)).max())
    return kept


def slopes(penalty: Penalty, shares: np.ndarray) -> np.ndarray:
    """(r,) how fast a cost changes when the shares rise."""
    lacks, exceeds = shares < penalty.low, shares >= penalty.high
    edge = np.where(lacks, penalty.low, penalty.high)
    weight = np.where(lacks, -penalty.below, np.where(exceeds, penalty.above, 0.0))
    if not penalty.smoothing:
        return weight
    base = 0.0 if penalty.base is None else penalty.base
    wanted, seen = base + edge, base + (1.0 - penalty.smoothing) * shares + penalty.smoothing * edge
    with np.errstate(divide="ignore", invalid="ignore"):
        missing = np.where(wanted > 0.0, 1.0 - wanted / seen, 1.0)
    return np.asarray(np.abs(weight) * (1.0 - penalty.smoothing) * np.where(lacks | exceeds, missing, 0.0))


def check(pair: Pair, policy: Policy, draws: str) -> None:
    assert policy.weights.sum() == pytest.approx(1.0)
    assert (policy.weights > 0).all()
    assert all(len(set(ranking)) == c.K for ranking in policy.rankings.tolist())
    assert allowed(pair, policy.rankings).all()
    assert np.isfinite(policy.objective)
    assert policy.gap >= 0.0
    slack = SLACK if draws == "even" else 1e-7
    means: dict[str, Any] = {"shares": policy.shares, "relevance": policy.relevance, "cost": policy.cost}
    assert within(pair, policy, **means, slack=slack).all()
    if draws == "lottery":  # a frontier's points are solved to two fifths of its tolerance
        assert policy.gap <= (0.4 * c.TOLERANCE + 1e-8 if "frontier" in pair else 1e-8)
    if draws == "single":
        assert len(policy.weights) == 1
        check_single(pair, policy)


def check_single(pair: Pair, policy: Policy) -> None:
    """No other ranking that keeps everything is better."""
    rankings = EVERY[allowed(pair, EVERY)]
    others = Policy(policy.problem, rankings, np.full(len(rankings), 1.0 / len(rankings)))
    means: dict[str, Any] = {
        "shares": others.draw_shares,
        "relevance": others.draw_relevances,
        "cost": others.draw_costs,
    }
    kept = within(pair, policy, **means, slack=0.0)
    if "relevance_loss" in pair:
        assert policy.cost <= others.draw_costs[kept].min() + 1e-6
    elif "max_deviation" in pair:
        assert policy.relevance >= others.draw_relevances[kept].max() - 1e-6
    else:
        trade_off = policy.problem.trade_off
        values = (1.0 - trade_off) * others.draw_relevances - trade_off * others.draw_costs
        assert policy.objective >= values[kept].max() - 1e-6


def check_even(policy: Policy, lottery: Policy) -> None:
    """The lottery's expectation within the slack, and draws that are no further from the target."""
    assert np.abs(policy.shares - lottery.shares).sum() <= SLACK
    rising, weights = np.sort(policy.problem.scores), policy.problem.position_weights
    spread = rising[::-1][: c.K] @ weights - rising[: c.K] @ weights
    assert abs(policy.relevance - lottery.relevance) <= SLACK * spread
    assert policy.weights @ policy.draw_costs <= lottery.weights @ lottery.draw_costs + 1e-9


@pytest.mark.parametrize("draws", c.DRAWS)
@pytest.mark.parametrize("divergence", c.DIVERGENCES)
@pytest.mark.parametrize("pair", c.pairs(), ids="+".join)
def test_a_pair_works_or_says_why_not(pair: Pair, divergence: str, draws: str) -> None:
    if error := c.noted(c.ERRORS, *pair, draws):
        with pytest.raises(InputError, match=c.MESSAGES[error]):
            c.ask(pair, divergence, draws)
        return
    policies = policies_of(c.ask(pair, divergence, draws))
    for policy in policies:
        check(pair, policy, draws)
    if draws == "even":
        for policy, lottery in zip(policies, policies_of(c.ask(pair, divergence, "lottery")), strict=True):
            check_even(policy, lottery)


def policies_of(answer: Any) -> list[Policy]:
    return answer if isinstance(answer, list) else list(answer.policies)


def test_the_page_has_this_table() -> None:
    assert c.table() in PAGE.read_text(encoding="utf-8"), "put in what `python -m tests.combinations` prints"


def test_every_note_of_the_table_is_explained_below_it() -> None:
    below = PAGE.read_text(encoding="utf-8").partition(c.table())[2]
    notes = {*c.ERRORS.values(), *c.NOTES.values()}
    assert [note for note in sorted(notes) if f"\n- **({note})** " not in below] == []


def asked(**options: Any) -> Policy:
    return calibrate(c.SCORES, c.GENRES, c.GENRE_TARGET, **{"k": c.K, **options})


def test_two_attributes_cannot_both_have_a_most_per_category() -> None:
    moods = np.eye(2)[[0, 1] * 4]
    with pytest.raises(InputError, match="max_per_category: limits 2 attributes, must limit one of them"):
        calibrate(
            c.SCORES, {"genre": c.GENRES, "mood": moods}, {"genre": c.GENRE_TARGET, "mood": c.MOOD_TARGET},
            k=c.K, max_per_category={"genre": 2, "mood": 2},
        )  # fmt: skip


def test_shares_of_several_categories_cannot_be_counted() -> None:
    with pytest.raises(InputError, match="max_per_category: counts a category of which row 0 has only a share"):
        calibrate(c.SCORES, c.SHARES, c.GENRE_TARGET, k=c.K, max_per_category=2)


def test_a_smooth_curve_has_no_vertices_to_find() -> None:
    with pytest.raises(InputError, match="tolerance: is 0, must be positive: with KL the curve is smooth"):
        frontier(c.SCORES, c.GENRES, c.GENRE_TARGET, k=c.K, divergence="kl", tolerance=0)


@pytest.mark.parametrize(
    "aims", [("trade_off", "relevance_loss"), ("trade_off", "max_deviation"), ("relevance_loss", "max_deviation")]
)
def test_two_aims_do_not_go_together(aims: Pair) -> None:
    with pytest.raises(InputError, match=f"{aims[0]} and {aims[1]}: are both given, must not go together"):
        asked(**dict.fromkeys(aims, 0.1))


@pytest.mark.parametrize(
    "options",
    [
        {"divergence": "kl"}, {"category_weights": [1, 2, 3]}, {"relative": True}, {"floors": {0: 0.1}},
        {"caps": {0: 0.9}}, {"max_per_category": 2}, {"pinned": {0: 1}}, {"relevance_loss": 0.1},
        {"max_deviation": 0.5}, {"draws": "single"}, {"draws": "even"},
    ],
    ids=lambda options: next(iter(options)),
)  # fmt: skip
@pytest.mark.parametrize("method", ["lp", "greedy", "top-k"])
def test_other_methods_answer_the_papers_question_only(method: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"method: is '{method}', must be 'excalibr'"):
        asked(method=method, **options)


def test_other_methods_take_no_bands_and_no_second_attribute() -> None:
    band, named = Band(c.GENRE_TARGET, c.GENRE_TARGET), {"genre": c.GENRES}
    for categories, target in ((c.GENRES, band), (named, {"genre": c.GENRE_TARGET})):
        with pytest.raises(InputError, match="method: is 'greedy', must be 'excalibr'"):
            calibrate(c.SCORES, categories, target, k=c.K, method="greedy")


@pytest.mark.parametrize("options", [{"floors": {2: 0.9}}, {"max_deviation": 0.0}, {"caps": {0: 0.1, 1: 0.1, 2: 0.1}}])
def test_what_no_single_ranking_can_keep_is_refused_with_a_reason(options: dict[str, Any]) -> None:
    with pytest.raises(InfeasibleError, match="no single ranking|cannot reach|these conflict"):
        asked(draws="single", **options)


@pytest.mark.parametrize("function", [partial(calibrate_path, trade_offs=[0.5]), frontier], ids=["path", "frontier"])
def test_a_misspelt_option_is_named(function: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="option: is 'pined', must be one of .* did you mean 'pinned'"):
        function(c.SCORES, c.GENRES, c.GENRE_TARGET, k=c.K, pined={0: 1})


def test_a_search_that_was_cut_short_does_not_claim_that_nothing_can_be_done() -> None:
    with pytest.raises(InfeasibleError, match="found is at .* not proven. Hint: allow more sorts"):
        asked(max_deviation=0.1, max_sorts=1)
    with pytest.raises(InfeasibleError, match="was found within max_sorts=1, and there is one.* allow more sorts"):
        asked(floors=[0.25, 0.3, 0.25], max_sorts=1)


def test_a_budget_that_was_met_in_too_few_sorts_warns() -> None:
    with pytest.warns(GapWarning, match="max_sorts was reached"):
        policy = asked(relevance_loss=0.1, divergence="kl", max_sorts=3)
    assert policy.gap > 1e-6


def test_what_was_shown_is_a_list() -> None:
    with pytest.raises(InputTypeError, match="shown.candidates: is 3, must be a list of indices, or of pages"):
        asked(shown=Shown(candidates=3))


def test_every_option_of_calibrate_is_in_the_table_or_has_no_pair_to_make() -> None:
    of_calibrate = {name for name, each in signature(calibrate).parameters.items() if each.kind == each.KEYWORD_ONLY}
    under_another_name = {"attribute_weights", "category_weights", "floors", "caps", "divergence", "draws"}
    in_the_table = under_another_name | set(c.OPTIONS)
    everywhere = {"k", "trade_off", "position_weights", "tolerance", "max_sorts", "time_limit"}
    everywhere |= {"verbose", "item_prices"}
    assert of_calibrate - in_the_table == everywhere | {"method"}
