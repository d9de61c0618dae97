import re
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from excalibr._experiments import ExperimentResults, Setting, Source, run_experiment, write_files, write_page
from excalibr._experiments.curves import KL, Curves
from excalibr._experiments.figures import draw, figures_of
from excalibr._experiments.report import introduction
from excalibr._experiments.tables import tables_of
from tests.experiments.invented import small_plan


@pytest.fixture(scope="module")
def shown(source: Source, tmp_path_factory: pytest.TempPathFactory) -> tuple[ExperimentResults, Path]:
    folder = tmp_path_factory.mktemp("shown")
    plan = small_plan(timed_users=1, attributes=("genre",), settings=(Setting(20, 10),))
    results = run_experiment(source, plan, folder)
    write_files(results, folder)
    return results, folder


def test_every_figure_is_there_as_png_and_svg(shown: tuple[ExperimentResults, Path]) -> None:
    results, folder = shown
    names = {figure.name for figure in figures_of(results.curves)}
    assert names == {f"figure-{what}-20-10" for what in ("lotteries", "differences", "list", "list-differences")}
    for name in names:
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert ElementTree.parse(folder / "figures" / f"{name}.svg").getroot().tag.endswith("svg")


def test_a_figure_has_a_panel_for_each_weighting_and_attribute(results: ExperimentResults) -> None:
    figure = next(figures_of(results.curves))
    panels = draw(figure, results.curves).axes
    assert len(panels) == 2 * 3
    assert [panel.get_xlabel() for panel in panels] == ["KL of the expectation"] * 3 + ["KL of a draw, mean"] * 3
    assert panels[0].get_ylabel() == "NDCG@10"
    genre, decade = (panel.get_legend_handles_labels()[1] for panel in panels[:2])
    assert "MIP greedy" not in genre  # it ran on a sample there, and is in the differences only
    assert "MIP greedy" in decade


def test_a_sample_is_shown_by_its_paired_difference(results: ExperimentResults) -> None:
    figure = next(each for each in figures_of(results.curves) if each.less)
    panel = draw(figure, results.curves).axes[0]
    assert "MIP greedy" in panel.get_legend_handles_labels()[1]
    assert "MIP greedy: 2 users" in [text for words in panel.texts for text in words.get_text().splitlines()]


def test_drawn_again_a_figure_has_the_same_bytes(shown: tuple[ExperimentResults, Path], tmp_path: Path) -> None:
    results, folder = shown
    write_files(results, tmp_path)
    for path in (folder / "figures").iterdir():
        assert (tmp_path / "figures" / path.name).read_bytes() == path.read_bytes()


def test_every_table_is_there_as_markdown_and_csv(shown: tuple[ExperimentResults, Path]) -> None:
    results, folder = shown
    names = [table.name for table in tables_of(results)]
    assert {
        "data",
        "tuning",
        "equal-kl",
        "draws",
        "runtimes",
        "runtimes-split",
        "runtimes-drop",
        "differences",
        "aims",
        "measures",
        "lists",
        "list-bound",
        "claims",
    } == set(names)
    for name in names:
        lines = (folder / "tables" / f"{name}.md").read_text(encoding="utf-8").splitlines()
        table = [line for line in lines if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
        assert len((folder / "tables" / f"{name}.csv").read_text(encoding="utf-8").splitlines()) >= len(table) - 1


def test_the_report_stands_alone(shown: tuple[ExperimentResults, Path]) -> None:
    text = (shown[1] / "report.html").read_text(encoding="utf-8")
    assert text.count("data:image/png;base64,") == 4
    assert "http" not in text
    assert not re.search(r'(?:src|href)="(?!data:)', text)
    assert "What the paper claims" in text


def test_the_page_names_its_command_and_shows_figures_that_exist(
    shown: tuple[ExperimentResults, Path], tmp_path: Path
) -> None:
    page = write_page(shown[0], tmp_path, "excalibr experiment --data invented --out results")
    text = page.read_text(encoding="utf-8")
    assert "$ excalibr experiment --data invented" in text
    for target in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text):
        assert (tmp_path / target).is_file()
    assert "## On data of your own" in text
    assert str(tmp_path) not in text


def test_the_report_counts_the_users_who_were_re_ranked_and_not_all_that_there_are(results: ExperimentResults) -> None:
    fewer = replace(results, plan=replace(results.plan, users=len(results.study) - 1))
    assert next(introduction(fewer)).startswith(f"{len(results.study) - 1} test users of ")


@pytest.fixture(scope="module")
def own(source: Source, tmp_path_factory: pytest.TempPathFactory) -> ExperimentResults:
    """Without log weights, the projected greedy, or a setting of the paper's."""
    plan = small_plan(
        weightings=("sqrt", "uniform"), arms=("greedy", "excalibr"), settings=(Setting(20, 10), Setting(15, 5))
    )
    return run_experiment(source, plan, tmp_path_factory.mktemp("own"))


def test_other_weights_than_the_papers_have_figures_and_tables(own: ExperimentResults, tmp_path: Path) -> None:
    """Once a report without log weights had no figure and empty tables."""
    text = write_page(own, tmp_path, "excalibr experiment").read_text(encoding="utf-8")
    shown = [figure.name for figure in figures_of(own.curves)]
    assert shown == ["figure-lotteries-20-10", "figure-lotteries-15-5", "figure-list-20-10", "figure-list-15-5"]
    for name in shown:
        assert f"(experiment/{name}.png)" in text
    assert "| genre | sqrt | 15/5 | ExCalibR |" in text
    assert "| greedy less ExCalibR | KL of the expectation | 20/10 | genre |" in text
    assert "- ExCalibR, n/k = 15/5, sqrt weights, λ = 0.1: " in text
    assert "projected" not in text
    assert "the table of runtimes" not in text
    assert "Where the exact lotteries win" not in text


def test_no_table_is_empty_and_no_panel_without_a_curve(own: ExperimentResults) -> None:
    assert all(table.rows for table in tables_of(own))
    for figure in figures_of(own.curves):
        for panel in draw(figure, own.curves).axes:
            assert {"greedy", "ExCalibR"} <= set(panel.get_legend_handles_labels()[1])


def test_the_trade_off_that_is_named_is_the_one_that_was_run(results: ExperimentResults, tmp_path: Path) -> None:
    """Once it was λ = 0.1, whatever was nearest to it."""
    curves = Curves(replace(each, trade_offs=each.trade_offs + 0.05) for each in results.curves)
    text = write_page(replace(results, curves=curves), tmp_path, "excalibr experiment").read_text(encoding="utf-8")
    assert "log weights, λ = 0.15: genre KL " in text
    assert "λ = 0.1:" not in text


def test_a_caption_names_the_attributes_on_which_a_method_ran_on_a_sample(
    results: ExperimentResults, tmp_path: Path
) -> None:
    """Once it said so of MIP greedy everywhere, which has its curve where items have one category each."""
    text = write_files(results, tmp_path).read_text(encoding="utf-8")
    assert "On a sample, and so in the figures of differences only: MIP greedy (genre)." in text


def test_without_figures_the_report_has_none_that_an_earlier_run_left(
    shown: tuple[ExperimentResults, Path], tmp_path: Path
) -> None:
    shutil.copytree(shown[1] / "figures", tmp_path / "figures")
    assert "data:image" not in write_files(shown[0], tmp_path, figures=False).read_text(encoding="utf-8")


def test_a_sweep_of_one_trade_off_is_a_line_from_relevance_only(results: ExperimentResults) -> None:
    """Once it was a large mark without a line, as relevance only is."""
    curves = Curves(
        replace(
            each,
            trade_offs=each.trade_offs[:1],
            means={name: values[:1] for name, values in each.means.items()},
            errors={name: values[:1] for name, values in each.errors.items()},
        )
        for each in results.curves
    )
    panel = draw(next(figures_of(curves)), curves).axes[0]
    curve = curves.get("genre", "log", Setting(20, 10), "excalibr")
    assert curve is not None
    ends = [[curve.start[KL], curve.means[KL][0]], [curve.start["ndcg"], curve.means["ndcg"][0]]]
    assert ends in [[np.asarray(each).tolist() for each in line.get_data()] for line in panel.lines]
