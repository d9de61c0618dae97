from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.families import WHEN_CHOSEN, Family, families, slug
from benchmarks.problems import TRADE_OFFS, TUNED, skewed
from benchmarks.streams import store, stored
from benchmarks.workers.problems_file import read, write_binary

CHOSEN = ("gamma 150/10/20", "kl 150", "decade 150", "corner: steep weights")


@pytest.fixture(scope="module")
def made() -> list[Family]:
    return families(10, None, CHOSEN, spare=2)


def test_families_are_those_whose_names_hold_a_word(made: list[Family]) -> None:
    assert [family.name for family in made] == [
        "gamma 150/10/20",
        "kl 150/100/20",
        "decade 150/100",
        "corner: steep weights",
    ]
    assert [family.divergence for family in made] == ["l1", "kl", "l1", "l1"]
    assert [family.count for family in made] == [10, 10, 10, 6]
    assert made[0].slots == 10


def test_no_two_problems_of_a_stream_are_the_same(made: list[Family]) -> None:
    for family in made:
        seen = {instance.scores.tobytes() + instance.categories.tobytes() for instance in family.instances}
        assert len(seen) == len(family.instances)


def test_versions_are_not_compared_on_the_problems_that_constants_were_chosen_on(made: list[Family]) -> None:
    tuned = {
        scores.tobytes()
        for scores in (each.scores for f in families(10, None, CHOSEN, 2, TUNED) for each in f.instances)
    }
    assert not tuned & {each.scores.tobytes() for family in made for each in family.instances}


def test_trade_offs_come_in_turn(made: list[Family]) -> None:
    for family in made:
        asked = [instance.trade_off for instance in family.instances]
        assert asked == [TRADE_OFFS[place % len(TRADE_OFFS)] for place in range(len(asked))]


def test_skewed_problems_have_skewed_scores_and_tiny_shares() -> None:
    instances = skewed(150, 10, 20, 60).instances
    scores = np.concatenate([instance.scores for instance in instances])
    targets = np.array([instance.target for instance in instances])
    assert scores.mean() > 1.1 * np.median(scores)
    assert (targets < 1e-6).mean() > 0.1
    np.testing.assert_allclose(targets.sum(axis=1), 1.0)
    for instance in instances:
        np.testing.assert_allclose(instance.categories.sum(axis=1), 1.0)
        assert {1, 2, 3} == set(np.count_nonzero(instance.categories, axis=1).tolist())


@pytest.mark.parametrize("word", ["falling 150/10/100", "150/20/500", "sellers 150/20/100000"])
def test_families_with_many_categories_are_of_their_kind(word: str, tmp_path: Path) -> None:
    made = families(20, None, [word], spare=1)
    store(made, tmp_path / "problems.npz")
    for family, stored_family in zip(made, read(tmp_path / "problems.npz"), strict=True):
        assert word in family.name
        targets = [instance.target for instance in family.instances]
        assert len({target.tobytes() for target in targets}) == len(targets)
        for one, other in zip(family.instances, stored_family.problems, strict=True):
            rows = sp.csr_array(one.categories)
            np.testing.assert_allclose(rows.sum(axis=1), 1.0)
            np.testing.assert_array_equal(sp.csr_array(other.categories).toarray(), rows.toarray())
            held = np.diff(rows.indptr)
            match family.name.split()[0]:
                case "tags" | "kl-tags":
                    assert 27 <= held.min() < held.max() <= 44
                case "sellers":
                    assert 55 <= len(np.unique(rows.indices)) <= 80
                case _:
                    assert set(held.tolist()) == {2}


def test_what_takes_minutes_is_measured_only_where_it_is_chosen() -> None:
    names = {family.name for family in families(1, None, spare=1)}
    assert names >= {"falling 500/100/150", "thin 150/10/1000", "kl-tags 150/20/1000", "sellers 150/20/3000"}
    assert not names & set(WHEN_CHOSEN)
    assert [family.name for family in families(1, None, ["falling 1000"], spare=1)] == [
        "falling 1000/50/200",
        "falling 1000/50/300",
    ]


def test_problems_come_back_from_their_file(made: list[Family], tmp_path: Path) -> None:
    store(made, tmp_path / "problems.npz")
    found = read(tmp_path / "problems.npz")
    assert [family.weights for family in found] == ["log", "log", "log", ""]
    for before, after in zip(made, found, strict=True):
        assert (after.name, after.divergence, len(after.timed)) == (before.name, before.divergence, before.count)
        assert len(after.warm_up) == before.spare
        for one, other in zip(before.instances, after.problems, strict=True):
            np.testing.assert_array_equal(one.scores, other.scores)
            np.testing.assert_array_equal(one.categories, other.categories)
            np.testing.assert_array_equal(one.target, other.target)
            assert (one.k, one.trade_off) == (other.k, other.trade_off)
            assert other.weights.sum() == pytest.approx(1.0)
    assert [family.name for family in read(tmp_path / "problems.npz", ["decade 150/100"])] == ["decade 150/100"]


def test_a_program_that_knows_nothing_of_numpy_can_read_a_family(made: list[Family], tmp_path: Path) -> None:
    path = tmp_path / f"{slug(made[0].name)}.bin"
    write_binary(path, stored(made[0]))
    bytes_left, read_back = path.read_bytes(), []
    while bytes_left:
        n, k, r, entries = struct.unpack_from("=4i", bytes_left)
        layout = f"=4i d {n}d {n + 1}i {entries}i {entries}d {r}d {k}d"
        read_back.append(struct.unpack_from(layout, bytes_left))
        bytes_left = bytes_left[struct.calcsize(layout) :]
    assert len(read_back) == made[0].count
    for instance, fields in zip(made[0].instances, read_back, strict=False):
        assert fields[:2] == (150, 10)
        assert fields[4] == instance.trade_off
        assert fields[5:155] == tuple(instance.scores.tolist())
        assert fields[-30:-10] == tuple(instance.target.tolist())
        assert sum(fields[-10:]) == pytest.approx(1.0)
