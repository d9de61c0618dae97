"""The worked example of ARCHITECTURE.md: what its steps say is what the library does."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import excalibr

PAGE = (Path(__file__).parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def policy() -> excalibr.Policy:
    example = re.search(r"```python\n(policy = .*?)```", PAGE, re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {"excalibr": excalibr}
    exec(example[1], names)
    made: excalibr.Policy = names["policy"]
    return made


def step(name: str) -> str:
    """What the page says of a step."""
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| {name}")]
    assert len(rows) == 1
    return rows[0].partition(" | ")[2]


def listed(values: Any, decimals: int | None = None, between: str = ", ") -> str:
    written = [f"{value:g}" if decimals is None else f"{value:.{decimals}f}" for value in np.ravel(values)]
    return between.join(written).replace("-", "−")


def test_the_question_is_packed_as_the_page_says(policy: excalibr.Policy) -> None:
    problem = policy.problem
    rows, batch = problem.memberships, problem.batch
    assert repr(problem.options.asked).replace("1e-09", "1e-9") in step("`options_of`")
    assert f"n = {problem.n}, k = {problem.k} ≤ {problem.n}, r = {problem.r}" in step("`read_problem`")
    assert f"e = ({listed(problem.position_weights)})" in step("`read_problem`")
    packed = {"indptr": rows.indptr, "indices": rows.indices, "values": rows.values}
    for name, values in packed.items():
        assert f"`{name}` {listed(values, between=' ')}" in step("`kernel.Checked`")
    assert f"`starts` {listed(batch.starts, between=' ')} and `slots` {listed(batch.slots)}" in step("`Problem`")
    assert f"c = (1 − λ)·s = {listed(problem.gains, 2)}" in step("`solve_alone`: gains")


def test_the_solve_takes_the_steps_that_the_page_tells(policy: excalibr.Policy) -> None:
    told = step("… engine")
    assert policy.info is not None
    assert f"column generation with the {policy.info.engine}" in told
    assert f"after {policy.info.sorts} sorts and {policy.info.steps} pivot" in told
    best = policy.before
    assert (
        f"is ({listed(best.rankings)}), all drama: deviation {best.deviation:g}, objective {best.objective:g}" in told
    )


def test_the_lottery_and_its_certificate_are_those_of_the_page(policy: excalibr.Policy) -> None:
    problem, prices = policy.problem, policy.prices
    adjusted = problem.gains - problem.memberships.costs(prices)
    best_two = np.sort(adjusted)[::-1][:2]
    bound = prices @ problem.target + problem.position_weights @ best_two
    rankings = " and ".join(f"({listed(ranking)})" for ranking in policy.rankings)
    assert policy.weights.tolist() == [0.5, 0.5]
    assert f"{rankings}, half of the time each: exposure x = {listed(policy.exposure)}" in step("… lottery")
    drama, comedy = policy.distribution
    assert f"drama {drama:g}, comedy {comedy:g}" in step("… lottery")
    certificate = step("… certificate")
    assert f"prices y = {listed(prices, 2)}" in certificate
    assert f"c − A·y = {listed(adjusted, 2)}" in certificate
    sums = f"{listed(prices @ problem.target)} + 0.5·({listed(best_two, 2, ' + ')}) = {bound:g}"
    assert f"Bound y·q + σ = {sums}" in certificate


def test_what_the_policy_reports_is_what_the_page_ends_with(policy: excalibr.Policy) -> None:
    told = step("`policy_of`")
    assert f"relevance s·x = {policy.relevance:g}, deviation {policy.deviation:g}" in told
    assert f"objective 0.5·{policy.relevance:g} = {policy.objective:g} = the bound" in told
    assert policy.gap == pytest.approx(0.0, abs=1e-15)
    assert step('`policy.sample(seed=7, key="ada")`').startswith(f"({listed(policy.sample(seed=7, key='ada'))})")
