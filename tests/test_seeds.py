import datetime as dt
import itertools
import subprocess
import sys
from collections.abc import Hashable

import numpy as np
import pytest

from excalibr._seeds import uniforms
from excalibr.errors import InputTypeError

DAY = dt.date(2030, 1, 31)
KEYS: list[Hashable] = [None, False, True, 0, 1, -1, 0.0, 1.0, "", "1", "ada", b"", b"ada", "2030-01-31", DAY]
KEYS += [dt.datetime(2030, 1, 31), (), (1,), (1, 2), ((1,), 2), (1, (2,)), ("a", "b"), ("a,s1:b",)]


def test_the_numbers_are_these_on_every_machine() -> None:
    assert uniforms(7, "ada", 2).tolist() == [0.10326533274925143, 0.8386352794594399]
    assert uniforms(7, ("ada", "2030-01-31"), 2).tolist() == [0.42000127442170043, 0.26806386397774595]
    assert uniforms(0, None, 1).tolist() == [0.2398967373042895]


def test_another_process_draws_the_same_numbers() -> None:
    program = "from excalibr._seeds import uniforms; print(uniforms(7, ('ada', 3), 3).tolist())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(uniforms(7, ("ada", 3), 3).tolist())


def test_a_longer_draw_begins_with_the_shorter_one() -> None:
    assert uniforms(1, "ada", 9)[:4].tolist() == uniforms(1, "ada", 4).tolist()


def test_any_two_keys_draw_different_numbers() -> None:
    drawn = [float(uniforms(1, key, 1)[0]) for key in KEYS]
    assert [pair for pair in itertools.combinations(range(len(KEYS)), 2) if drawn[pair[0]] == drawn[pair[1]]] == []


def test_seeds_and_keys_do_not_run_into_each_other() -> None:
    assert uniforms(1, 23, 1) != uniforms(12, 3, 1)


@pytest.mark.parametrize(
    ("numpy_key", "python_key"),
    [
        (np.int32(5), 5),
        (np.str_("ada"), "ada"),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),
        (np.datetime64("2030-01-31"), DAY),
    ],
)
def test_a_numpy_key_is_the_python_key_of_the_same_value(numpy_key: Hashable, python_key: Hashable) -> None:
    assert uniforms(1, numpy_key, 3).tolist() == uniforms(1, python_key, 3).tolist()


def test_without_a_seed_and_a_key_numbers_are_new_each_time() -> None:
    assert uniforms(None, None, 2).tolist() != uniforms(None, None, 2).tolist()


def test_a_key_alone_is_enough_to_draw_the_same_again() -> None:
    assert uniforms(None, "ada", 2).tolist() == uniforms(None, "ada", 2).tolist()
    assert uniforms(None, "ada", 2).tolist() != uniforms(0, "ada", 2).tolist()


def test_numbers_are_even_over_neighbouring_keys() -> None:
    first = np.array([uniforms(3, user, 1)[0] for user in range(4000)])
    assert first.min() >= 0.0
    assert first.max() < 1.0
    counts = np.histogram(first, bins=10, range=(0.0, 1.0))[0]
    assert ((counts - 400) ** 2 / 400).sum() < 27.9  # chi-square with 9 degrees of freedom, 1 in 1000
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4.0 / np.sqrt(4000)


@pytest.mark.parametrize("seed", [1.5, "1", True])
def test_a_seed_that_is_no_whole_number_is_refused(seed: object) -> None:
    with pytest.raises(InputTypeError, match="seed: is .*, must be a whole number or None"):
        uniforms(seed, None, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", [frozenset({1}), np.timedelta64(1, "D")])
def test_a_key_that_cannot_be_told_apart_is_refused(key: Hashable) -> None:
    with pytest.raises(InputTypeError, match=f"key: is a {type(key).__name__}, must be .*Hint"):
        uniforms(1, key, 1)
