"""The page in a real browser: looked at, dragged, changed, copied from, saved and opened again without a server.

It needs Debian's ``chromium`` and the extra ``browser``; ``.ci/run`` installs both.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest

from excalibr import Reranker
from tests.service.page.explored import HOSTILE, write_tables
from tests.service.page.test_settings import ran
from tests.tables.invented import GENRE_COLUMNS

playwright = pytest.importorskip("playwright.sync_api", reason="the extra browser is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium", allow_module_level=True)

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
AXE = os.environ.get("EXCALIBR_AXE")
PATIENCE = 60_000
CURVE = 13
"""Points of the curve by trade-off."""

playwright.expect.set_options(timeout=PATIENCE)


class Server:
    """``excalibr explore`` on tables of its own."""

    def __init__(self, folder: Path) -> None:
        self.tables = write_tables(folder)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = int(taken.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}/"
        named = [f"--{name}={self.tables[name]}" for name in ("items", "history", "truth")]
        command = [sys.executable, "-c", "from excalibr._cli import main; main()", "explore"]
        command += [str(self.tables["candidates"]), *named, "--category=genres", "-k6", "--trade-off=0.3", "--seed=3"]
        self.process = subprocess.Popen(
            [*command, f"--port={self.port}", "--no-browser"], stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if "The page is at" in line:
                return
        raise AssertionError("the server ended before it was ready")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("explored"))
    yield running
    running.process.terminate()
    running.process.wait(60)
    assert running.process.stderr is not None
    running.process.stderr.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, server: Server) -> Iterator[Any]:
    """The page once the sample is solved; nothing may go wrong or be asked of another host while it is open."""
    context = patient(browser, viewport={"width": 1300, "height": 900}, accept_downloads=True, locale="en-GB")
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.address)
    opened, problems = context.new_page(), list[str]()
    opened.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda asked: problems.append(asked.url) if _is_elsewhere(asked.url, server) else None)
    opened.goto(server.address)
    solved(opened)
    yield opened
    context.close()
    assert problems == []


def patient(browser: Any, **options: Any) -> Any:
    """A context whose pages are waited for as long as a slow machine may need."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    return context


def _is_elsewhere(url: str, server: Server) -> bool:
    return not url.startswith((server.address, "blob:" + server.address))


def solved(page: Any) -> None:
    page.wait_for_selector("#progress:not([data-busy]) span")
    page.wait_for_selector("#person-id")


def number(page: Any, place: str) -> float:
    text = page.inner_text(place).replace(",", "")
    found = re.search(r"-?[\d.]+", text)
    assert found is not None, text
    return float(found[0]) / (100 if "%" in text else 1)


def report(server: Server, **asked: Any) -> Any:
    tables = {name: pq.read_table(path) for name, path in server.tables.items()}
    how: dict[str, Any] = {"k": 6, "seed": 3, **asked}
    return Reranker(**how).report(tables["candidates"], tables["items"], history=tables["history"], **GENRE_COLUMNS)


def assert_shows(page: Any, expected: Any) -> None:
    """The page's figures are the report's means, as far as the page shows digits."""
    assert number(page, "#reading-deviation") == pytest.approx(np.mean(expected["deviation"].to_numpy()), abs=6e-4)
    kept = expected["relevance"].to_numpy() / expected["relevance_before"].to_numpy()
    assert number(page, "#reading-kept") == pytest.approx(np.mean(kept), abs=6e-4)
    draws = np.mean(expected["draw_deviation"].to_numpy())
    assert number(page, "#reading-draw-deviation") == pytest.approx(draws, abs=6e-4)


def test_it_opens_with_the_figures_of_the_report(page: Any, server: Server) -> None:
    assert page.title() == "excalibr: choose the trade-off"
    assert_shows(page, report(server, trade_off=0.3))
    assert "24 users" in page.inner_text("#understood")
    assert page.locator(".slate.after .entry").count() == 6


def test_the_dot_is_dragged_along_the_curve(page: Any, server: Server) -> None:
    points = page.locator("#frontier .point")
    playwright.expect(points).to_have_count(CURVE)  # drawn in the frame after the last of them is known
    page.locator("#frontier .dot").hover()
    end = points.last.bounding_box()  # calibration
    page.mouse.down()
    page.mouse.move(end["x"] + 3, end["y"] + 3, steps=4)
    page.mouse.up()
    value = '() => Number(document.querySelector("#aim-slider").getAttribute("aria-valuetext").replace("λ = ", ""))'
    page.wait_for_function(f"() => ({value})() > 0.5")
    chosen = page.evaluate(value)
    assert_shows(page, report(server, trade_off=chosen))


def test_the_keyboard_alone_moves_the_dot_and_the_slider(page: Any) -> None:
    page.focus("#frontier .dot")
    page.keyboard.press("Home")
    page.wait_for_selector('#frontier .dot[aria-valuetext^="λ = 0:"]')
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector('#frontier .dot[aria-valuenow="1"]')
    page.focus("#aim-slider")
    page.keyboard.press("End")
    page.wait_for_selector('#aim-slider[aria-valuetext="λ = 1"]')
    # The dot follows the slider, a frame later.
    playwright.expect(page.locator("#frontier .dot")).to_have_attribute("aria-valuetext", re.compile("^λ = 1:"))


def test_the_slider_reads_as_a_budget_with_a_curve_of_its_own(page: Any, server: Server) -> None:
    page.get_by_text("give up at most … of relevance").click()
    page.wait_for_selector('#aim-slider[aria-valuetext="give up at most 2% of relevance"]')
    solved(page)
    assert_shows(page, report(server, relevance_loss=0.02))
    page.fill("#aim-number", "3.7")
    page.keyboard.press("Enter")
    page.wait_for_selector('#aim-slider[aria-valuetext="give up at most 3.7% of relevance"]')
    solved(page)
    assert_shows(page, report(server, relevance_loss=0.037))


def test_a_distance_that_most_cannot_reach_says_so(page: Any) -> None:
    page.get_by_text("be within … of the target").click()
    solved(page)
    page.focus("#aim-slider")
    page.keyboard.press("End")
    told = page.locator("#aim-problem")
    playwright.expect(told).to_contain_text("max_deviation: is 0, and no policy comes nearer than")


def test_k_and_the_divergence_change_everything(page: Any, server: Server) -> None:
    page.fill("#choice-k", "4")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".slate.after .entry")).to_have_count(4)
    solved(page)
    assert_shows(page, report(server, trade_off=0.3, k=4))
    page.select_option("#choice-divergence", "kl")
    page.wait_for_selector("#reading-kl")
    solved(page)
    assert_shows(page, report(server, trade_off=0.3, k=4, divergence="kl"))


def test_a_user_is_found_by_id_and_among_the_worst(page: Any, server: Server) -> None:
    page.fill("#user-search", "117")
    page.locator("#found button:has-text('117')").click()
    page.wait_for_selector("#person-id:has-text('117')")
    page.get_by_text("The worst calibrated before").click()
    page.locator("#worst-list button").first.click()
    worst = report(server, trade_off=0.3)
    expected = worst["user_id"].to_pylist()[int(np.argmax(worst["deviation_before"].to_numpy()))]
    page.wait_for_selector(f"#person-id:has-text('{expected}')")


def test_an_impossible_floor_is_told_beside_the_floors_and_goes_with_it(page: Any) -> None:
    page.locator("details.floors summary").click()
    page.fill('input[aria-label="Floors: percent"]', "100")
    page.select_option('select[aria-label="Floors: category"]', label="epic")
    page.click("#add-floors")
    told = page.locator("#problem-floors")
    playwright.expect(told).to_contain_text("Nobody can have this")  # until then, of the users solved so far
    playwright.expect(told).to_contain_text("'epic' cannot reach 1; the most that any policy shows of it is")
    playwright.expect(page.locator("#person-body")).to_contain_text("floors: category")
    page.get_by_role("button", name="Remove: at least 100% epic").click()
    page.wait_for_selector("#problem-floors:empty", state="attached")
    page.wait_for_selector("#reading-kept")


MADE_UP = """async () => {
  const [{ store }, { reasonFor }, { describeBars }] = await Promise.all(
    ["store", "reasons", "bars"].map((name) => import(`/page/${name}.js`))
  );
  store.about.attributes = [
    { name: "genre", first: 0, categories: ["drama", "comedy"] },
    { name: "decade", first: 2, categories: ["1940s", "1990s"] },
  ];
  const person = {
    trade_off: 0.5,
    prices: [-0.30, -0.35, -0.02, 0.02],
    target_low: [0.5, 0.5, 0.5, 0.5],
    target_high: [0.6, 0.5, 0.5, 0.5],
    shares_before: [0.55, 0.45, 0.1, 0.9],
  };
  const item = (categories) => ({
    categories, score: 0.6, gain: 0.3, group_price: 0.05, adjusted: 0.57, old_rank: 9, probability: 1,
  });
  const names = ["drama", "comedy", "1940s", "1990s"];
  const edges = { target: [0.3, 0.5], high: [0.6, 0.5] };
  const shares = { names: ["drama", "comedy"], ...edges, before: [0.9, 0.1], after: [0.7, 0.2] };
  return [
    reasonFor(item([[0, 1], [2, 1]]), 2, person, names),
    reasonFor(item([[0, 1]]), null, person, names),
    describeBars(shares),
  ];
}"""


def test_reasons_compare_prices_within_an_attribute_and_shares_with_the_edges_of_a_band(page: Any) -> None:
    up, gone, bars = page.evaluate(MADE_UP)
    assert up == (
        "up from 9 to 2: its score of 0.600 counts for 0.300 at λ = 0.5, its group costs 0.050, "
        "drama + 1940s costs 0.005, which leaves 0.245 to sort by; always shown. "
        "By score alone there is too little of 1940s: 10.0%, and 50.0% is wanted."
    )
    assert gone.startswith("drops out from place 9: ")
    assert gone.endswith("By score alone there is as much as wanted of drama: 55.0%, and 50.0% to 60.0% is wanted.")
    assert bars.startswith("drama moves most: 30.0% to 60.0% is wanted, 90.0% by score alone, 70.0% now.")


NOTED = """(place) => {
  const watched = document.querySelector(place);
  window.noted = [];
  new MutationObserver(() => window.noted.push(watched.textContent)).observe(watched, { childList: true });
}"""
"""Notes every text that an element has from now on: one that stands for two seconds could pass unseen."""


def test_what_is_copied_runs_and_gives_the_same_slate(page: Any) -> None:
    page.wait_for_selector("#settings-python:not(:empty)")
    page.evaluate(NOTED, "#copy-python")
    page.click("#copy-python")
    page.wait_for_function("() => window.noted.includes('Copied')")
    slates = ran(page.evaluate("() => navigator.clipboard.readText()"))
    user = page.inner_text("#person-id")
    titles = page.locator(".slate.after .title").all_inner_texts()
    named = {str(item): HOSTILE.get(item, f"Film {item}").strip() for item in range(80)}
    assert [title.strip() for title in titles] == [named[item] for item in slates[user]]


def test_choices_that_cannot_be_leave_no_settings_of_others(page: Any) -> None:
    page.wait_for_selector("#settings-python:not(:empty)")
    page.fill("#choice-k", "0")
    page.keyboard.press("Enter")
    for form in ("python", "command", "profile"):
        told = page.locator(f"#settings-{form}")
        playwright.expect(told).to_have_text("# k: is 0, must be a whole number of at least 1, or None.\n")


def test_hostile_titles_are_text(page: Any) -> None:
    for user in range(24):
        page.fill("#user-search", str(100 + user))
        page.locator(f"#found button:has-text('{100 + user}')").click()
        page.wait_for_selector(f"#person-id:has-text('{100 + user}')")
    assert page.evaluate("() => window.hit === undefined")
    assert page.locator("#person-body script, #person-body img").count() == 0


def test_the_saved_page_works_without_a_server(page: Any, browser: Any, tmp_path: Path) -> None:
    page.click("#take-tuned")
    solved(page)
    seen = {place: page.inner_text(place) for place in ("#reading-kept", "#reading-deviation", "#reading-ndcg")}
    with page.expect_download() as downloading:
        page.click("#save-page")
    path = tmp_path / "saved.html"
    downloading.value.save_as(path)
    context = patient(browser, offline=True, locale="en-GB")
    saved, problems = context.new_page(), list[str]()
    saved.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
    saved.on("pageerror", lambda error: problems.append(str(error)))
    saved.on("request", lambda asked: None if asked.url == path.as_uri() else problems.append(asked.url))
    saved.goto(path.as_uri())
    solved(saved)
    assert {place: saved.inner_text(place) for place in seen} == seen
    saved.focus("#aim-slider")
    saved.keyboard.press("End")
    saved.wait_for_selector('#aim-slider[aria-valuetext="λ = 1"]')
    playwright.expect(saved.locator("#person-body")).to_contain_text("λ = 1")
    assert saved.locator("#choice-k").is_disabled()
    assert "This is a saved page" in saved.inner_text("#saved-note")
    assert problems == []
    context.close()


def test_figures_are_saved_as_svg_by_themselves(page: Any, tmp_path: Path) -> None:
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save “Relevance kept against deviation left” as SVG").click()
    path = tmp_path / "figure.svg"
    downloading.value.save_as(path)
    drawn = ElementTree.parse(path).getroot()
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    lines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 3  # the curve, NDCG and recall
    assert all("rgb" in str(line.get("stroke")) for line in lines)


def test_the_next_change_ends_what_is_under_way(page: Any, server: Server) -> None:
    asked: list[str] = []

    def answered(route: Any) -> None:
        asked.append(route.request.post_data_json["choices"]["draws"])
        if asked[-1] != "even":  # what is asked of "even" is under way for good
            route.continue_()

    page.route("**/explore/sample", answered)
    with page.expect_request("**/explore/sample"):
        page.select_option("#choice-draws", "even")
    page.select_option("#choice-draws", "lottery")
    solved(page)
    assert asked[:2] == ["even", "lottery"]
    assert asked.count("even") == 1  # of a whole curve
    assert_shows(page, report(server, trade_off=0.3))


FITTED = """() => [...document.querySelectorAll(".canvas")].every(
  (box) => Number(box.firstChild.getAttribute("width")) === Math.max(240, Math.floor(box.clientWidth))
)"""
"""Whether every figure has been drawn for the width that it has now, which is done in the next frame."""


@pytest.mark.parametrize("width", [380, 1300])
def test_nothing_is_wider_than_the_window(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_function(FITTED)
    assert page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0


@pytest.mark.skipif(AXE is None, reason="EXCALIBR_AXE names no axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1300])
def test_no_serious_accessibility_violation(browser: Any, server: Server, scheme: str, width: int) -> None:
    assert AXE is not None
    context = patient(browser, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(server.address)
    solved(page)
    page.evaluate("() => document.querySelectorAll('details').forEach((each) => (each.open = true))")
    page.fill("#user-search", "11")
    page.wait_for_selector("#found button")
    page.add_script_tag(path=AXE)
    found = page.evaluate("() => axe.run()")
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    told = [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in serious]
    assert told == []
    context.close()
