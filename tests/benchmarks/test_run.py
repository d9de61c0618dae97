from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import growth, measuring, plan
from benchmarks import run as running
from benchmarks.measuring import Order, measure
from benchmarks.page import page
from benchmarks.peers import PEERS, Measured, Peer, available
from benchmarks.plan import QUICK, headline, others
from benchmarks.problems import CORNERS, Instance, ProblemSet, adversarial, film_like, uniform
from benchmarks.results import Results
from benchmarks.run import only_headline, renew_headline, run
from tests.benchmarks.invented import PROBLEMS, ROUNDS, a_set, results

TINY = replace(
    QUICK, headline=1, peers=1, films=1, kernel=1, corners=1, growth=1, processes=0, batch_users=3, memory_users=()
)
OURS = ("excalibr", "kernel", "path", "frontier", "kl", "single", "greedy", "greedy-at-once", "top-k", "sorting")


def test_a_quick_run_measures_every_section(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PEERS_OF_A_SET", "PEERS_OF_FILMS"):
        monkeypatch.setattr(plan, name, OURS)
    monkeypatch.setattr(plan, "ROWS", (replace(plan.ROWS[3], peer="highs-ds"), replace(plan.ROWS[0], n=20, k=5)))
    monkeypatch.setattr(plan, "PEER_SIZES", ((30, 10, 5, 2),))
    monkeypatch.setattr(plan, "generated_films", lambda users: [film_like("genre, n=150", 150, 20, 18, 3, users)])
    monkeypatch.setattr(plan, "adversarial", lambda count, names: adversarial(count)[7:8])
    for name, sizes in (("CANDIDATES", (60, 80)), ("SLOTS", (2, 5)), ("CATEGORIES", (2, 5)), ("WEIGHTS", (0.1, 0.9))):
        monkeypatch.setattr(growth, name, sizes)
    monkeypatch.setattr(running, "_in_a_process", _here)
    told: list[str] = []
    found = run(replace(TINY, rounds=1, highs=1), None, told.append)
    assert {each.kind for each in found.sets} == {"target", "size", "peers", "films", "kernel", "corners"}
    assert "## Growth" in page(found, [])
    assert "**off" not in page(found, [])
    assert told
    assert {len(each.seconds["excalibr"][0]) for each in found.of_kind("target")} == {1, TINY.headline_rounds}


def _here(problems: int, rounds: int, row: str | None) -> Results:
    return only_headline(replace(TINY, headline=problems, headline_rounds=rounds), lambda text: None, row)


def test_a_headline_is_renewed_on_the_same_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    before = results()
    asked: list[int] = []

    def anew(problems: int, rounds: int, row: str | None) -> Results:
        asked.append(problems)
        return replace(before, sets=[a_set("150, 100, 20", "target", {"glop": 100.0, "excalibr": 1.0})])

    monkeypatch.setattr(running, "_in_a_process", anew)
    after = renew_headline(before, 2, lambda text: None)
    assert asked == [PROBLEMS, PROBLEMS]
    assert [each.name for each in after.sets] == [each.name for each in before.sets]
    assert len(after.of_kind("target")[0].seconds["glop"][0]) == 2 * ROUNDS
    assert after.of_kind("peers") == before.of_kind("peers")
    assert "measured anew after it" in page(after, [])
    assert "measured anew after it" not in page(before, [])


def test_no_problem_is_solved_twice_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[tuple[str, int]] = []
    problems = uniform(10, 3, 4, 1, 12)
    numbers = {instance.scores.tobytes(): number for number, instance in enumerate(problems.instances)}

    def peer(name: str) -> Peer:
        def call(instance: Instance) -> Measured:
            solved.append((name, numbers.get(instance.scores.tobytes(), -1)))
            return Measured(1e-3, 0.0)

        return Peer(name, name, call)

    monkeypatch.setattr(measuring, "RUN", 4)
    monkeypatch.setattr(measuring, "LEAD", 2)
    monkeypatch.setattr(measuring, "available", lambda names: [peer(name) for name in names])
    monkeypatch.setattr(measuring, "_warm_up", lambda names: None)
    monkeypatch.setattr(measuring, "interruptions", lambda: 0)
    (found,) = measure([Order("peers", problems, ("a", "b"))], 1)
    run = [("a", 10), ("a", 11), *(("a", place) for place in range(4))]  # two of the stream before it, without a clock
    assert solved[:6] == run
    assert solved[6:12] == [("b", place) for _, place in run]
    assert [place for name, place in solved if name == "b"][6:12] == [2, 3, 4, 5, 6, 7]
    assert np.shape(found.seconds["a"]) == (12, 1)


def test_a_quick_call_that_was_interrupted_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[float] = []
    counts = iter([0, 1, 1, 1, 1, 1])  # the first of two calls is interrupted

    def call(instance: Instance) -> Measured:
        solved.append(instance.trade_off)
        return Measured(1e-3 * len(solved), 0.0)

    monkeypatch.setattr(measuring, "interruptions", lambda: next(counts))
    found = measuring._stream(Peer("", "", call), uniform(10, 3, 4, 1, 2).instances)
    assert solved == [0.1, 0.3, 0.1]
    assert [each.seconds for each in found] == [3e-3, 2e-3]


def test_every_peer_is_of_a_known_package_and_claims_a_known_method() -> None:
    for peer in PEERS.values():
        assert peer.like is None or peer.like in PEERS
    assert {peer.name for peer in available(["excalibr", "sorting"])} == {"excalibr", "sorting"}


def test_plain_greedy_agrees_with_the_compiled_one() -> None:
    for instance in uniform(30, 10, 6, 2, 3).instances:
        values = {
            name: PEERS[name].call(instance).objective for name in ("greedy", "greedy-at-once", "greedy-by-candidate")
        }
        assert len({round(value, 9) for value in values.values()}) == 1


def test_more_problems_of_a_row_begin_with_the_fewer() -> None:
    few, many = uniform(20, 5, 4, 2, 3), uniform(20, 5, 4, 2, 9)
    for one, other in zip(few.instances, many.instances, strict=False):
        np.testing.assert_array_equal(one.scores, other.scores)
        assert one.trade_off == other.trade_off


@pytest.mark.parametrize("name", sorted(CORNERS))
def test_corners_are_valid_problems(name: str) -> None:
    instance = CORNERS[name](np.random.default_rng(1), 0.5)
    assert instance.problem().n == len(instance.scores)


def test_the_rows_that_take_long_are_of_the_full_run_only() -> None:
    assert len(headline(QUICK)) == 4
    assert "target" not in {order.kind for order in others(QUICK, None)}
    assert [order.kind for order in others(replace(QUICK, highs=1), None)].count("target") == 2


def test_films_come_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Path, int]] = []

    def film_sets(folder: Path, users: int) -> list[ProblemSet]:
        asked.append((folder, users))
        return []

    monkeypatch.setattr(plan, "film_sets", film_sets)
    made = others(TINY, tmp_path)
    assert asked == [(tmp_path, TINY.kernel)]
    assert "kernel" not in {order.kind for order in made}
