"""What the service counts, for Prometheus; with several worker processes it is summed up over all of them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["Metrics"]

SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
NOTED = 256
"""So many requests are noted before they are counted."""

GAPS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)


class Metrics:
    """Counters and histograms of one process, and the page that shows those of all."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, in_flight: Callable[[], float]) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

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
        self._kept: dict[Any, Any] = {}
        self._noted: deque[Callable[[], None]] = deque()

    def counted(self, profile: str, code: int, seconds: float) -> None:
        """A request was answered."""
        self._note(lambda: self._count(profile, code, seconds))

    def solved(self, profile: str, seconds: float | None, gap: float | None, *, has_target: bool) -> None:
        """A slate was made."""
        self._note(lambda: self._observe(profile, seconds, gap, has_target))

    def _note(self, what: Callable[[], None]) -> None:
        """Keep it for later: counting many at once takes a third of the time of counting one in each request."""
        self._noted.append(what)
        if len(self._noted) >= NOTED:
            self._count_noted()

    def _count_noted(self) -> None:
        with suppress(IndexError):  # of an empty deque, which several threads may take from
            while True:
                self._noted.popleft()()

    def _count(self, profile: str, code: int, seconds: float) -> None:
        self._child(self._requests, profile, str(code)).inc()
        self._child(self._latency, profile).observe(seconds)

    def _observe(self, profile: str, seconds: float | None, gap: float | None, has_target: bool) -> None:
        if seconds is not None:
            self._child(self._solve, profile).observe(seconds)
        if gap is not None:
            self._child(self._gap, profile).observe(gap)
        if not has_target:
            self._child(self._without, profile).inc()

    def look(self) -> None:
        """Count what was noted; where processes share a folder, each does so by itself now and then."""
        self._count_noted()
        self._in_flight.set(self._count_in_flight())

    def page(self) -> bytes:
        """All of it as text, of this process or of all that share a folder."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        self.look()
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def _child(self, metric: Any, *labels: str) -> Any:
        """A metric with its labels, looked up once."""
        key = (metric, *labels)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = metric.labels(*labels)
        return found
