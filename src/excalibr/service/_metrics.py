"""What the service counts, for Prometheus; with several worker processes it is summed up over all of them."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter as TallyOf
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any

SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
BUFFER_SIZE = 256
"""So many requests are buffered before they are counted."""

GAPS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)


class Metrics:
    """Counters and histograms of one process, and the page that shows those of all."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, in_flight: Callable[[], float]) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge

        Histogram = histogram()

        self._registry = CollectorRegistry()
        kind: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter("excalibr_rank_requests", "Requests by profile and code.", ["profile", "code"], **kind)
        self._latency = Histogram(
            "excalibr_rank_latency_seconds", "From the first byte to the answer.", ["profile"], buckets=SECONDS, **kind
        )
        self._solve = Histogram("excalibr_solve_seconds", "In the kernel.", ["profile"], buckets=SECONDS, **kind)
        self._gap = Histogram("excalibr_policy_gap", "Proven gaps of policies.", ["profile"], buckets=GAPS, **kind)
        self._without = Counter(
            "excalibr_users_without_target", "Requests that no target was found for.", ["profile"], **kind
        )
        self._in_flight = Gauge("excalibr_in_flight", "Requests in flight.", multiprocess_mode="livesum", **kind)
        self._count_in_flight = in_flight
        self._children: dict[Any, Any] = {}
        self._answered: deque[tuple[str, int, float]] = deque()
        self._slates: deque[tuple[str, float, float | None, bool]] = deque()

    def count_request(self, profile: str, code: int, seconds: float) -> None:
        """Count an answered request. It is buffered and counted with others, which takes a tenth of the time."""
        self._answered.append((profile, code, seconds))
        if len(self._answered) >= BUFFER_SIZE:
            self._flush()

    def count_slate(self, profile: str, seconds: float, gap: float | None, has_target: bool) -> None:
        """Count a slate that took so many seconds of the kernel, or nan; buffered as well."""
        self._slates.append((profile, seconds, gap, has_target))

    def _flush(self) -> None:
        answered, slates = _drained(self._answered), _drained(self._slates)
        for (profile, code), number in TallyOf((each[0], each[1]) for each in answered).items():
            self._child(self._requests, profile, str(code)).inc(number)
        for profile, number in TallyOf(each[0] for each in slates if not each[3]).items():
            self._child(self._without, profile).inc(number)
        self._observe(self._latency, ((each[0], each[2]) for each in answered))
        self._observe(self._solve, ((each[0], each[1]) for each in slates))
        self._observe(self._gap, ((each[0], each[2]) for each in slates))

    def _observe(self, histogram: Any, amounts_by_profile: Iterable[tuple[str, float | None]]) -> None:
        """What was buffered, by profile, where it is a number."""
        by_profile: dict[str, list[float]] = {}
        for profile, amount in amounts_by_profile:
            if amount is not None and amount == amount:
                by_profile.setdefault(profile, []).append(amount)
        for profile, amounts in by_profile.items():
            self._child(histogram, profile).observe_all(amounts)

    def update(self) -> None:
        """Count what is buffered; where processes share a folder, each does so by itself now and then."""
        self._flush()
        self._in_flight.set(self._count_in_flight())

    def page(self) -> bytes:
        """All of it as text, of this process or of all that share a folder."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        self.update()
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def _child(self, metric: Any, *labels: str) -> Any:
        """A metric with its labels, looked up once."""
        key = (metric, *labels)
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = metric.labels(*labels)
        return found


def _drained(buffer: deque[Any]) -> list[Any]:
    """All that is buffered so far; several threads may take from it."""
    taken = []
    with suppress(IndexError):
        while True:
            taken.append(buffer.popleft())
    return taken


@cache
def histogram() -> Any:
    """Prometheus's histogram, which can also observe many amounts at once."""
    from prometheus_client import Histogram

    class ManyHistogram(Histogram):
        def observe_all(self, amounts: list[float]) -> None:
            """Each of the amounts, with one increment per bucket."""
            self._sum.inc(sum(amounts))
            for bucket, number in TallyOf(bisect_left(self._upper_bounds, each) for each in amounts).items():
                self._buckets[bucket].inc(number)

    return ManyHistogram
