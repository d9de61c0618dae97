"""What the kernel does around a request, against the same in numpy and Python."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import excalibr
from excalibr import _seeds as seeds
from excalibr._native import kernel
from excalibr._options import Options
from excalibr._problem import Memberships
from excalibr._solver import setting_of


@pytest.mark.parametrize("zeros", [0, 4, 9, 16])
def test_the_first_number_of_a_seed_is_that_of_numpys_generator(zeros: int) -> None:
    rng = np.random.default_rng(zeros)
    for _ in range(200):
        seed = rng.bytes(16 - zeros) + bytes(zeros)  # small seeds have fewer words in numpy's seeding
        expected = np.random.PCG64(int.from_bytes(seed, "little")).random_raw()
        assert kernel.first_of_stream(seed) == expected


IDS = {
    "dense": np.arange(500)[::-1] - 20,
    "sparse": np.unique(np.random.default_rng(3).integers(-(2**63), 2**63 - 1, 500)),
    "at the ends": np.array([2**63 - 1, -(2**63), 0, 7]),
    "one": np.array([5]),
}


@pytest.mark.parametrize("name", IDS)
def test_candidates_are_found_by_id_in_the_order_of_the_table(name: str) -> None:
    ids, rng = IDS[name], np.random.default_rng(4)
    table, places = kernel.IdTable(ids), {each: place for place, each in enumerate(ids.tolist())}
    asked = [*rng.permutation(ids)[:100].tolist(), 10**6 + 1, 2**70]
    labels = [str(each) if at % 3 == 0 and abs(each) < 10**18 else each for at, each in enumerate(asked)]
    scores = rng.random(len(labels)).tolist()
    found = kernel.known_candidates(table, labels, scores, 1e150)
    assert found is not None
    picked, rows, values, unknown = found
    known = sorted((places[each], at) for at, each in enumerate(asked) if each in places)
    assert [*zip(rows.tolist(), picked.tolist(), strict=True)] == known
    assert values.tolist() == [scores[at] for _, at in known]
    assert unknown == [at for at, each in enumerate(asked) if each not in places]


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        ([1, 1], [1.0, 2.0]),
        ([1, "01"], [1.0, 2.0]),
        ([1, "x"], [1.0, 2.0]),
        ([1, "-"], [1.0, 2.0]),
        ([1, ""], [1.0, 2.0]),
        ([1, "9" * 19], [1.0, 2.0]),
        ([1, "\ud800"], [1.0, 2.0]),
        ([1, None], [1.0, 2.0]),
        ([1, 2], [1.0, float("nan")]),
        ([1, 2], [1.0, 1e151]),
        ([1, 2], [1.0, None]),
        ([1, 2], [1.0]),
    ],
)
def test_what_takes_more_than_a_look_is_left_to_python(labels: list[object], scores: list[object]) -> None:
    assert kernel.known_candidates(kernel.IdTable(np.array([1, 2])), labels, scores, 1e150) is None


def test_text_is_found_in_a_dict_and_numbers_are_left_to_python() -> None:
    table = {"a": 1, "b": 0}
    found = kernel.known_candidates(table, ["a", "c", "b"], [0.1, 0.2, 0.3], 1e150)
    assert found is not None
    picked, rows, values, unknown = found
    assert (picked.tolist(), rows.tolist(), values.tolist(), unknown) == ([2, 0], [0, 1], [0.3, 0.1], [1])
    assert kernel.known_candidates(table, ["a", 7], [0.1, 0.2], 1e150) is None


def test_rows_are_gathered() -> None:
    rng = np.random.default_rng(5)
    dense = rng.random((30, 4)) * (rng.random((30, 4)) < 0.5)
    rows = Memberships(*kernel.pack_rows(dense), 4)
    wanted = rng.integers(0, 30, 50)
    assert (rows.of(wanted).dense() == dense[wanted]).all()
    for outside in (-1, 30):
        with pytest.raises(ValueError, match="out of range"):
            rows.of(np.array([outside]))


@pytest.mark.parametrize("seed", range(6))
def test_a_slate_has_the_sums_of_its_policy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, rows = rng.random(40), rng.dirichlet(np.ones(5), 40)
    policy = excalibr.calibrate(scores, rows, rng.dirichlet(np.ones(5)), k=7)
    labels = rng.permutation(40)
    for shown, ranking in enumerate(policy.rankings):
        problem = policy.problem
        lottery = (policy.rankings, policy.weights, problem.position_weights, shown)
        told = kernel.slate_of(problem.batch.checked, *lottery, labels, scores, None, None)
        assert told[0] == labels[ranking].tolist()
        assert told[1] == scores[ranking].tolist()
        assert told[2] == policy.propensities(ranking).in_slot.tolist()
        assert told[3] == pytest.approx(policy.relevance, rel=1e-14)
        np.testing.assert_allclose(told[4], policy.distribution, atol=1e-14)
        assert told[5] == problem.target.tolist()
        assert told[6] == pytest.approx([policy.deviation], abs=1e-14)
        assert told[7] == pytest.approx([policy.draw_deviations[shown]], abs=1e-14)
        band = (np.full(5, 0.1), np.full(5, 0.3))
        within = kernel.slate_of(problem.batch.checked, *lottery, labels, scores, *band)
        below, above = np.maximum(0.1 - policy.distribution, 0), np.maximum(policy.distribution - 0.3, 0)
        assert within[6] == pytest.approx([(below + above).sum()], abs=1e-14)


CATEGORIES = ["plain", 'a "quoted" one', "back\\slash", "Größe 📚", "line\nbreak"]
LABELS: dict[str, list[Any]] = {
    "numbers": list(range(-20, 20)),
    "numbers as text": [str(each) for each in range(-20, 20)],
    "text": [f'{number} "ö\\\x01\n📚' for number in range(40)],
}


def catalogue_of(labels: list[Any], rows: Any, *, unit_range: bool = False) -> kernel.Catalogue:
    ids: Any = {each: at for at, each in enumerate(labels)}
    if not isinstance(labels[0], str) or labels[0].lstrip("-").isdigit():
        ids = kernel.IdTable(np.array([int(each) for each in labels]))
    return kernel.Catalogue(ids, *kernel.pack_rows(rows), CATEGORIES, unit_range)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("normalise", [None, "range"])
@pytest.mark.parametrize("name", LABELS)
def test_a_slate_at_once_is_that_of_the_policy(name: str, normalise: str | None, *, alone: bool) -> None:
    rng, labels = np.random.default_rng(6), LABELS[name]
    table = rng.dirichlet(np.ones(5), 40)
    catalogue = catalogue_of(labels, table, unit_range=normalise is not None)
    for k in (1, 7, 25):
        chosen = np.sort(rng.permutation(40)[:30])
        scores, target, draw = 3 * rng.random(30), rng.dirichlet(np.ones(5)), float(rng.random())
        policy = excalibr.calibrate(scores, table[chosen], target, k=k, normalise=normalise)
        order = rng.permutation(30)
        asked = [*(labels[chosen[at]] for at in order), 10**6 if name == "numbers" else "1000000"]
        given = [*scores[order].tolist(), 0.5]
        found = catalogue.slate(asked, given, 1e150, target, setting_of(Options(k=k), k), draw, alone)
        assert found is not None
        items, shares, wanted = (json.loads(each) for each in found[:3])
        drawn = seeds.choose_one(policy.weights.tolist(), draw)
        ranking = policy.rankings[drawn]
        assert [each["item"] for each in items] == [labels[chosen[at]] for at in ranking]
        assert [each["score"] for each in items] == scores[ranking].tolist()
        assert [each["rank"] for each in items] == list(range(1, k + 1))
        assert [each["propensity"] for each in items] == policy.propensities(ranking).in_slot.tolist()
        assert (list(shares), list(wanted)) == (CATEGORIES, CATEGORIES)
        np.testing.assert_allclose(list(shares.values()), policy.distribution, atol=1e-14)
        assert list(wanted.values()) == policy.problem.target.tolist()
        sums = (policy.relevance, policy.deviation, policy.draw_deviations[drawn])
        assert found[3:6] == pytest.approx(sums, abs=1e-13)
        assert found[6:9] == (policy.weights[drawn], policy.gap, False)
        assert (found[9] > 0, *found[10:]) == (True, k, [30], None)


def test_what_a_slate_at_once_cannot_be_made_of_is_left_to_python() -> None:
    table = np.eye(5)
    catalogue, setting = catalogue_of(list(range(5)), table), setting_of(Options(k=2), 2)
    target = np.full(5, 0.2)

    def slate(labels: list[Any], scores: list[float], wanted: Any = target, asked: kernel.Setting = setting) -> Any:
        return catalogue.slate(labels, scores, 1e150, wanted, asked, 0.5, False)

    assert slate([0, 1], [1.0, 2.0]) is not None
    assert slate([0, 7], [1.0, 2.0]) is None  # one candidate for two slots
    assert slate([0, 0], [1.0, 2.0]) is None
    assert slate([0, 1], [1.0, float("nan")]) is None
    assert slate([0, 1], [1.0, 2.0], 2 * target) is None
    assert slate([0, 1], [1.0, 2.0], target, setting_of(Options(k=2, relevance_loss=0.0), 2)) is not None
    assert slate([0, 1], [1.0, 2.0], target, setting_of(Options(k=2, max_deviation=0.0), 2)) is None
    with pytest.raises(ValueError, match="every category has a target"):
        slate([0, 1], [1.0, 2.0], target[:4])
    beyond = kernel.Catalogue({"a": 0, "b": 9}, *kernel.pack_rows(table), CATEGORIES, False)
    with pytest.raises(ValueError, match="an id has a row"):
        beyond.slate(["a", "b"], [1.0, 2.0], 1e150, target, setting, 0.5, False)


@pytest.mark.parametrize("size", [1, 2, 9])
def test_draws_at_the_edges_fall_where_python_has_them_fall(size: int) -> None:
    rng = np.random.default_rng(size)
    table, scores = rng.dirichlet(np.ones(5), 40), rng.random(40).tolist()
    catalogue, target = catalogue_of(list(range(40)), table), rng.dirichlet(np.ones(5))
    policy = excalibr.calibrate(scores, table, target, k=size)
    edges, setting = np.cumsum(policy.weights) / policy.weights.sum(), setting_of(Options(k=size), size)
    for draw in (0.0, *edges.tolist(), *np.nextafter(edges, 0).tolist(), *np.nextafter(edges, 2).tolist()):
        drawn = seeds.choose_one(policy.weights.tolist(), draw)
        found = catalogue.slate(list(range(40)), scores, 1e150, target, setting, draw, False)
        assert found is not None
        assert [each["item"] for each in json.loads(found[0])] == policy.rankings[drawn].tolist()
