"""``policy.explain()`` against plain recomputation, with and without every option, and as text."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import numpy as np
import pytest

from excalibr import Band, Policy, Shown, calibrate, methods
from excalibr.errors import InputError, InputTypeError

N, K, R = 12, 5, 3


def asked(seed: int = 1, **options: Any) -> Policy:
    """Twelve candidates with one genre each, five slots."""
    rng = np.random.default_rng(seed)
    genres = np.eye(R)[np.arange(N) % R]
    scores = np.sort(rng.random(N))[::-1] + 0.5 * genres[:, 0]
    return calibrate(scores, genres, [0.2, 0.5, 0.3], **{"k": K, **options})


def mixed_rows(seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).random((N, 4))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def several_attributes(**options: Any) -> Policy:
    genres, decades = np.eye(R)[np.arange(N) % R], mixed_rows(3)
    scores = np.linspace(1.0, 0.0, N)
    target: dict[str, Any] = {"genre": [0.2, 0.5, 0.3], "decade": Band([0.1] * 4, [0.4] * 4)}
    return calibrate(scores, {"genre": genres, "decade": decades}, target, k=K, **options)


def ranks_by_hand(policy: Policy, candidate: int) -> tuple[float, float]:
    """The probability of being shown, and the mean rank then."""
    chance, total = 0.0, 0.0
    for ranking, weight in zip(policy.rankings.tolist(), policy.weights.tolist(), strict=True):
        if candidate in ranking:
            chance += weight
            total += weight * (ranking.index(candidate) + 1)
    return chance, total / chance


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("divergence", ["l1", "kl"])
def test_every_shown_candidate_has_its_chance_and_its_expected_rank(seed: int, divergence: str) -> None:
    policy = asked(seed, divergence=divergence)
    items = policy.explain().items
    assert sorted(items.candidate.tolist()) == np.flatnonzero(policy.exposure).tolist()
    for place, candidate in enumerate(items.candidate.tolist()):
        chance, rank = ranks_by_hand(policy, candidate)
        assert items.probability[place] == pytest.approx(chance)
        assert items.new_rank[place] == pytest.approx(rank)
        assert items.score[place] == policy.problem.scores[candidate]


def test_the_old_rank_is_that_of_plain_sorting_also_beyond_the_slots() -> None:
    policy = asked()
    by_score = np.argsort(-policy.problem.scores, kind="stable").tolist()
    items = policy.explain().items
    assert items.old_rank.tolist() == [by_score.index(candidate) + 1 for candidate in items.candidate.tolist()]
    assert items.old_rank.max() > K


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("divergence", ["l1", "kl"])
@pytest.mark.parametrize("rows", [np.eye(4)[np.arange(N) % 4], mixed_rows(9)])
def test_the_slate_is_in_the_order_of_adjusted_scores_up_to_ties(seed: int, divergence: str, rows: np.ndarray) -> None:
    scores = np.random.default_rng(seed).random(N)
    weights = np.array([0.5, 1.0, 2.0, 0.1])
    policy = calibrate(scores, rows, [0.4, 0.3, 0.2, 0.1], k=K, divergence=divergence, category_weights=weights)
    why = policy.explain()
    adjusted = why.items.adjusted_score
    assert (np.diff(adjusted) <= 1e-6).all()
    assert why.categories.price is not None
    np.testing.assert_allclose(adjusted, (0.5 * scores - rows @ why.categories.price)[why.items.candidate])
    left_out = np.setdiff1d(np.arange(N), why.items.candidate)
    assert (0.5 * scores - rows @ why.categories.price)[left_out].max() <= adjusted.min() + 1e-6


def test_prices_are_the_policys_own_and_kl_counts_them_from_zero_at_the_target() -> None:
    straight, curved = asked(), asked(divergence="kl")
    np.testing.assert_array_equal(straight.explain().categories.price, straight.prices)
    np.testing.assert_allclose(curved.explain().categories.price, curved.prices + 0.5 * 0.99)


def test_categories_have_their_target_and_their_shares_before_and_after() -> None:
    policy = asked()
    categories = policy.explain().categories
    top = np.argsort(-policy.problem.scores, kind="stable")[:K]
    np.testing.assert_array_equal(categories.target_low, [0.2, 0.5, 0.3])
    np.testing.assert_array_equal(categories.target_high, [0.2, 0.5, 0.3])
    by_hand = policy.problem.position_weights @ policy.problem.memberships.dense()[top]
    np.testing.assert_allclose(categories.before, by_hand)
    np.testing.assert_array_equal(categories.after, policy.distribution)


def test_what_was_kept_and_removed_is_against_plain_sorting() -> None:
    policy = asked(relevance_loss=0.05)
    why = policy.explain()
    assert why.before is policy.before
    assert why.before.relevance == pytest.approx(
        np.sort(policy.problem.scores)[::-1][:K] @ policy.problem.position_weights
    )
    assert why.relevance_kept == pytest.approx(policy.relevance / why.before.relevance)
    assert why.relevance_kept >= 0.95 - 1e-9
    assert why.deviation_removed == pytest.approx(1.0 - policy.deviation / why.before.deviation)


def test_where_relevance_can_be_negative_the_loss_is_a_part_of_the_spread() -> None:
    scores, rows = np.linspace(1.0, -3.0, N), np.eye(R)[np.arange(N) % R]
    policy = calibrate(scores, rows, [0.0, 0.0, 1.0], k=K, relevance_loss=0.1)
    assert policy.explain().relevance_kept == pytest.approx(0.9)


def test_nothing_is_lost_and_nothing_removed_where_sorting_is_on_target() -> None:
    why = calibrate([3.0, 2.0, 1.0], [[1], [1], [1]], [1.0], k=2).explain()
    assert why.relevance_kept == 1.0
    assert np.isnan(why.deviation_removed)
    assert "removed" not in repr(why)


def test_attributes_are_told_apart_and_bands_have_two_edges() -> None:
    policy = several_attributes()
    why = policy.explain(categories={"decade": ["60s", "70s", "80s", "90s"], "genre": ["drama", "comedy", "noir"]})
    categories = why.categories
    assert categories.attribute.tolist() == ["genre"] * 3 + ["decade"] * 4
    assert categories.label.tolist() == ["drama", "comedy", "noir", "60s", "70s", "80s", "90s"]
    np.testing.assert_array_equal(categories.target_low[3:], [0.1] * 4)
    np.testing.assert_array_equal(categories.target_high[3:], [0.4] * 4)
    np.testing.assert_array_equal(categories.after[:3], policy.distribution["genre"])
    text = repr(why)
    assert "0.100 to 0.400" in text
    assert "deviation of genre" in text
    assert policy.explain().categories.label.tolist() == ["0", "1", "2", "0", "1", "2", "3"]


def test_attributes_may_have_names_of_any_kind() -> None:
    policy = calibrate(np.arange(4.0), {1: np.eye(2)[[0, 1, 0, 1]]}, {1: [0.5, 0.5]}, k=2)  # type: ignore[dict-item]
    why = policy.explain()
    assert why.categories.attribute.tolist() == ["1", "1"]
    assert "deviation of 1" in repr(why)


def test_pinned_items_keep_their_slots_before_as_after() -> None:
    policy = asked(pinned={1: 11})
    why = policy.explain()
    assert why.before.rankings[0, 1] == 11
    by_score = [item for item in np.argsort(-policy.problem.scores, kind="stable").tolist() if item != 11]
    assert why.before.rankings[0].tolist() == [by_score[0], 11, *by_score[1:4]]
    place = why.items.candidate.tolist().index(11)
    assert why.items.old_rank[place] == 2
    assert why.items.new_rank[place] == 2.0


def test_what_was_shown_is_in_no_slate_and_the_target_is_what_is_left() -> None:
    policy = asked(shown=Shown(candidates=[0, 1]))
    why = policy.explain()
    assert not set(why.before.rankings[0].tolist()) & {0, 1}
    assert not set(why.items.candidate.tolist()) & {0, 1}
    np.testing.assert_array_equal(why.categories.target_low, policy.problem.target)


def test_the_relevance_order_passes_over_full_categories() -> None:
    policy = asked(max_per_category=2, pinned={0: 3})
    order = policy.before.rankings[0]
    assert order[0] == 3
    assert np.bincount(order % R).max() <= 2
    assert policy.before.relevance >= policy.relevance - 1e-12
    at_zero = asked(max_per_category=2, pinned={0: 3}, trade_off=0.0)
    assert policy.before.relevance == pytest.approx(at_zero.relevance)


def test_the_heaviest_slot_gets_the_best_score_wherever_it_is() -> None:
    weights = [0.1, 0.5, 0.4, 0.0, 0.0]
    policy = asked(position_weights=weights, trade_off=0.0)
    by_score = np.argsort(-policy.problem.scores, kind="stable").tolist()
    assert policy.before.rankings[0].tolist() == [by_score[2], by_score[0], by_score[1], by_score[3], by_score[4]]
    assert policy.before.relevance == pytest.approx(policy.relevance)


@pytest.mark.parametrize("method", sorted(set(methods.METHODS) - {"excalibr"}))
def test_every_method_can_be_explained_and_those_without_prices_say_nothing_of_them(method: str) -> None:
    policy = asked(method=method)
    why = policy.explain()
    assert len(why.items.candidate) >= K
    if policy.prices is None:
        assert np.isnan(why.items.adjusted_score).all()
        assert np.isnan(why.categories.price).all()
        assert "price" not in repr(why)
        assert "adjusted" not in repr(why)


def test_a_single_ranking_is_told_slot_by_slot() -> None:
    policy = asked(draws="single", position_weights="uniform")
    items = policy.explain().items
    assert items.candidate.tolist() == policy.rankings[0].tolist()
    assert items.new_rank.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert (items.probability == 1.0).all()


def test_labels_stand_in_for_indices() -> None:
    titles = [f"film {number}" for number in range(N)]
    why = asked().explain(items=titles, categories=np.array(["drama", "comedy", "noir"]))
    assert why.items.label.tolist() == [titles[candidate] for candidate in why.items.candidate]
    assert why.categories.label.tolist() == ["drama", "comedy", "noir"]
    assert asked().explain().categories.label.tolist() == ["0", "1", "2"]


def test_a_label_cannot_break_the_table_or_command_the_terminal() -> None:
    labels = ["line\nbreak", "red\x1b[31m", "tab\t", *map(str, range(N - 3))]
    text = repr(asked().explain(items=labels))
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())
    assert len(text.splitlines()) == len(repr(asked().explain()).splitlines())


@pytest.mark.parametrize(("scale", "shown"), [(1e-10, "9e-11"), (1e149, "9e+148"), (1e3, "900")])
def test_scores_of_any_scale_can_be_read(scale: float, shown: str) -> None:
    policy = calibrate(
        [0.9 * scale, 0.8 * scale, 0.5 * scale], [[1, 0], [1, 0], [0, 1]], [0.5, 0.5], k=1, trade_off=0.0
    )
    assert repr(policy.explain()).splitlines()[3].split()[4] == shown


def test_wrong_labels_are_refused() -> None:
    with pytest.raises(
        InputError, match="items: have length 2, must be a list of length 12, a label for each candidate"
    ):
        asked().explain(items=["a", "b"])
    with pytest.raises(
        InputError, match="categories: have length 1, must be a list of length 3, a label for each category"
    ):
        asked().explain(categories=["a"])
    with pytest.raises(InputTypeError, match="categories: is 'abc', must be a list of length 3, a label"):
        asked().explain(categories="abc")
    with pytest.raises(InputTypeError, match="items: is 5, must be a list of length 12, a label"):
        asked().explain(items=5)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="items: is {0: 'film'}, must be a list of length 12, a label"):
        asked().explain(items={0: "film"})  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match="there is one attribute"):
        asked().explain(categories={"genre": ["a", "b", "c"]})
    with pytest.raises(InputTypeError, match=r"be a mapping from \['genre', 'decade'\] to labels"):
        several_attributes().explain(categories=["a"] * 7)


def test_the_columns_come_by_name_and_cannot_be_changed() -> None:
    why = asked().explain()
    columns = why.to_dict()
    assert list(columns) == ["items", "categories"]
    assert columns["items"] == why.items.columns()
    assert {len(column) for column in columns["categories"].values()} == {R}
    for part in columns.values():
        assert not any(column.flags.writeable for column in part.values())
    with pytest.raises(dataclasses.FrozenInstanceError):
        why.policy = asked()  # type: ignore[misc]


TABLE = """\
2 of 4 candidates, method excalibr, trade-off 0.1

rank  was  shown  score  adjusted  item
   1    1  100 %  0.900     0.710  Harbour
   2    2  100 %  0.800     0.620  Orchard

category  target  before  after   price
drama      0.600   1.000  1.000   0.100
comedy     0.400   0.000  0.000  -0.100

           before  after  change
relevance   0.860  0.860  100 % kept
deviation   0.800  0.800  0.0 % removed"""


def test_the_table_reads_like_this() -> None:
    policy = calibrate([0.9, 0.8, 0.5, 0.4], np.eye(2)[[0, 0, 1, 1]], [0.6, 0.4], k=2, trade_off=0.1,
                       position_weights=[0.6, 0.4])  # fmt: skip
    why = policy.explain(["Harbour", "Orchard", "Wedding", "Lodger"], ["drama", "comedy"])
    assert repr(why) == TABLE


def test_long_slates_end_with_how_many_are_left_and_no_line_is_too_long() -> None:
    rng = np.random.default_rng(2)
    rows = rng.dirichlet(np.ones(25), 80)
    policy = calibrate(rng.random(80), rows, rng.dirichlet(np.ones(25)), k=40)
    lines = repr(policy.explain(items=["a very long title " * 5] * 80)).splitlines()
    assert "… and 5 more" in lines
    assert sum(line.startswith("… and") for line in lines) == 2
    assert max(map(len, lines)) <= 80
    assert sum("…" in line and "title" in line for line in lines) == 20


def test_rich_shows_what_the_plain_text_has() -> None:
    console = pytest.importorskip("rich.console").Console(width=80, record=True, file=io.StringIO())
    why = several_attributes(divergence="kl").explain(items=[f"[b]film {number}" for number in range(N)])
    console.print(why)
    shown = [line.split() for line in console.export_text().splitlines()]
    assert shown == [line.split() for line in repr(why).splitlines()]
