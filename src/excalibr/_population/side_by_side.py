"""Work on parts whose bounds do not depend on the number of threads, so that sums over them do not either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def cut(size: int, most: int) -> list[slice]:
    """0 … size − 1 in parts of nearly the same size, each with so many at most; two at least, where there are two.

    >>> cut(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    count = max(-(-size // most), min(size, 2), 1)
    edges = [-(-size * number // count) for number in range(count + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]


class SideBySide:
    """Calls on parts, in so many threads; the results in the order of the parts."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def __call__(self, work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        lanes = min(self.threads, len(parts))
        if lanes <= 1:
            return [work(part) for part in parts]

        def of_lane(lane: int) -> list[Result]:
            return [work(part) for part in parts[lane::lanes]]

        others = [self._pool.submit(of_lane, lane) for lane in range(1, lanes)]  # one call a thread: parts are short
        found = [of_lane(0), *(each.result() for each in others)]
        return [found[number % lanes][number // lanes] for number in range(len(parts))]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads - 1, thread_name_prefix="excalibr")
