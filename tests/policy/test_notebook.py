import re
import sys

import numpy as np
import pytest

import excalibr
from excalibr import Band, Policy
from excalibr._grid import MOST_ROWS, grid_of, number, percent
from excalibr._policy.notebook import picture_of
from excalibr.errors import InputError, MissingExtraError

HOSTILE = "<script>alert('x')</script> & $_{b$"
TITLES = [HOSTILE, "Orchard", "Letter", "Wedding", "Lodger"]
KINDS = ["<i>drama</i>", "comedy"]


@pytest.fixture(scope="module")
def policy() -> Policy:
    genres = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
    return excalibr.calibrate([0.95, 0.92, 0.90, 0.80, 0.74], genres, [0.6, 0.4], k=3)


def cells(html: str) -> list[list[str]]:
    """The texts of the rows of all tables."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]


def widths(html: str) -> list[float]:
    return [float(width) for width in re.findall(r";width:([\d.]+)em", html)]


def test_a_policy_shows_its_lottery_and_shares(policy: Policy) -> None:
    shown = cells(policy._repr_html_())
    assert shown[0] == ["shown", "ranking"]
    for weight, ranking in zip(policy.weights, policy.rankings, strict=True):
        assert [percent(float(weight)), ", ".join(map(str, ranking))] in shown
    for category, share in enumerate(policy.distribution):
        row = next(row for row in shown if row[0] == str(category) and len(row) > 2)
        assert row[3] == number(share)


def test_bars_are_as_long_as_the_numbers_say(policy: Policy) -> None:
    assert widths(policy._repr_html_())[: len(policy.weights)] == [round(5 * weight, 2) for weight in policy.weights]
    grid = grid_of({"share": ["a", "b", "c"]}, (), bars={"share": [-1.0, 2.0, float("nan")]})
    assert widths(grid.html()) == [0.0, 5.0, 0.0]


def test_hostile_labels_are_shown_as_text(policy: Policy) -> None:
    html = policy.explain(TITLES, KINDS)._repr_html_()
    assert "<script" not in html
    assert "<i>" not in html
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; $_{b$" in html


def test_an_explanation_says_in_html_what_it_prints(policy: Policy) -> None:
    why = policy.explain([title.replace("<", "") for title in map(str, range(5))], ["drama", "comedy"])
    words = {word for row in cells(why._repr_html_()) for cell in row for word in cell.split()}
    printed = repr(why).partition("\n\n")[2].split()
    assert set(printed) <= words


def test_long_lotteries_are_cut_and_say_so() -> None:
    random = np.random.default_rng(3)
    categories = random.dirichlet(np.ones(40), 200)
    policy = excalibr.calibrate(random.random(200), categories, categories.mean(axis=0), k=20)
    assert len(policy.weights) > MOST_ROWS
    html = policy._repr_html_()
    assert f"… and {len(policy.weights) - MOST_ROWS} more" in html
    assert ", …</td>" in html


def test_the_picture_has_labelled_axes_and_all_titles(policy: Policy) -> None:
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    slates, shares = policy.plot(TITLES, KINDS)
    slates.figure.canvas.draw()  # dollar signs and all
    assert (slates.get_ylabel(), shares.get_xlabel(), shares.get_ylabel()) == (
        "Slot, best first",
        "Share of exposure, %",
        "Category",
    )
    texts = [text.get_text() for text in slates.texts]
    assert all(any(TITLES[item][:8] in text for text in texts) for item in policy.rankings[0])
    bars = [100 * policy.distribution, 100 * policy.before.distribution, 100 * policy.problem.target]
    drawn = np.array([[bar.get_width() for bar in container] for container in shares.containers])
    np.testing.assert_allclose(drawn, bars[::-1])
    pyplot.close(slates.figure)


def test_the_picture_shows_the_draw_that_is_given_and_bands() -> None:
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    policy = excalibr.calibrate([3.0, 2.0, 1.0], [[1, 0], [1, 0], [0, 1]], Band([0.2, 0.3], [0.6, 0.8]), k=2)
    slates, shares = policy.plot(["a", "b", "c"], ranking=[2, 0])
    assert "c" in [text.get_text() for text in slates.texts]
    assert "target, up to" in [text.get_text() for text in shares.get_legend().get_texts()]
    pyplot.close(slates.figure)
    with pytest.raises(InputError):
        policy.plot(ranking=[0, 7])


def test_the_picture_shows_the_most_probable_draw_wherever_it_stands(policy: Policy) -> None:
    first, second = [0, 1, 2], [1, 0, 3]
    titles = picture_of(Policy(policy.problem, np.array([first, second]), np.array([0.2, 0.8])), TITLES, KINDS, None)
    assert titles.new[0].title == "Orchard"


def test_titles_of_a_picture_may_come_one_by_one(policy: Policy) -> None:
    assert picture_of(policy, iter(TITLES), iter(KINDS), None).new == picture_of(policy, TITLES, KINDS, None).new


def test_without_matplotlib_the_extra_is_named(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'excalibr\[plot\]'"):
        policy.plot()


def test_a_frontier_shows_its_vertices(policy: Policy) -> None:
    problem = policy.problem
    frontier = excalibr.frontier(problem.scores, problem.memberships.dense(), problem.target, k=3)
    head, *rows = cells(frontier._repr_html_())
    assert head == ["from λ", "relevance", "deviation"]
    assert len(rows) == min(len(frontier), MOST_ROWS)
    assert [float(cell) for cell in rows[0]] == pytest.approx(
        [0.0, frontier.relevance[0], frontier.deviation[0]], abs=1e-3
    )
