from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from excalibr._experiments import Columns, Setting, Source, table_source
from excalibr._experiments.study import Study, check_plan, prepare
from excalibr._problem import Problem
from excalibr.baselines import top_k
from excalibr.datasets import split_users
from excalibr.errors import InputError
from excalibr.metrics import HeldOut, ndcg
from excalibr.models import EASE
from tests.experiments.invented import own_tables, small_plan


def test_what_is_saved_is_what_is_loaded(study: Study, tmp_path: Path) -> None:
    study.save(tmp_path / "study.npz")
    loaded = Study.load(tmp_path / "study.npz")
    for name in ("user_ids", "items", "scores", "relevant", "totals", "order"):
        assert np.array_equal(getattr(loaded, name), getattr(study, name))
    assert loaded.facts == study.facts
    assert loaded.tuning == study.tuning
    for name, attribute in study.attributes.items():
        assert np.array_equal(loaded.attributes[name].targets, attribute.targets)
        assert np.array_equal(loaded.attributes[name].matrix.toarray(), attribute.matrix.toarray())


def test_candidates_are_outside_the_history_and_held_out_items_are_marked(study: Study, source: Source) -> None:
    users = split_users(source.liked, seed=0).test
    for row, user in enumerate(study.user_ids):
        place = int(np.flatnonzero(users.history.user_ids == user)[0])
        known, hidden = (set(part.of_users([place]).items.tolist()) for part in (users.history, users.held_out))
        candidates = study.items[row].tolist()
        assert not known & set(candidates)
        assert [item in hidden for item in candidates] == study.relevant[row].tolist()
        assert study.totals[row] == len(hidden)
        assert (np.diff(study.scores[row]) <= 0).all()


def test_the_regularisation_is_chosen_on_validation_users(study: Study, source: Source) -> None:
    split = split_users(source.liked, seed=0)
    users = split.validation
    slots = len(source.liked.item_ids) - int(np.diff(users.history.indptr).max())
    model = EASE.fit(split.train.matrix, regularisation=10.0)
    top = model.top(users.history.matrix, slots)
    values = []
    for row in range(len(users.history.user_ids)):
        hidden = users.held_out.of_users([row]).items
        policy = top_k(Problem.of(top.scores[row], np.ones((slots, 1)), [1.0]))
        values.append(ndcg(policy, HeldOut.of(np.isin(top.items[row], hidden), n=slots, total=len(hidden))))
    assert study.tuning[10.0] == pytest.approx(float(np.mean(values)), abs=1e-9)
    assert study.tuning[study.regularisation] == max(study.tuning.values())


def test_fewer_users_are_part_of_more(study: Study, source: Source) -> None:
    fewer = prepare(source, small_plan(users=3))
    assert set(fewer.user_ids.tolist()) < set(study.user_ids.tolist())
    assert set(study.sample(2).tolist()) < set(study.sample(4).tolist())


def test_more_candidates_than_there_are_items_is_an_error_that_says_how_many(source: Source) -> None:
    with pytest.raises(InputError, match="settings: asks for 60 candidates"):
        check_plan(source, small_plan(settings=(Setting(60, 10),)))


def test_a_split_by_time_hides_the_latest(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    head, *lines = plays.read_text(encoding="utf-8").splitlines()
    moments = np.random.default_rng(2).permutation(len(lines))
    dated = [f"{head},when", *(f"{line},{moment}" for line, moment in zip(lines, moments, strict=True))]
    plays.write_text("\n".join([*dated, ""]), encoding="utf-8")
    source = table_source(plays, tracks, Columns(("mood",), "listener", "track", "stars", ";", timestamp="when"))
    study = prepare(source, small_plan(split="time", users=9))
    when = {(line.split(",")[0], line.split(",")[1]): int(line.split(",")[3]) for line in dated[1:]}
    liked = {pair for pair, line in zip(when, lines, strict=True) if float(line.split(",")[2]) > 3.5}
    for row, user in enumerate(study.user_ids.tolist()):
        own = sorted((pair for pair in liked if pair[0] == user), key=lambda pair: when[pair])
        latest = {item for _, item in own[len(own) - len(own) // 5 :]}
        known = source.liked.item_ids
        assert {str(known[item]) for item in study.items[row][study.relevant[row]]} <= latest
        assert study.totals[row] == len(latest)
        shown = {str(known[item]) for item in study.items[row]}
        assert not shown & {item for _, item in own[: len(own) - len(own) // 5]}


def test_a_split_by_time_without_times_is_refused(tmp_path: Path) -> None:
    source = table_source(*own_tables(tmp_path), Columns(("mood",), "listener", "track", "stars", ";"))
    with pytest.raises(InputError, match="split: is 'time', and the ratings have no times, must be 'random'"):
        check_plan(source, small_plan(split="time"))


def test_the_grid_of_regularisations_grows_while_its_edge_is_best(source: Source) -> None:
    study = prepare(source, small_plan(regularisations=(2000.0, 4000.0)))
    tried = sorted(study.tuning)
    assert len(tried) > 2
    assert tried == [tried[0] * 2.0**step for step in range(len(tried))]
    assert tried[0] < study.regularisation < tried[-1] or len(tried) == 2 + 5


def test_of_regularisations_that_are_equally_good_the_candidates_are_the_smallest_ones(source: Source) -> None:
    alike = prepare(source, small_plan(regularisations=(0.001, 0.002)))
    assert len(set(alike.tuning.values())) == 1
    alone = prepare(source, small_plan(regularisations=(alike.regularisation,)))
    assert alike.regularisation == min(alike.tuning)
    assert np.array_equal(alike.scores, alone.scores)


def test_too_few_users_to_split_are_said_so(source: Source) -> None:
    few = replace(source, liked=source.liked.of_users([0, 1]))
    with pytest.raises(InputError, match="the data: have 2 users with enough positives, must have at least three"):
        check_plan(few, small_plan())
