import json

import pytest

from excalibr._experiments import Plan, Setting
from excalibr._experiments.arms import ARMS
from excalibr.errors import InputError, InputTypeError


def test_the_default_plan_has_everything_that_the_paper_has() -> None:
    plan = Plan()
    assert {str(setting) for setting in plan.settings} == {"150/100", "100/100", "200/100", "150/10"}
    assert not plan.trade_offs
    assert plan.points >= 12
    assert set(plan.arms) == set(ARMS)


def test_every_part_has_a_file_of_its_own() -> None:
    files = [part.file for part in Plan().parts(["genre", "decade"])]
    assert len(set(files)) == len(files) == 2 * (3 * len(ARMS) + len(ARMS) - 1)


def test_attributes_that_differ_only_in_punctuation_have_files_of_their_own() -> None:
    names = ["a b", "a/b", "a_b", "A b", "a\\b", "../a b"]
    files = {part.file for part in Plan(arms=("relevance",), settings=(Setting(9, 3),)).parts(names)}
    assert len(files) == len(names)
    assert all(file.removesuffix(".parquet").isalnum() for file in files)


def test_mip_greedy_has_no_part_where_there_is_nothing_to_choose() -> None:
    parts = Plan(settings=(Setting(10, 10),)).parts(["genre"])
    assert "mip-greedy" not in [part.arm for part in parts]


def test_relevance_only_always_comes_first() -> None:
    assert [part.arm for part in Plan(arms=("greedy",), settings=(Setting(9, 3),)).parts(["genre"])] == [
        "relevance",
        "greedy",
    ]


def test_the_record_survives_json() -> None:
    record = Plan().as_record()
    assert json.loads(json.dumps(record)) == record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arms": ("gredy",)}, "did you mean 'greedy'"),
        ({"weightings": ("Log",)}, "did you mean 'log'"),
        ({"users": 0}, "users: is 0, must be a whole number of at least 1"),
        ({"timed_users": -1}, "timed_users: is -1"),
        ({"split": "tme"}, "did you mean 'time'"),
        ({"trade_offs": (0.0, 0.5)}, "lie between 0 and 1"),
        ({"trade_offs": (0.5, 0.5)}, "each once"),
        ({"settings": ()}, "settings: are empty, must be at least one"),
        ({"weightings": ("log", "log")}, "weightings: are log, log, must name each once"),
        ({"regularisations": (10.0, float("nan"))}, r"regularisations: are \[10.0, nan\], must be finite and above 0"),
        ({"regularisations": (0.0,)}, "must be finite and above 0"),
    ],
)
def test_a_bad_plan_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Plan(**change)  # type: ignore[arg-type]


def test_a_number_of_users_is_whole() -> None:
    """Once two and a half users were accepted, and failed where the users were split."""
    with pytest.raises(InputTypeError, match="users: is 2.5, must be a whole number of at least 1"):
        Plan(users=2.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["150", "10/20", "a/b", "1/0", "²/1"])
def test_a_setting_is_candidates_and_slots(text: str) -> None:
    with pytest.raises(InputError, match="must be candidates/slots"):
        Setting.parse(text)


def test_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'genre'"):
        Plan(attributes=("gender",)).chosen(["genre", "decade"])


def test_the_first_setting_has_all_weightings_those_with_all_candidates_two_and_any_other_one() -> None:
    plan = Plan()
    of = {str(setting): plan.weightings_of(setting) for setting in plan.settings}
    assert of == {
        "150/100": ("log", "sqrt", "reciprocal"),
        "100/100": ("log", "sqrt"),
        "200/100": ("log",),
        "150/10": ("log",),
    }
