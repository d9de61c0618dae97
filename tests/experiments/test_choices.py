"""What a run chooses for itself: trade-offs along the curve at any scale, and what fits into a time, once."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from excalibr._experiments import Source, run_experiment
from excalibr._experiments.choices import RunChoices, chosen_trade_offs, fitted_to_time, total_seconds
from excalibr._experiments.measures import METRICS
from excalibr._experiments.plan import PlanPart
from excalibr._experiments.processes import measure_users
from excalibr._experiments.study import Study
from tests.experiments.invented import small_plan

OPEN = small_plan(trade_offs=(), points=12)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_trade_offs_are_spread_along_the_curve_at_any_scale_of_the_scores(study: Study, scale: float) -> None:
    scaled = replace(study, scores=scale * study.scores)
    plan = replace(OPEN, trade_offs=chosen_trade_offs(scaled, OPEN))
    part = PlanPart("genre", plan.settings[0], "excalibr-kl")
    found = (
        measure_users(scaled, plan, part, range(len(scaled)))
        .values[0]
        .mean(axis=0)[:, METRICS.index("kl_of_expectation")]
    )
    start = measure_users(scaled, plan, PlanPart("genre", plan.settings[0], "relevance"), range(len(scaled))).values[0]
    points = np.append(start.mean(axis=0)[0, METRICS.index("kl_of_expectation")], found)
    steps = -np.diff(points) / np.ptp(points)
    assert (steps > -1e-9).all()
    assert steps.max() < 0.3
    assert (steps > 0.02).sum() >= 6


def choices(study: Study, plan: object = None) -> RunChoices:
    """Every part takes a second a user."""
    made = small_plan(users=100, sample=40, mip_users=40, trade_offs=tuple(np.linspace(0.05, 0.95, 12)))
    return RunChoices(made, dict.fromkeys(made.parts(study.attributes), 1.0))


def many(study: Study) -> Study:
    """The same study with 100 users, in name."""
    return replace(study, user_ids=np.arange(100), order=np.arange(100))


def test_users_are_chosen_so_that_it_fits_into_the_time(study: Study) -> None:
    asked = choices(study)
    assert total_seconds(many(study), asked, 1) > 3000
    chosen = fitted_to_time(many(study), asked, 1, 2500.0)
    assert total_seconds(many(study), chosen, 1) <= 2500.0
    assert 20 < chosen.plan.users < 100
    assert chosen.plan.trade_offs == asked.plan.trade_offs


def test_where_few_users_take_too_long_trade_offs_go_as_well(study: Study) -> None:
    chosen = fitted_to_time(many(study), choices(study), 1, 600.0)
    assert chosen.plan.users == 20
    assert 6 <= len(chosen.plan.trade_offs) < 12
    assert chosen.plan.trade_offs[0] == pytest.approx(0.05)
    assert chosen.plan.trade_offs[-1] == pytest.approx(0.95)
    assert total_seconds(many(study), chosen, 1) < total_seconds(many(study), choices(study), 1) / 5


def test_enough_time_changes_nothing(study: Study) -> None:
    assert fitted_to_time(many(study), choices(study), 1, 1e6) == choices(study)


def test_what_was_chosen_is_stored_and_reused_when_it_goes_on(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(trade_offs=(), points=4, attributes=("genre",), arms=("greedy", "excalibr"), users=4)
    first = run_experiment(source, plan, tmp_path, seconds=3600.0)
    stored = json.loads((tmp_path / "choices.json").read_text(encoding="utf-8"))
    assert tuple(stored["trade_offs"]) == first.plan.trade_offs
    for name in ("chosen_trade_offs", "fitted_to_time", "cost_of_fit"):
        monkeypatch.setattr(f"excalibr._experiments.run.{name}", None)  # nothing is chosen again
    assert run_experiment(source, plan, tmp_path, seconds=3600.0).plan == first.plan


def test_a_run_stopped_after_the_fit_keeps_the_items_that_were_chosen(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(attributes=("genre",), arms=("greedy",), users=4)
    asked = replace(plan, min_item_count=30)
    with monkeypatch.context() as stopped:
        stopped.setattr("excalibr._experiments.run._fitting", lambda *_: (asked, 0))
        stopped.setattr("excalibr._experiments.run._choices", None)
        with pytest.raises(TypeError):
            run_experiment(source, plan, tmp_path)
    assert run_experiment(source, plan, tmp_path).plan.min_item_count == 30
    assert json.loads((tmp_path / "choices.json").read_text(encoding="utf-8"))["min_item_count"] == 30


def test_too_many_items_for_the_time_are_left_out_and_said(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from excalibr._experiments.scoring import FitCost

    monkeypatch.setattr("excalibr._experiments.run.cost_of_fit", lambda items: FitCost(items, 0.3, 3600.0))
    plan = small_plan(attributes=("genre",), arms=("greedy",), users=4)
    told: list[str] = []
    results = run_experiment(source, plan, tmp_path, seconds=3600.0, said=told.append)
    assert results.plan.min_item_count > 1
    assert len(results.study.popularity) <= 0.25 ** (1 / 3) * len(source.liked.item_ids)
    assert results.plan.regularisations == (50.0,)
    assert "too long for 60 min." in told[0]
    left = len(source.liked.item_ids) - len(results.study.popularity)
    assert any(words.startswith(f"left out: {left} items with fewer than ") for words in told)
