import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from excalibr._cli.application import application
from excalibr._cli.demo import Comparison, bar, compare, draw, gains, show, write
from excalibr.datasets import make_catalogue
from excalibr.errors import InputError, MissingExtraError


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(make_catalogue(seed=7), "Ada", k=10, trade_off=0.5)


def printed(comparison: Comparison, width: int) -> list[str]:
    stream = io.StringIO()
    show(comparison, Console(file=stream, width=width, highlight=False, color_system=None))
    return stream.getvalue().splitlines()


def test_the_command_prints_the_slates_and_writes_the_picture(tmp_path: Path) -> None:
    picture = tmp_path / "ada.png"
    result = CliRunner().invoke(application, ["demo", "--out", str(picture)])
    assert result.exit_code == 0
    for words in ("Before, by score", "After, one draw", "Share of exposure", "kept", "removed", "lottery", "Proven"):
        assert words in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["ada.png"]


def test_options_choose_the_user_the_slots_and_the_trade_off(tmp_path: Path) -> None:
    arguments = [
        "demo",
        "--user",
        "Bruno",
        "-k",
        "5",
        "--trade-off",
        "0.1",
        "--seed",
        "3",
        "--out",
        str(tmp_path / "b.png"),
    ]
    result = CliRunner().invoke(application, arguments)
    assert result.exit_code == 0
    assert "Bruno: 5 of 150 candidates, trade-off 0.1" in result.stdout


def test_the_same_seed_prints_the_same(comparison: Comparison) -> None:
    again = compare(make_catalogue(seed=7), "Ada", k=10, trade_off=0.5)
    assert printed(again, 80) == printed(comparison, 80)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("user", ["Ada", "Hana", "Yusuf"])
def test_tables_fit_the_terminal_and_cut_nothing_off(user: str, width: int) -> None:
    lines = printed(compare(make_catalogue(seed=7), user, k=10, trade_off=0.5), width)
    assert max(map(cell_len, lines)) <= width
    assert not [line for line in lines if "…" in line]


@pytest.mark.parametrize("width", [80, 120])
def test_columns_line_up(comparison: Comparison, width: int) -> None:
    lines = printed(comparison, width)
    header, *rows = lines[1:12]
    assert len(rows) == 10
    at = header.index("After, one draw")
    assert [
        line[at:].startswith(entry.film.title) for line, entry in zip(rows, comparison.new_entries, strict=True)
    ] == [True] * 10
    assert {line[at - 1] for line in rows} == {" "}


def test_before_is_the_order_of_the_scores(comparison: Comparison) -> None:
    films = [comparison.catalogue.films[film] for film in comparison.candidates.films[:10]]
    assert [entry.film for entry in comparison.old_entries] == films


def test_every_film_of_one_slate_knows_its_slot_in_the_other(comparison: Comparison) -> None:
    old = {entry.film.title: entry for entry in comparison.old_entries}
    new = {entry.film.title: entry for entry in comparison.new_entries}
    assert [entry.slot for entry in comparison.new_entries] == list(range(1, 11))
    for title, entry in new.items():
        assert entry.other == (old[title].slot if title in old else None)
    for title, entry in old.items():
        assert entry.other == (new[title].slot if title in new else None)


def test_the_draw_is_one_of_the_lotterys_rankings(comparison: Comparison) -> None:
    assert comparison.shown.rankings[0].tolist() in comparison.after.rankings.tolist()


def test_calibration_removes_much_deviation_for_little_relevance(comparison: Comparison) -> None:
    assert comparison.after.relevance > 0.9 * comparison.before.relevance
    assert comparison.after.deviation < 0.1 * comparison.before.deviation
    assert gains(comparison.before) == ("100 %", "0.0 %")


def test_a_picture_of_one_ranking_says_so() -> None:
    figure = draw(compare(make_catalogue(seed=7), "Ada", k=3, trade_off=0.0))
    assert any("One ranking of 3 from 150 candidates" in text.get_text() for text in figure.findobj(Text))


def test_relevance_only_changes_nothing() -> None:
    unchanged = compare(make_catalogue(seed=7), "Ada", k=10, trade_off=0.0)
    assert all(entry.slot == entry.other for entry in unchanged.new_entries)
    assert not [line for line in printed(unchanged, 80) if "Dropped" in line]


def test_bars_grow_with_the_share_and_never_vanish() -> None:
    lengths = [len(bar(share, 1.0, 10).rstrip()) for share in np.linspace(0.0, 1.0, 11)]
    assert lengths == sorted(lengths)
    assert bar(0.0, 1.0, 4) == "    "
    assert bar(1e-6, 1.0, 4).strip()
    assert {len(bar(share, 0.7, 8)) for share in (0.0, 0.1, 0.35, 0.7)} == {8}


def test_the_picture_has_labelled_axes_and_legends(comparison: Comparison) -> None:
    slates, shares = draw(comparison).axes
    assert slates.get_ylabel() == "Slot, best first"
    assert shares.get_xlabel() == "Share of exposure, %"
    assert shares.get_ylabel() == "Genre"
    for axes in (slates, shares):
        assert axes.get_legend() is not None


@pytest.mark.parametrize(("user", "k"), [("Ada", 10), ("Hana", 25), ("Jun", 1)])
def test_no_text_of_the_picture_covers_another(user: str, k: int) -> None:
    made = draw(compare(make_catalogue(seed=7), user, k=k, trade_off=0.5))
    made.canvas.draw()
    boxes = [text.get_window_extent() for axes in made.axes for text in axes.texts if len(text.get_text()) > 2]
    pairs = [(one, other) for number, one in enumerate(boxes) for other in boxes[:number]]
    assert not [pair for pair in pairs if pair[0].overlaps(pair[1])]
    assert all(box.x0 >= 0 and box.x1 <= made.bbox.x1 for box in boxes)


def test_the_picture_shows_dollar_signs_as_they_are(comparison: Comparison) -> None:
    made = draw(replace(comparison, user="$_{b$"))
    made.canvas.draw()
    assert made.get_suptitle().startswith(r"\$_{b\$: ")


def test_a_picture_that_fails_leaves_nothing_behind(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(comparison, tmp_path / "ada.png")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"matplotlib is not installed. Hint: pip install 'excalibr\[plot\]'"):
        draw(comparison)


def test_too_many_slots_are_refused() -> None:
    with pytest.raises(InputError, match="k: is 151, must be at most the number of candidates"):
        compare(make_catalogue(seed=7), "Ada", k=151, trade_off=0.5)
