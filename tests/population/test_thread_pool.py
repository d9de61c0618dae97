"""Chunks that do not depend on the number of threads, worked on in any number of them."""

import pytest

from excalibr._population.thread_pool import ThreadPool, chunks_of


@pytest.mark.parametrize(("size", "most"), [(0, 3), (1, 3), (2, 3), (7, 3), (9, 3), (6034, 2000)])
def test_chunks_cover_everything_once_and_none_is_too_large(size: int, most: int) -> None:
    chunks = chunks_of(size, most)
    assert [number for chunk in chunks for number in range(size)[chunk]] == list(range(size))
    assert all(chunk.stop - chunk.start <= most for chunk in chunks)


@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_results_come_in_the_order_of_the_chunks(threads: int) -> None:
    assert ThreadPool(threads).map(lambda chunk: chunk * chunk, range(7)) == [0, 1, 4, 9, 16, 25, 36]


def test_an_error_in_a_chunk_is_the_caller_s() -> None:
    with pytest.raises(ZeroDivisionError):
        ThreadPool(2).map(lambda chunk: 1 // chunk, [1, 2, 3, 0])
