"""The command ``python -m benchmarks``, behind ``make bench``, ``make bench-against`` and ``make profile``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from benchmarks import against, grid
from benchmarks.against_page import block, write_block
from benchmarks.comparing import report
from benchmarks.families import families, slug
from benchmarks.page import write_page
from benchmarks.plan import FULL, QUICK, Scale
from benchmarks.problems import TUNED, UNSEEN
from benchmarks.profiling import profile
from benchmarks.results import Results
from benchmarks.run import headline_ratios, only_headline, renew_headline, repeat, run
from benchmarks.sections import repeats as repeats_section
from benchmarks.sections import targets as targets_section
from benchmarks.sides import PRESENT, Side, built, present
from benchmarks.streams import measure_streams, store, stored, told
from benchmarks.workers.problems_file import write_binary

STORE = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"

Kind = TypeVar("Kind", bound=Any)


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _parser().parse_args(arguments)
    asked.command(asked)


def _run(asked: argparse.Namespace) -> None:
    scale = _scale(asked)
    results = run(scale, asked.data, _progress())
    path = asked.json or STORE / f"{scale.mode}.json"
    if path.exists():
        path.replace(path.with_suffix(".before.json"))
    results.save(path)
    write_page(results, asked.page)
    print(targets_section(results))


def _against(asked: argparse.Namespace) -> None:
    progress = _progress()
    extent = _changed(against.QUICK if asked.quick else against.FULL, asked, problems="problems", rounds="rounds")
    with ExitStack() as stack:
        old = Side(asked.commit, asked.old_python) if asked.old_python else None
        old = old or stack.enter_context(built(asked.commit, progress))
        new = Side(PRESENT, asked.new_python) if asked.new_python else present() if asked.in_place else None
        new = new or stack.enter_context(built(None, progress))
        chosen = asked.families, asked.seed
        found = against.compare_sides(new, old, extent, asked.data, progress, *chosen, itself=asked.itself)
    found.save(asked.json or STORE / f"against-{asked.commit}-{extent.mode}.json")
    if not asked.families:  # the page is of all
        write_block(found, asked.page)
    print(block(found))


def _stream(asked: argparse.Namespace) -> None:
    progress = _progress()
    side = Side(asked.python, asked.python) if asked.python else present()
    made = families(asked.problems, asked.data, asked.families, seed=asked.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.save or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        store(made, folder / "problems.npz")
        if asked.save:
            for family in made:
                write_binary(folder / f"{slug(family.name)}.bin", stored(family))
        found = measure_streams([side], made, folder / "problems.npz", asked.rounds, progress)
    print(told(found, side.name))


def _headline(asked: argparse.Namespace) -> None:
    results = only_headline(_scale(asked), _progress(), asked.row)
    if asked.json:
        results.save(asked.json)
    for row, found in headline_ratios(results).items():
        print(f"{row}: {found.value:,.0f} ({found.low:,.0f} to {found.high:,.0f})")


def _page(asked: argparse.Namespace) -> None:
    write_page(Results.load(asked.results), asked.page)


def _repeat(asked: argparse.Namespace) -> None:
    results = repeat(Results.load(asked.results), asked.times, asked.rounds, _progress(), asked.row)
    results.save(asked.results)
    write_page(results, asked.page)
    print(repeats_section(results))


def _renew(asked: argparse.Namespace) -> None:
    results = renew_headline(Results.load(asked.results), asked.rounds, _progress())
    results.save(asked.results)
    write_page(results, asked.page)
    print(targets_section(results))


def _compare(asked: argparse.Namespace) -> None:
    old = Results.load(asked.old)
    print(report(old, Results.load(asked.new or STORE / f"{old.mode}.json")))


def _profile(asked: argparse.Namespace) -> None:
    for size in asked.sizes:
        n, k, r = (int(number) for number in size.split(","))
        print(profile(n, k, r, asked.seconds), end="\n\n")


def _scale(asked: argparse.Namespace) -> Scale:
    """Quick or full, with what was asked to be otherwise."""
    names = {"headline": "problems", "rounds": "rounds", "headline_rounds": "rounds", "highs": "highs"}
    return _changed(FULL if asked.full else QUICK, asked, **names)


def _changed(kind: Kind, asked: argparse.Namespace, **names: str) -> Kind:
    """The same with those fields changed whose options were given."""
    given = {field: getattr(asked, option) for field, option in names.items()}
    return replace(kind, **{field: value for field, value in given.items() if value is not None})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, command, purpose in (
        ("run", _run, "measure everything and write the page"),
        ("headline", _headline, "measure the promised rows against the paper's stack alone"),
    ):
        measuring = commands.add_parser(name, help=purpose)
        measuring.add_argument("--full", action="store_true", help="everything, in about an hour")
        measuring.add_argument("--data", type=Path, help="a MovieLens folder or zip; generated films without one")
        measuring.add_argument("--problems", type=int, help="problems of a row of the headline")
        measuring.add_argument("--rounds", type=int, help="how often everything is measured")
        measuring.add_argument("--highs", type=int, help="problems of the rows against HiGHS, at 20 s each")
        measuring.add_argument("--json", type=Path, help="where the results go (benchmarks/results)")
        if command is _headline:
            measuring.add_argument("--row", help="one row only, such as '150, 100, 20'")
        measuring.set_defaults(command=command)
        _with_page(measuring)
    _add_versions(commands)
    again = commands.add_parser("page", help="write the page from the results of an earlier run")
    again.add_argument("results", type=Path)
    again.set_defaults(command=_page)
    repeating = commands.add_parser(
        "repeat", help="the headline again, in fresh processes: is it inside its intervals?"
    )
    repeating.add_argument("results", type=Path, nargs="?", default=STORE / "quick.json")
    repeating.add_argument("--times", type=int, default=10)
    repeating.add_argument("--rounds", type=int, default=1, help="rounds of each repeat (1)")
    repeating.add_argument("--row", help="one row only, such as '150, 100, 20'; the others keep theirs")
    repeating.set_defaults(command=_repeat)
    renewing = commands.add_parser("renew", help="the headline of an earlier run measured anew, into its results")
    renewing.add_argument("results", type=Path)
    renewing.add_argument("--rounds", type=int, default=FULL.headline_rounds, help="fresh processes (6)")
    renewing.set_defaults(command=_renew)
    comparing = commands.add_parser("compare", help="what got slower since an earlier run, beyond noise")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path, nargs="?", help="the latest run of the same mode when left out")
    comparing.set_defaults(command=_compare)
    profiling = commands.add_parser("profile", help="where compiled code spends its time, by perf")
    profiling.add_argument("sizes", nargs="*", default=["150,100,18", "150,100,9", "150,100,2"], metavar="n,k,r")
    profiling.add_argument("--seconds", type=float, default=10.0, help="how long each size is watched (10)")
    profiling.set_defaults(command=_profile)
    grid.add_arguments(commands.add_parser("grid", help="whether every problem with many categories is certified"))
    for each in (again, repeating, renewing):
        _with_page(each)
    return parser


def _add_versions(commands: Any) -> None:
    """The commands that measure versions of the library on streams."""
    comparing = commands.add_parser("against", help="an older commit beside this tree, on the same streams")
    comparing.add_argument("commit", help="what git knows it by; it is installed in an environment of its own")
    comparing.add_argument(
        "--quick", action="store_true", help="fewer problems and rounds, and nothing started with empty caches"
    )
    comparing.add_argument("--itself", action="store_true", help="the older commit against itself beside it")
    comparing.add_argument("--old-python", help="a Python in whose environment the commit is installed already")
    comparing.add_argument("--new-python", help="the same for this tree")
    comparing.add_argument("--in-place", action="store_true", help="this tree as this Python finds it, not installed")
    comparing.add_argument("--json", type=Path, help="where the results go (benchmarks/results)")
    comparing.set_defaults(command=_against)
    _with_page(comparing)
    streaming = commands.add_parser("stream", help="one version alone, family by family")
    streaming.add_argument("--python", help="a Python in whose environment the version is installed; else this one")
    streaming.add_argument("--save", type=Path, help="a folder to keep the problems in, for other programs too")
    streaming.set_defaults(command=_stream)
    for each, problems, rounds in ((comparing, None, None), (streaming, 300, 3)):
        each.add_argument("--data", type=Path, help="a MovieLens folder or zip; generated films without one")
        each.add_argument("--families", nargs="+", default=(), help="those whose names hold one of these words")
        each.add_argument(
            "--seed", type=int, default=UNSEEN, help=f"of the problems ({UNSEEN}); constants were chosen with {TUNED}"
        )
        each.add_argument("--problems", type=int, default=problems, help="problems of a family")
        each.add_argument("--rounds", type=int, default=rounds, help="how often each is solved, in fresh processes")


def _with_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write (docs/benchmarks.md)")


def _progress() -> Callable[[str], None]:
    started = perf_counter()

    def tell(what: str) -> None:
        print(f"{perf_counter() - started:6.0f} s  {what}", file=sys.stderr, flush=True)

    return tell


if __name__ == "__main__":
    main()
