import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import excalibr
from excalibr._cli.balance import balance
from excalibr._cli.options import WORDS as COMMAND_WORDS
from excalibr._cli.rerank import rerank
from excalibr._options import METHOD_NAMES, Options
from excalibr.errors import ExcalibrError
from excalibr.ray import RerankBatch
from excalibr.tables import Tables
from excalibr.tables._options import Everyone

OPTIONS = {each.name: each for each in dataclasses.fields(Options)}

OTHERS: dict[str, Any] = {
    "k": 3,
    "trade_off": 0.25,
    "relevance_loss": 0.5,
    "max_deviation": 1.5,
    "position_weights": "sqrt",
    "divergence": "kl",
    "attribute_weights": {"a": 2.0},
    "category_weights": [1.0, 2.0],
    "relative": True,
    "floors": {0: 0.1},
    "caps": [0.9, 1.0],
    "max_per_category": 2,
    "normalise": "range",
    "method": "greedy",
    "draws": "single",
    "tolerance": 1e-6,
    "max_sorts": 1000,
    "time_limit": 60.0,
}
"""Of every option another value than its default."""

ROWS = [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_the_options_of_calibrate_are_these_with_the_same_defaults_and_types() -> None:
    of_calibrate = inspect.signature(excalibr.calibrate).parameters
    own = {name: each for name, each in of_calibrate.items() if each.kind == each.KEYWORD_ONLY}
    assert own.keys() - {"pinned", "shown", "item_prices", "verbose"} == OPTIONS.keys()
    assert {name: own[name].default for name in OPTIONS} == {name: each.default for name, each in OPTIONS.items()}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_of_calibrate_arrives_under_its_name(name: str) -> None:
    assert OTHERS.keys() == OPTIONS.keys()
    by_name = name == "attribute_weights"
    categories: Any = {"a": ROWS} if by_name else ROWS
    target: Any = {"a": [0.5, 0.5]} if by_name else [0.5, 0.5]
    asked = {"k": 2} | {name: OTHERS[name]}
    policy = excalibr.calibrate([0.9, 0.8, 0.5, 0.4], categories, target, **asked)
    assert policy.problem.options.given() == asked


def test_reranker_the_command_and_tables_of_help_have_every_option() -> None:
    derived = {each.name: each for each in dataclasses.fields(excalibr.Reranker)}
    for name, option in OPTIONS.items():
        assert (derived[name].default, derived[name].metadata) == (option.default, option.metadata)
        assert name in COMMAND_WORDS.flags
    texts = [each.metadata["help"] for each in derived.values()]
    assert len(set(texts)) == len(texts)
    assert derived.keys() - OPTIONS.keys() == {"seed", "threads", "fallback"}


@pytest.mark.parametrize(
    ("command", "owners"), [(rerank, (excalibr.Reranker, Tables)), (balance, (excalibr.Reranker, Tables, Everyone))]
)
def test_commands_have_the_options_of_their_dataclasses_with_the_same_defaults(
    command: Any, owners: tuple[Any, ...]
) -> None:
    own = inspect.signature(command).parameters
    fields = [each for owner in owners for each in dataclasses.fields(owner)]
    assert {each.name: own[each.name].default for each in fields} == {each.name: each.default for each in fields}


@pytest.mark.parametrize("owner", [excalibr.Reranker, Tables, Everyone])
def test_the_help_text_of_every_option_is_written_once(owner: Any) -> None:
    sources = "".join(path.read_text() for path in Path(excalibr.__file__).parent.rglob("*.py"))
    written = {each.name: sources.count(each.metadata["help"]) for each in dataclasses.fields(owner)}
    assert written == dict.fromkeys(written, 1)


def test_the_methods_that_an_option_names_are_those_that_there_are() -> None:
    assert tuple(excalibr.methods.METHODS) == METHOD_NAMES


@pytest.mark.parametrize("take", [RerankBatch, excalibr.spark.rerank])
def test_ray_and_spark_take_the_options_of_a_reranker(take: Any) -> None:
    kinds = [each.kind for each in inspect.signature(take).parameters.values()]
    assert inspect.Parameter.VAR_KEYWORD in kinds


def test_only_options_that_differ_from_their_defaults_are_passed_on() -> None:
    assert Options().given() == {}
    assert Options(k=3, method="greedy", tolerance=1e-6).given() == {"k": 3, "method": "greedy", "tolerance": 1e-6}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k: is 0, must be a whole number of at least 1"),
        ({"k": 2.5}, "k: is 2.5"),
        ({"trade_off": 1.2}, "trade_off: is 1.2, must be from 0"),
        ({"method": "exact"}, "method: is 'exact', must be one of"),
        ({"position_weights": "logg"}, "did you mean 'log'"),
        ({"position_weights": [1, 2], "k": 3}, r"position_weights: have shape \(2,\)"),
        ({"position_weights": [[1], [2, 3]]}, "position_weights: cannot be read as numbers"),
        ({"position_weights": []}, r"position_weights: have shape \(0,\)"),
        ({"tolerance": 0}, "tolerance: is 0"),
        ({"k": np.timedelta64(3, "s")}, "k: is .*, must be a whole number"),
        *(
            ({name: 10**400}, f"{name}: is 1000")
            for name in ("trade_off", "relevance_loss", "max_deviation", "tolerance")
        ),
    ],
)
def test_settings_are_checked_when_they_are_made(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ExcalibrError, match=message):
        Options(**wrong)


def test_the_first_slots_have_weights_that_sum_to_one() -> None:
    weights = Options(k=3, position_weights=[0, 2, 6]).weights_of(2)
    assert weights.tolist() == [0.0, 1.0]
    assert Options(k=2, position_weights=np.array([0.0, 1.0])).weights_of(1).tolist() == [1.0]


WRONG: dict[str, Any] = {
    "k": 0,
    "trade_off": 1.5,
    "relevance_loss": 2.0,
    "max_deviation": -0.1,
    "position_weights": "lgo",
    "divergence": "l2",
    "category_weights": True,
    "relative": "yes",
    "floors": True,
    "caps": False,
    "max_per_category": True,
    "normalise": "max",
    "method": "gredy",
    "draws": "one",
    "tolerance": 0.0,
    "max_sorts": 0,
    "time_limit": 0.0,
}
"""Of every option that is checked by itself a value that cannot be."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_has_one_message_wherever_it_is_given(name: str) -> None:
    asked = {name: WRONG[name]}
    scores, target = [0.9, 0.8, 0.5, 0.4], [0.5, 0.5]
    ways: list[Callable[[], object]] = [
        lambda: excalibr.calibrate(scores, ROWS, target, **asked),
        lambda: excalibr.Problem.of(scores, ROWS, target, **asked),
        lambda: excalibr.calibrate_batch(scores, [0, 4], ROWS, target, **asked),
        lambda: excalibr.Reranker(**asked),
        lambda: RerankBatch(None, **asked),
    ]
    messages = set()
    for way in ways:
        with pytest.raises(ExcalibrError, match=f"{name}: is ") as raised:
            way()
        messages.add(str(raised.value))
    assert len(messages) == 1


def test_every_option_that_is_checked_by_itself_declares_its_check() -> None:
    declared = {each.name for each in OPTIONS.values() if each.metadata["check"] is not None}
    assert WRONG.keys() - {"position_weights"} == declared  # whose numbers are checked with k


TELLING: dict[str, Any] = OTHERS | {
    "relevance_loss": 0.05,
    "max_deviation": 0.3,
    "attribute_weights": {"a": 0.2},
    "category_weights": [1.0, 1.0, 8.0],
    "relative": True,
    "floors": {1: 0.7},
    "caps": [0.3, 1.0, 1.0],
    "max_per_category": 1,
    "k": 2,
    "tolerance": 1.0,
    "max_sorts": 1,
}
"""Of every option a value that shows in the answer to the question below."""


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "time_limit"])  # that has tests of its own
@pytest.mark.filterwarnings("ignore::excalibr.errors.GapWarning")
def test_every_option_of_calibrate_changes_what_is_answered(name: str) -> None:
    scores, rows = [1.95, 1.9, 1.84, 1.8, 1.6, 1.55, 1.4, 1.2], np.eye(3)[[0, 0, 0, 1, 1, 2, 2, 1]]
    rows, target = 0.8 * rows + 0.2 * rows[::-1], [0.3, 0.45, 0.25]
    rows = np.eye(3)[[0, 0, 0, 1, 1, 2, 2, 1]] if name == "max_per_category" else rows
    question: Any = (scores, {"a": rows}, {"a": target}) if name == "attribute_weights" else (scores, rows, target)
    answers = [excalibr.calibrate(*question, **{"k": 3} | asked) for asked in ({}, {name: TELLING[name]})]
    plain, asked = ((each.rankings.tolist(), each.weights.tolist(), each.relevance) for each in answers)
    assert plain != asked


def test_position_weights_that_are_numbers_are_the_options_own() -> None:
    given = np.array([3.0, 1.0])
    options = Options(position_weights=given)
    given[0] = 0.0
    assert isinstance(options.position_weights, np.ndarray)
    assert options.position_weights.tolist() == [3.0, 1.0]
    assert not options.position_weights.flags.writeable


def test_a_cap_on_sorts_may_be_larger_than_any_count() -> None:
    policy = excalibr.calibrate([0.9, 0.8, 0.5, 0.4], ROWS, [0.5, 0.5], k=2, max_sorts=10**30)
    assert policy.gap < 1e-9
