"""What is written of the results: a report, one HTML file that stands alone, and the page of the documentation.

Both say the same sentences, with their numbers taken from the results. The page is written by the command only.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import product
from pathlib import Path

from excalibr._experiments.arms import ARMS, MIP_GAP, MIP_NODES
from excalibr._experiments.curves import DRAW_KL, DRAW_L1, KL, L1, MethodCurve
from excalibr._experiments.figures import Figure, figures_of, write_figures
from excalibr._experiments.plan import PAPER_SETTING, SLATE_SETTING, Plan, Setting
from excalibr._experiments.run import ExperimentResults
from excalibr._experiments.store import Store
from excalibr._experiments.table import Table
from excalibr._experiments.tables import tables_of, write_tables
from excalibr._text import markdown_text
from excalibr._writing import atomic_write

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
img { max-width: 100%; } figure { margin: 1.5rem 0; } figcaption { color: #555; font-size: 0.9rem; }
table { border-collapse: collapse; font-size: 0.9rem; display: block; max-height: 40rem; overflow: auto; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { position: sticky; top: 0; background: #fff; }
"""


def write_files(results: ExperimentResults, out: Path, *, figures: bool = True) -> Path:
    """Write figures (PNG and SVG), tables (Markdown and CSV) and the report; returns the report."""
    drawn, folder = list(figures_of(results.curves)) if figures else [], out / "figures"
    write_figures(drawn, results.curves, folder, ("png", "svg"))
    store, title = Store(out), escape(f"Calibrated re-ranking on {results.study.name}")
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    body = "\n".join([f"<h1>{title}</h1>", *_body(results, write_tables(results, store), drawn, folder)])
    page = f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'
    return store.write_text("report.html", page)


def _body(
    results: ExperimentResults, tables: Sequence[Table], figures: Sequence[Figure], folder: Path
) -> Iterator[str]:
    yield from (f"<p>{escape(paragraph)}</p>" for paragraph in introduction(results))
    yield "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in _verdicts(results)) + "</ul>"
    yield from (table.html() for table in tables if table.name == "claims")
    if figures:
        yield f"<h2>Figures</h2><p>{escape(_READING)}</p>"
    for figure in figures:
        coded = base64.b64encode((folder / f"{figure.name}.png").read_bytes()).decode()
        words = escape(_caption(figure, results))
        picture = f'<img alt="{escape(figure.title)}" src="data:image/png;base64,{coded}">'
        yield f"<figure>{picture}<figcaption>{words}</figcaption></figure>"
    yield from (table.html() for table in tables if table.name != "claims")


_TAKES_LONG = "takes minutes, and data that are large enough; tests/experiments runs small ones"
"""Why the tests of the documentation leave its commands out, in comments above them."""

_OWN_DATA = f"""\
## On data of your own

The same command takes a table of ratings and a table of items, [CSV, Parquet or Arrow](tables.md#the-command); every
category column becomes an attribute, and popularity comes with them:

<!-- not run: {_TAKES_LONG} -->
```console
$ excalibr experiment --ratings plays.parquet --items catalogue.csv --category-column genre \\
    --user-column listener --item-column track --rating-column stars --above 3.5 --out results
```

| option | what it says |
|---|---|
| `--ratings`, `--items` | the two tables |
| `--category-column` | a column of the items table; again for each further one |
| `--separator` | what stands between several labels; otherwise [as they show](tables.md#separators); or `none` |
| `--user-column`, `--item-column` | how your columns are called, if not [as usual](tables.md#column-names) |
| `--items-item-column` | the item's column in the items table, where it differs |
| `--rating-column` | the same (`rating`); an empty one takes every row for a positive |
| `--above` | a rating above 3.5 is a positive, and any count in a column such as `plays` |
| `--minimum` | users with fewer than 5 positives are left out |
| `--split time`, `--timestamp-column` | hold out the latest fifth of a user's positives instead of a random one |
| `--min-item-count` | leave out items with fewer positives, where EASE would not fit in memory |
| `--scores` | candidates with scores of a model of your own; the ratings are then what the model knew |
| `--held-out` | with it, what the users are judged by |
| `--settings` | candidates/slots, again for each: `--settings 50/10` for a small catalogue |
| `--attributes`, `--weightings`, `--methods`, `--trade-offs` | less of everything, for a first look |
| `--users`, `--sample`, `--mip-users`, `--timed-users` | how many users, in all and for the slow methods |
| `--time 15m` | choose items, users and trade-offs to fit into a time; kept, and printed as options that repeat it |
| `--metrics` | what the table of further measures has, such as `recall`, `coverage`, `gini` or `l1_of_7_visits` |

Before anything is fitted, everything that can be checked is, and what EASE needs is said. Rows without a user, an item
or a rating, rows of unknown items and all but the latest row of a user and an item are left out and counted. Rows
without a time count as a user's earliest, and are counted too, as are held-out items that are in the ratings, so that
the model knew them. Everything that is wrong with the tables is said at once. Without `--trade-offs` these are spread
along the users' own curves, whatever the scale of the scores.

Two such folders side by side, paired by user: `excalibr compare results-before results-after`.

Interrupted, it goes on where it stopped when it is started again with the same arguments and data. A second run in the
same folder is refused while the first is at work. In the folder are then `report.html`, which stands alone,
`results.parquet` with a row for each user, method and trade-off, `summary.parquet` with means and standard errors, and
the folders `figures` and `tables`.
"""


def write_page(results: ExperimentResults, folder: Path, command: str) -> Path:
    """Write ``experiment.md`` and its figures, in ``experiment/`` beside it: those of the paper's settings.

    Where none of the paper's was run, they are of all that were.
    """
    settings = [each for each in results.curves.settings if each in Plan().settings] or results.curves.settings
    figures = [figure for figure in figures_of(results.curves) if figure.setting in settings]
    write_figures(figures, results.curves, folder / "experiment", ("png",))
    with atomic_write(folder / "experiment.md") as path:
        path.write_text("\n".join(_lines(results, figures, command)), encoding="utf-8")
    return folder / "experiment.md"


def _lines(results: ExperimentResults, figures: Sequence[Figure], command: str) -> Iterator[str]:
    by_name = {table.name: table for table in tables_of(results)}
    yield from (f"# The paper's experiment on {markdown_text(results.study.name)}", "")
    yield from ("This page is written by the command itself:", "", f"<!-- not run: {_TAKES_LONG} -->")
    yield from (*_fenced(f"$ {command}"), "")
    for paragraph in introduction(results):
        yield from (markdown_text(paragraph), "")
    verdicts = [f"- {markdown_text(line)}" for line in _verdicts(results)]
    if verdicts:
        yield from ("## Where the exact lotteries win, and where they are level", "", *verdicts, "", _why(results), "")
    yield from _section(by_name, "claims", "What the paper claims, and what is found here")
    if figures:
        yield from ("## Figures", "", _READING, "")
    for figure in figures:
        words = markdown_text(_caption(figure, results))
        yield from (f"![{markdown_text(figure.title)}](experiment/{figure.name}.png)", "", words, "")
    if "equal-kl" in by_name:
        by_name["equal-kl"] = _rows_of_page(by_name["equal-kl"], results)
    for name in ("equal-kl", "differences", "aims", "lists", "list-bound", "measures"):
        yield from _section(by_name, name)
    apart = [f"- {markdown_text(line)}" for line in _expectation_and_draw(results)]
    if apart:
        yield from ("## How far expectation and draw are from each other", "", *apart, "")
        yield from _table_lines(_rows_of_page(by_name["draws"], results, "ExCalibR"))
    if "runtimes" in by_name:
        yield from ("## Runtimes", "")
        for name in ("runtimes", "runtimes-split", "runtimes-drop"):
            yield from (f"**{by_name[name].title}**", "")
            yield from _table_lines(by_name[name], note=name == "runtimes")
    yield from ("## The data", "")
    for name in ("data", "tuning"):
        if name in by_name:
            yield from _table_lines(by_name[name])
    yield _OWN_DATA


def _section(by_name: Mapping[str, Table], name: str, title: str = "") -> Iterator[str]:
    """A table under a heading, where there is one."""
    if name in by_name:
        yield from (f"## {title or by_name[name].title}", "")
        yield from _table_lines(by_name[name])


def _table_lines(table: Table, *, note: bool = True) -> Iterator[str]:
    yield table.markdown()
    if table.note and note:
        yield from (markdown_text(table.note), "")


def _fenced(command: str) -> tuple[str, str, str]:
    """A block of console text, between more backticks than stand together in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
    return f"{fence}console", " ".join(command.split()), fence


def _page_settings(results: ExperimentResults) -> list[Setting]:
    """The settings of the page's long tables: the paper's first and the slate's, or all where neither was run."""
    settings = results.curves.settings
    return [each for each in settings if each in (PAPER_SETTING, SLATE_SETTING)] or settings


def _rows_of_page(table: Table, results: ExperimentResults, method: str = "") -> Table:
    """A table's rows of the first weighting, of the page's settings, and of methods whose name starts so."""
    places = {(results.curves.weighting, str(setting)) for setting in _page_settings(results)}
    return replace(table, rows=[row for row in table.rows if row[1:3] in places and row[3].startswith(method)])


def introduction(results: ExperimentResults) -> Iterator[str]:
    """What was run and how to read it, a paragraph at a time."""
    study, plan = results.study, results.plan
    yield (
        f"{plan.users} test users of {study.name}, {len(plan.trade_offs)} trade-offs λ from {min(plan.trade_offs):g} "
        f"to {max(plan.trade_offs):g}, seed {plan.seed}. {_scorer(results)} The target is the history's own "
        "distribution; NDCG and MRR are of the held-out positives, in expectation over the lottery."
    )
    yield (
        "KL is KL(q ‖ p) in nats with Steck's smoothing, α = 0.01. Of the expectation is the divergence of the "
        "expected distribution, what is seen over many visits; of a draw is that of a single ranking, what is seen on "
        "one. Error bars are standard errors over users."
    )
    sampled = sorted({(curve.arm, curve.attribute, curve.users) for curve in results.curves if not curve.complete})
    if sampled:
        listed = ", ".join(f"{ARMS[arm].label} on {attribute} ({users})" for arm, attribute, users in sampled)
        yield (
            f"On a random sample of the users, for their time: {listed}; one ranking is sampled in more than 50 slots "
            "only. Such methods are compared on their own users, paired, and have no curve beside those of all users."
        )
    if "greedy-projected" in plan.arms:
        yield (
            "The projected greedy is not the paper's: it takes the slots that are still open to match the target, "
            "where the paper's greedy judges a first pick as if it were the whole list, and is mostly the strongest of "
            "the greedies."
        )
    if "mip-greedy" in plan.arms:
        yield (
            f"MIP greedy's branch and bound stops at a gap of {MIP_GAP:.1%}, or after {MIP_NODES} nodes, with its best "
            "set; where items have one category each its set is the exact optimum."
        )


def _scorer(results: ExperimentResults) -> str:
    if not results.study.tuning:
        return "Candidates and scores were given."
    return (
        f"Candidates are the best by EASE (regularisation {results.study.regularisation:g}, chosen on validation "
        "users) outside the user's history."
    )


def _why(results: ExperimentResults) -> str:
    times = " (the table of runtimes)" if results.runtimes is not None else ""
    return (
        "Why one would want a lottery where it is level: its optimum is proven, user by user, and a greedy's is not "
        "known; what a user sees over several visits comes near to the target, where a list shows the same on every "
        "visit (the table of further measures); floors, caps, pins and budgets are kept exactly; and it takes "
        f"milliseconds{times}."
    )


def _verdicts(results: ExperimentResults) -> Iterator[str]:
    """Where the exact methods are above the strongest greedy, level with it and below, on the same users."""
    for arm, setting in product(("excalibr", "excalibr-kl", "single-kl"), results.curves.settings):
        across, words = (DRAW_KL, "KL of the list") if arm == "single-kl" else (KL, "KL of the expectation")
        found: dict[str, list[str]] = {"above": [], "level": [], "below": []}
        for attribute, each in results.curves.margins(
            (setting, arm), (setting, "greedy-projected"), across=across
        ).items():
            place = {"holds": "above", "does not hold": "below"}.get(each.mean.verdict, "level")
            found[place].append(f"{attribute} ({each.mean})")
        listed = "; ".join(f"{place}: {', '.join(names)}" for place, names in found.items() if names)
        if listed:
            yield f"{ARMS[arm].label} against the projected greedy, {setting}, NDCG at equal {words}: {listed}."


_READING = (
    "Up and to the left is better: every line starts at relevance only, the star, and goes to the left as the weight "
    "on calibration grows."
)


def _caption(figure: Figure, results: ExperimentResults) -> str:
    """What a figure shows."""
    if figure.less:
        marks = "hollow marks lie between points that are far apart; lines far below the others are cut off"
        return f"{figure.title}. Bars are two standard errors; {marks}."
    sampled: dict[str, list[str]] = {}  # method → attributes
    for curve in results.curves:
        if curve.setting == figure.setting and curve.arm in figure.arms and not curve.complete:
            sampled.setdefault(curve.label, []).append(curve.attribute)
    listed = ", ".join(f"{label} ({', '.join(dict.fromkeys(of))})" for label, of in sorted(sampled.items()))
    note = f" On a sample, and so in the figures of differences only: {listed}." if sampled else ""
    return f"{figure.title}.{note}"


def _expectation_and_draw(results: ExperimentResults) -> Iterator[str]:
    """How far expectation and draw are from each other, an item of a list for each setting and method."""
    curves = results.curves
    for setting, arm in product(_page_settings(results), ("excalibr", "excalibr-kl")):
        found = [curves.get(attribute, curves.weighting, setting, arm) for attribute in curves.attributes]
        present = [curve for curve in found if curve is not None]
        if present:
            place = present[0].nearest(0.1)  # the sweep is the same for all
            start = f"{ARMS[arm].label}, n/k = {setting}, {curves.weighting} weights"
            listed = "; ".join(_apart(curve, place) for curve in present)
            yield f"{start}, λ = {present[0].trade_offs[place]:g}: {listed}."


def _apart(curve: MethodCurve, place: int) -> str:
    kl, draw_kl, l1, draw_l1 = (f"{curve.means[name][place]:.4f}" for name in (KL, DRAW_KL, L1, DRAW_L1))
    return f"{curve.attribute} KL {kl} of the expectation and {draw_kl} of a draw, L1 {l1} and {draw_l1}"
