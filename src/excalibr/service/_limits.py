"""What the service takes at most: sizes of requests, and how many at a time."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from queue import SimpleQueue

from excalibr.service._failures import RequestFailure

__all__ = ["Gate", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may have at most.

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
    """

    max_items: int = 10_000
    max_batch: int = 100
    max_body: int = 8_000_000
    backpressure: int = 64
    threads: int = 1
    body_seconds: float = 10.0
    readers: int = 64


class Gate:
    """Lets so many requests in, and so many of them work at the same time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._inside = 0
        self._lock = threading.Lock()
        self._turns: SimpleQueue[None] = SimpleQueue()  # waiting for one costs less than for a semaphore
        for _ in range(limits.threads):
            self._turns.put(None)

    @property
    def inside(self) -> int:
        """How many are in."""
        return self._inside

    def refuse_if_full(self) -> None:
        """Refuse where nobody could come in, before a body is read for nothing."""
        if self._inside >= self._limits.backpressure:
            found = f"{self._inside} requests are in flight"
            raise RequestFailure(503, f"{found}, which is what --backpressure allows: try again.", retry_after=1)

    def __enter__(self) -> None:
        """In, once the body is there, and then on to work in turn; refused at once where too many are in."""
        with self._lock:
            self.refuse_if_full()
            self._inside += 1
        self._turns.get()

    def __exit__(self, *failed: object) -> None:
        """Out again."""
        self._turns.put(None)
        with self._lock:
            self._inside -= 1
