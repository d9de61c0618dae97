"""Parts that do not depend on the number of threads, worked on in any number of them."""

import pytest

from excalibr._population.side_by_side import SideBySide, cut


@pytest.mark.parametrize(("size", "most"), [(0, 3), (1, 3), (2, 3), (7, 3), (9, 3), (6034, 2000)])
def test_parts_cover_everything_once_and_none_is_too_large(size: int, most: int) -> None:
    parts = cut(size, most)
    assert [number for part in parts for number in range(size)[part]] == list(range(size))
    assert all(part.stop - part.start <= most for part in parts)


@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_results_come_in_the_order_of_the_parts(threads: int) -> None:
    assert SideBySide(threads)(lambda part: part * part, range(7)) == [0, 1, 4, 9, 16, 25, 36]


def test_an_error_in_a_part_is_the_caller_s() -> None:
    with pytest.raises(ZeroDivisionError):
        SideBySide(2)(lambda part: 1 // part, [1, 2, 3, 0])
