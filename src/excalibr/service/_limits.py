"""What the service takes at most: sizes of requests, and how many at a time."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, fields

from excalibr._options import real_number, whole_number
from excalibr.service._failures import unavailable

_whole = whole_number(1, or_none=False)
_positive = real_number("be a number above 0", lambda seconds: seconds > 0)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a request may have; all but ``body_seconds`` are whole numbers of at least 1.

    Attributes
    ----------
    max_items
        Candidates of a request, and items of its history, its shown items and so on.
    max_batch
        Requests of a batch.
    max_body
        Bytes of a body.
    backpressure
        Requests that are worked on or wait for it; one more is refused at once.
    threads
        Requests that are worked on at the same time.
    body_seconds
        How long a client may be silent before its body is complete.
    readers
        Requests whose bodies are on their way; one more is refused at once.

    Raises
    ------
    InputError
        Where a limit is not such a number.

    Examples
    --------
    >>> from excalibr.service import Limits
    >>> Limits(max_items=500).max_items, Limits().backpressure
    (500, 32)
    """

    max_items: int = 10_000
    max_batch: int = 100
    max_body: int = 8_000_000
    backpressure: int = 32
    threads: int = 1
    body_seconds: float = 10.0
    readers: int = 64

    def __post_init__(self) -> None:
        for each in fields(self):
            check = _positive if each.name == "body_seconds" else _whole
            check(each.name, getattr(self, each.name))


class Gate:
    """Lets so many requests in; one more is refused at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside = 0
        self._lock = threading.Lock()

    @property
    def inside(self) -> int:
        """How many are in."""
        return self._inside

    def refuse_if_full(self) -> None:
        """Refuse where nobody could come in, before a body is read for nothing."""
        if self._inside >= self._most:
            raise unavailable(f"{self._inside} requests are in flight, which is what --backpressure allows")

    def __enter__(self) -> None:
        with self._lock:
            self.refuse_if_full()
            self._inside += 1

    def __exit__(self, *failed: object) -> None:
        with self._lock:
            self._inside -= 1


class FairSemaphore:
    """Lets so many requests work at the same time, first come, first served."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: deque[threading.Lock] = deque()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()  # until it is handed over: nobody who comes later can overtake

    def __exit__(self, *failed: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1
