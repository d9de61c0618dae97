"""All numbers of a report, computed again in a few lines that share nothing with what computed them.

First what is measured of each user, from rankings alone; then every table of the report, from ``results.parquet``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from math import log, log2
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import excalibr
from excalibr import baselines
from excalibr._experiments import ExperimentResults, Setting, write_files
from excalibr._experiments.arms import ARMS
from excalibr._experiments.curves import Curves
from excalibr._experiments.study import Study
from excalibr._experiments.tables import tables_of
from excalibr._problem import Problem

LABELS = {name: arm.label for name, arm in ARMS.items()}
KEYS = ["attribute", "weighting", "candidates", "slots", "method"]


@pytest.fixture(scope="module")
def rows(results: ExperimentResults, out: Path) -> pd.DataFrame:
    return pd.read_parquet(out / "results.parquet")


def lottery(
    study: Study, user: int, attribute: str, method: str, trade_off: float
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Rankings, their probabilities and position weights, by the public functions, in 10 slots of 20 candidates."""
    wanted = study.attributes[attribute]
    asked = (study.scores[user, :20], wanted.matrix[study.items[user, :20]].toarray(), wanted.targets[user])
    weights = [1 / log2(place + 2) for place in range(10)]
    weights = [each / sum(weights) for each in weights]
    if method == "excalibr":
        sweep = [0.1, 0.5, 0.9]  # of the plan: where optima tie, a path may end at another of them than a single call
        policy = excalibr.calibrate_path(*asked, k=10, trade_offs=sweep)[sweep.index(trade_off)]
    else:
        greedy = {"greedy": baselines.greedy, "greedy-projected": baselines.greedy_projected}[method]
        policy = greedy(Problem.of(*asked, k=10, trade_off=trade_off))
    return policy.rankings, policy.weights, weights


def naive(
    study: Study, user: int, attribute: str, found: tuple[np.ndarray, np.ndarray, list[float]]
) -> dict[str, float]:
    """What a policy is worth to a user, ranking by ranking and item by item."""
    rankings, probabilities, weights = found
    wanted = study.attributes[attribute]
    shares, target = wanted.matrix[study.items[user, :20]].toarray(), wanted.targets[user]
    liked, total = study.relevant[user, :20], int(study.totals[user])
    ideal = sum(1 / log2(place + 2) for place in range(min(10, total)))
    sums = dict.fromkeys(("ndcg", "mrr", "recall", "popularity", "kl_of_draw_mean", "l1_of_draw_mean"), 0.0)
    worst, expected = {"kl": 0.0, "l1": 0.0}, np.zeros(len(target))
    for ranking, probability in zip(rankings, probabilities, strict=True):
        hits = [place for place, item in enumerate(ranking) if liked[item]]
        seen = sum(weight * shares[item] for weight, item in zip(weights, ranking, strict=True))
        expected += probability * seen
        each = {
            "ndcg": sum(1 / log2(place + 2) for place in hits) / ideal,
            "mrr": 1 / (hits[0] + 1) if hits else 0.0,
            "recall": len(hits) / min(10, total),
            "popularity": sum(
                weight * study.popularity[study.items[user, item]]
                for weight, item in zip(weights, ranking, strict=True)
            ),
            "kl_of_draw_mean": kl(target, seen),
            "l1_of_draw_mean": sum(abs(seen - target)),
        }
        for name, value in each.items():
            sums[name] += probability * value
        worst = {name: max(worst[name], each[f"{name}_of_draw_mean"]) for name in worst}
    of_expectation = {"kl_of_expectation": kl(target, expected), "l1_of_expectation": sum(abs(expected - target))}
    return sums | of_expectation | {f"{name}_of_draw_worst": value for name, value in worst.items()}


def kl(target: np.ndarray, seen: np.ndarray) -> float:
    return float(
        sum(q * log(q / (0.99 * p + 0.01 * q)) for q, p in zip(target.tolist(), seen.tolist(), strict=True) if q > 0)
    )


@pytest.mark.parametrize("method", ["excalibr", "greedy", "greedy-projected"])
@pytest.mark.parametrize("attribute", ["genre", "decade"])
def test_what_is_measured_of_a_user_is_what_the_rankings_say(
    results: ExperimentResults, rows: pd.DataFrame, method: str, attribute: str
) -> None:
    study = results.study
    for user in (0, 2, 5):
        for trade_off in (0.1, 0.5):
            expected = naive(study, user, attribute, lottery(study, user, attribute, method, trade_off))
            found = rows[
                (rows.attribute == attribute) & (rows.weighting == "log") & (rows.candidates == 20)
                & (rows.method == method) & (rows.user_id == study.user_ids[user]) & (rows.trade_off == trade_off)
            ]  # fmt: skip
            assert len(found) == 1
            for name, value in expected.items():
                assert found[name].iloc[0] == pytest.approx(value, abs=1e-7), name


def test_coverage_and_gini_are_those_of_what_everybody_sees(results: ExperimentResults, rows: pd.DataFrame) -> None:
    study = results.study
    seen = np.zeros(len(study.popularity))
    for user in range(len(study)):
        rankings, probabilities, weights = lottery(study, user, "genre", "excalibr", 0.5)
        for ranking, probability in zip(rankings, probabilities, strict=True):
            for item, weight in zip(ranking, weights, strict=True):
                seen[study.items[user, item]] += probability * weight
    gini = sum(abs(one - other) for one in seen for other in seen) / (2 * len(seen) * seen.sum())
    found = rows[(rows.attribute == "genre") & (rows.weighting == "log") & (rows.candidates == 20)]
    found = found[(found.method == "excalibr") & (found.trade_off == 0.5)]
    assert found.coverage.unique() == pytest.approx([(seen > 1e-9).mean()])
    assert found.gini.unique() == pytest.approx([gini], abs=1e-6)


@pytest.fixture(scope="module")
def report(results: ExperimentResults, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, str]]]:
    """Title → rows of each table in ``report.html``."""
    text = write_files(results, tmp_path_factory.mktemp("report"), figures=False).read_text(encoding="utf-8")
    tables = {}
    for title, table in re.findall(r"<h2>([^<]*)</h2>\n<table>(.*?)</table>", text, re.DOTALL):
        head, *lines = (re.findall(r"<t[hd]>(.*?)</t[hd]>", line) for line in table.split("<tr>")[1:])
        cells = [[unescape(re.sub("<[^>]*>", "", cell)) for cell in line] for line in (head, *lines)]
        tables[unescape(title)] = [dict(zip(cells[0], line, strict=True)) for line in cells[1:]]
    return tables


def curve(rows: pd.DataFrame, attribute: str, weighting: str, n_k: str, method: str) -> tuple[pd.DataFrame, set[int]]:
    """Means of a method over its own users, by trade-off, relevance only's at 0 first."""
    setting = Setting.parse(n_k)
    there = rows[(rows.attribute == attribute) & (rows.weighting == weighting)]
    there = there[(there.candidates == setting.candidates) & (there.slots == setting.slots)]
    own = there[there.method == method]
    both = pd.concat([own, there[(there.method == "relevance") & there.user_id.isin(own.user_id)]])
    return both.drop(columns=KEYS).groupby("trade_off").mean(), set(own.user_id)


def at(means: pd.DataFrame, share: float, across: str, up: str = "ndcg") -> float:
    """Between neighbouring points, where a deviation is down to a share of relevance only's."""
    points = means.sort_values(across, kind="stable")
    level = share * means[across].iloc[0]
    if not points[across].iloc[0] <= level <= points[across].iloc[-1]:
        return float("nan")
    return float(np.interp(level, points[across], points[up]))


def same(cell: str, value: float) -> bool:
    """A cell with four decimals; ≈ and * are marks."""
    plain = cell.strip("≈* ").partition(" ±")[0]
    return np.isnan(value) if plain == "–" else float(plain) == pytest.approx(value, abs=5.01e-5)


METHOD = {label: name for name, label in LABELS.items()}


def test_the_table_at_equal_kl(report: dict[str, list[dict[str, str]]], rows: pd.DataFrame) -> None:
    table = report["NDCG at equal KL"]
    assert len(table) > 40
    for row in table:
        means, users = curve(rows, row["attribute"], row["weights"], row["n/k"], METHOD[row["method"]])
        assert int(row["users"]) == len(users)
        assert same(row["relevance only"], means.ndcg.iloc[0])
        for share in (0.75, 0.5, 0.25, 0.1):
            assert same(row[f"{share:.0%} of the KL"], at(means, share, "kl_of_expectation")), row


def test_the_table_of_draws(report: dict[str, list[dict[str, str]]], rows: pd.DataFrame) -> None:
    names = {"expectation": "expectation", "draw": "draw_mean", "worst draw": "draw_worst"}
    for row in report["Of the expectation and of a draw"]:
        means, _ = curve(rows, row["attribute"], row["weights"], row["n/k"], METHOD[row["method"]])
        point = means.loc[float(row["λ"])]
        for which in ("KL", "L1"):
            for words, name in names.items():
                assert same(row[f"{which}, {words}"], point[f"{which.lower()}_of_{name}"])


MEASURED = {
    "KL of the expectation": "kl_of_expectation",
    "L1 of the expectation": "l1_of_expectation",
    "KL of a draw": "kl_of_draw_mean",
    "L1 of a draw": "l1_of_draw_mean",
}


def test_the_table_of_paired_differences(report: dict[str, list[dict[str, str]]], rows: pd.DataFrame) -> None:
    table = report["Paired differences in NDCG"]
    assert len(table) > 40
    for row in table:
        first, second = (METHOD[label] for label in row["NDCG of"].split(" less "))
        place = (row["attribute"], "log", row["n/k"])
        users = curve(rows, *place, first)[1] & curve(rows, *place, second)[1]
        assert int(row["users"]) == len(users)
        paired = rows[rows.user_id.isin(users)]
        one, other = (curve(paired, *place, method)[0] for method in (first, second))
        for share, column in ((0.5, "at 50 %"), (0.25, "at 25 %")):
            found = row[column].strip("≈ ")
            if found != "–":
                across = MEASURED[row["at equal"]]
                assert same(found, at(one, share, across) - at(other, share, across)), row


def test_the_table_of_aims(report: dict[str, list[dict[str, str]]], rows: pd.DataFrame) -> None:
    for row in report["Every method by its own aim and by the others'"]:
        for label, method in METHOD.items():
            if label in row and not (method == "mip-greedy" and row["n/k"] == "10/10"):
                means, _ = curve(rows, row["attribute"], "log", row["n/k"], method)
                assert same(row[label], at(means, 0.25, MEASURED[row["at 25 % of"]]))


def test_the_table_of_further_measures(report: dict[str, list[dict[str, str]]], rows: pd.DataFrame) -> None:
    table = report["Further measures"]
    names = [name for name in table[0] if name not in ("attribute", "n/k", "method", "users")]
    assert {"recall", "coverage", "gini", "popularity", "l1_of_1_visit", "l1_of_30_visits"} <= set(names)
    for row in table:
        method = METHOD[row["method"]]
        means, users = curve(rows, row["attribute"], "log", row["n/k"], method)
        if len(users) < rows.user_id.nunique():  # what everybody sees is no start for what a sample sees
            means.loc[0.0, ["coverage", "gini"]] = np.nan
        for name in names:
            expected = means[name].iloc[0] if method == "relevance" else at(means, 0.5, "kl_of_expectation", name)
            assert same(row[name], expected)
            assert (row[name] == "–") == np.isnan(expected)


def test_only_the_measures_that_are_asked_for_are_tabulated(results: ExperimentResults, tmp_path: Path) -> None:
    asked = replace(results, plan=replace(results.plan, metrics=("recall", "l1_of_7_visits")))
    write_files(asked, tmp_path, figures=False)
    head = (tmp_path / "tables" / "measures.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head == "attribute,n/k,method,users,recall,l1_of_7_visits"


def test_the_table_of_further_measures_names_its_position_weights(results: ExperimentResults) -> None:
    """Once it said log weights whatever the plan had first."""
    for weighting in ("log", "sqrt"):
        curves = Curves(each for each in results.curves if each.weighting == weighting)
        asked = replace(results, plan=replace(results.plan, weightings=(weighting,)), curves=curves)
        table = next(table for table in tables_of(asked) if table.name == "measures")
        assert table.note.startswith(f"At half of relevance only's KL of the expectation, {weighting} weights. ")
        assert table.rows
