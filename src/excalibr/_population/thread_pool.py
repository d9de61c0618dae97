"""Work on chunks whose bounds do not depend on the number of threads, so that sums over them do not either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


def chunks_of(size: int, most: int) -> list[slice]:
    """0 … size − 1 in chunks of nearly the same size, each with so many at most; two at least, where there are two.

    >>> chunks_of(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    count = max(-(-size // most), min(size, 2), 1)
    edges = [-(-size * number // count) for number in range(count + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]


class ThreadPool:
    """Maps a function over chunks on so many threads; the results come in the order of the chunks."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def map(self, work: Callable[[Chunk], Result], chunks: Sequence[Chunk]) -> list[Result]:
        """The results of all chunks; the calling thread works too."""
        threads = min(self.threads, len(chunks))
        if threads <= 1:
            return [work(chunk) for chunk in chunks]

        def of_thread(number: int) -> list[Result]:
            return [work(chunk) for chunk in chunks[number::threads]]

        others = [self._executor.submit(of_thread, number) for number in range(1, threads)]  # one task per thread
        results = [of_thread(0), *(each.result() for each in others)]
        return [results[number % threads][number // threads] for number in range(len(chunks))]

    @cached_property
    def _executor(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads - 1, thread_name_prefix="excalibr")
