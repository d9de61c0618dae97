"""``--scores``: candidates of a model of one's own, and what its users are judged by."""

from dataclasses import replace
from pathlib import Path

import pytest

from excalibr._experiments import Columns, Setting, Source, run_experiment, table_source
from excalibr._experiments.study import check_plan, prepare
from excalibr.errors import ExcalibrError, InputError
from tests.experiments.invented import ITEMS, own_tables, rows, small_plan

COLUMNS = Columns(("mood",), "listener", "track", "stars", ";")
USERS = (3, 5, 8)


def write(path: Path, head: str, lines: list[str]) -> Path:
    path.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    return path


def tables(folder: Path, more_scores: tuple[str, ...] = (), more_hidden: tuple[str, ...] = ()) -> Source:
    """Three users with a score for every track, track 60 the best, who went on to like tracks 58 to 60."""
    plays, tracks = own_tables(folder)
    scores = [f"l{user},t{item},{item / 100}" for user in USERS for item in range(1, ITEMS + 1)]
    hidden = [f"l{user},t{item}" for user in USERS for item in (58, 59, 60)]
    return table_source(
        *(plays, tracks, COLUMNS),
        scores=write(folder / "scores.csv", "listener,track,score", [*scores, *more_scores]),
        held_out=write(folder / "hidden.csv", "listener,track", [*hidden, *more_hidden]),
        minimum=2,
    )


def test_the_given_scores_are_what_is_re_ranked(tmp_path: Path) -> None:
    source, plan = tables(tmp_path), small_plan(settings=(Setting(20, 10),))
    study = prepare(source, plan)
    assert study.user_ids.tolist() == ["l3", "l5", "l8"]
    known = source.liked.item_ids.tolist()
    best = [name for item in range(ITEMS, 0, -1) if (name := f"t{item}") in known][:20]
    for row in range(3):
        assert [known[item] for item in study.items[row]] == best
        assert study.scores[row].tolist() == [int(name[1:]) / 100 for name in best]
        assert [known[item] for item in study.items[row][study.relevant[row]]] == ["t60", "t59", "t58"]
    assert study.totals.tolist() == [3, 3, 3]


def test_the_target_is_what_the_ratings_say(tmp_path: Path) -> None:
    study = prepare(tables(tmp_path), small_plan(settings=(Setting(20, 10),)))
    moods = study.attributes["mood"]
    for user, target in zip(USERS, moods.targets, strict=True):
        liked = [item for who, item, stars, _ in rows() if who == user and stars > 3.5]
        calm = sum(item % 2 == 0 for item in liked) / len(liked)  # even tracks are calm and sad, half and half
        assert moods.categories == ("calm", "loud", "sad")
        assert target == pytest.approx([calm / 2, 1 - calm, calm / 2])


def test_an_experiment_runs_on_them_without_a_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("excalibr._experiments.study.fit_candidates", None)
    plan = small_plan(settings=(Setting(20, 10),), arms=("greedy", "excalibr"), weightings=("log",))
    results = run_experiment(tables(tmp_path), plan, tmp_path / "out")
    curve = results.curves.get("mood", "log", Setting(20, 10), "excalibr")
    assert curve is not None
    assert curve.users == 3
    assert curve.start["ndcg"] == pytest.approx(1.0)  # relevance only shows 60, 59, 58 first
    assert not results.study.tuning


def test_rows_of_no_use_are_left_out_and_counted(tmp_path: Path) -> None:
    expected = tables(tmp_path)
    scores = ("l3,t60,0.1", "l3,t999,0.9", "nobody,t1,0.9", ",t1,0.9", "l3,t2,", "l3,t2,nan", "l3,t3,inf")
    found = tables(tmp_path, scores, ("l3,t999", "l3,t60"))
    left_out = (
        "left out: 4 rows of scores.csv without a user, an item or a finite score",
        "left out: 2 rows of scores.csv of users or items that no positive is known of",
        "left out: 1 rows of scores.csv of a user and an item with a better one",
        "left out: 1 rows of hidden.csv of users or items that no positive is known of",
        "1 items of hidden.csv are in their users' ratings: the model knew them",
    )
    assert found.understood.endswith("; ".join(left_out))
    assert found.fingerprint() == expected.fingerprint()


def test_users_with_too_few_candidates_are_left_out_and_counted(tmp_path: Path) -> None:
    source = tables(tmp_path, ("l9,t1,0.5", "l9,t2,0.4"), ("l9,t60",))
    study = prepare(source, small_plan(settings=(Setting(20, 10),)))
    assert study.user_ids.tolist() == ["l3", "l5", "l8"]
    assert study.facts["users with scores, of whom with 20 candidates, of whom re-ranked"] == "4, 3, 3"


def test_more_candidates_than_any_user_has_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    source = tables(tmp_path)
    assert source.given is not None
    most = int(source.given.sizes.max())
    with pytest.raises(InputError, match=f"settings: asks for 70 .* more than {most}.*pass --settings {most}/10"):
        run_experiment(source, small_plan(settings=(Setting(70, 10),)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("given", "message"), [("scores", "--held-out: is missing"), ("held_out", "--scores: is mi")])
def test_one_of_the_two_tables_alone_is_refused(tmp_path: Path, given: str, message: str) -> None:
    plays, tracks = own_tables(tmp_path)
    with pytest.raises(InputError, match=message):
        table_source(plays, tracks, COLUMNS, **{given: plays})  # type: ignore[arg-type]


def test_no_user_in_both_tables_is_refused(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    scores = write(tmp_path / "scores.csv", "listener,track,score", ["l3,t1,0.5"])
    hidden = write(tmp_path / "hidden.csv", "listener,track", ["l4,t1"])
    with pytest.raises(InputError, match="has no user with ratings and held-out items"):
        table_source(plays, tracks, COLUMNS, scores=scores, held_out=hidden)


def test_ids_of_another_type_are_refused(tmp_path: Path) -> None:
    plays, tracks = own_tables(tmp_path)
    scores = write(tmp_path / "scores.csv", "listener,track,score", ["3,t1,0.5"])
    hidden = write(tmp_path / "hidden.csv", "listener,track", ["3,t1"])
    with pytest.raises(ExcalibrError, match=r"listener: is whole numbers in scores.csv and text in the ratings"):
        table_source(plays, tracks, COLUMNS, scores=scores, held_out=hidden)


def test_scores_are_checked_for_names_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'mood'"):
        check_plan(tables(tmp_path), small_plan(attributes=("mod",)))


def test_other_held_out_items_are_another_experiment(tmp_path: Path) -> None:
    """Once a run went on with those of the run before, without a word."""
    plan = small_plan(settings=(Setting(20, 10),), arms=("greedy",), weightings=("log",))
    run_experiment(tables(tmp_path), plan, tmp_path / "out")
    with pytest.raises(InputError, match="has an experiment with fingerprint"):
        run_experiment(tables(tmp_path, (), ("l3,t40",)), plan, tmp_path / "out")


def test_other_times_are_another_experiment_where_they_decide_what_is_held_out(tmp_path: Path) -> None:
    source = tables(tmp_path)
    later = replace(source, liked=replace(source.liked, timestamps=source.liked.timestamps + 1))
    assert source.fingerprint() == later.fingerprint()
    assert source.fingerprint(by_time=True) != later.fingerprint(by_time=True)


def test_held_out_items_that_the_model_knew_are_counted(tmp_path: Path) -> None:
    source = tables(tmp_path)
    held_out, history = source.given.held_out, source.given.history  # type: ignore[union-attr]
    others = held_out.matrix[1:].multiply(history.matrix[1:]).nnz
    found = tables(tmp_path, (), tuple(f"l3,{item}" for item in history.item_ids[history.items[: history.indptr[1]]]))
    assert f"{others + history.indptr[1]} items of hidden.csv are in their users' ratings: the model knew them" in (
        found.understood
    )
