"""docs/service.md, from the numbers that `benchmarks.service` has found."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from benchmarks.service_load import BODIES, CANDIDATES, CATEGORIES, ITEMS

__all__ = ["page"]

GOAL_AROUND, GOAL_P99, GOAL_START = 0.15, 5.0, 1.0


def page(found: dict[str, Any]) -> str:
    """The page of the measurements."""
    parts = [
        "# The service, measured",
        _filled(f"""
        Made by `make bench-service`: the real server (granian) on loopback, pinned to one processor with one thread,
        and its clients pinned to another; {CANDIDATES} candidates out of {ITEMS:,} items, {CATEGORIES} categories,
        λ = 0.5, {BODIES} different requests in turn, log off, {found["seconds"]:g} s per measurement. The machine has
        {found["processors"]} processors; its load was {found["load"]:.1f} at the start (far above 1 would mean that
        others were using it).
        """),
        *_summary(found["rows"]),
        "## Processor time per request",
        _filled("""
        In milliseconds. *Kernel* is the solve alone, repeated; *within* is the same solve amid the other work of a
        request, with which it shares the caches; *in process* is the application without a server; *server* is all
        that the server's processes use, under wrk with four connections. *Around the kernel* is server − kernel:
        HTTP, decoding, looking up, drawing, answering, counting. *Bare* is granian with the same settings and an
        application that reads the body and answers with as many bytes: no application can be below that.
        """)
        + f" Goal for the columnar body: at most {GOAL_AROUND}.",
        _costs(found["rows"]),
        "The same application under uvicorn (its adapter for WSGI), columnar:",
        _uvicorn(found["uvicorn"], found["rows"]),
        "## Latency at half of the ceiling",
        _filled(f"""
        In milliseconds, for arrivals at a constant rate. `Arrivals` in `benchmarks/service_load.py` measures from the
        moment at which each request was due (*when due*: the figures to go by). k6 (`constant-arrival-rate`) measures
        from the moment of sending, and counts what it could not send in time as an error. k6 needs more of its
        processor for a request than the server of its own, so that what it measures is mostly itself, as its figures
        for the *bare* server at the same rate show. Goal: p99 at most {GOAL_P99:g}.
        """),
        _latencies(found["rows"]),
        "## Overload",
        _filled("""
        As much as wrk can send over 256 connections: answers and refusals per second and how many times the ceiling
        that is, the part that was refused (503 with `Retry-After`), connections that broke, and the 99th percentile of
        answers and refusals together (256 connections that always wait have to wait 256 ÷ requests per second on
        average). *Beside* is another client at the same time, with 100 requests a second, measured from when each was
        due: the 99th percentiles of its refusals and of its answers. *After* is half of the ceiling again, half a
        second later.
        """),
        _floods(found["rows"]),
        "## Workers and threads",
        _filled(f"""
        k = 100, columnar, on all {found["processors"]} processors, which wrk shares: requests per second, processor
        time per request, memory of all processes.
        """),
        _sizes(found["sizes"]),
        "## Start",
        _starts(found["starts"]),
        "## A longer run",
        _soak(found.get("soak")),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(rows: list[dict[str, Any]]) -> list[str]:
    """What one asks first, of the columnar body and the fewest slots."""
    columnar = [row for row in rows if row["form"] == "columnar"]
    if not columnar:
        return []
    row = min(columnar, key=lambda each: int(each["k"]))
    return [
        _filled(f"""
        In short: a request with {CANDIDATES} candidates for {row["k"]} slots takes {row["server"]:.2f} ms of processor
        time, {row["kernel"] / row["server"]:.0%} of it the solve. One processor answers up to {row["ceiling"]:,.0f} of
        them a second; at half of that the median is {row["latency"]["p50"]:.1f} ms and the 99th percentile
        {row["latency"]["p99"]:.1f} ms.
        """)
    ]


def _sizes(sizes: list[dict[str, Any]]) -> str:
    return _table(
        ("`--workers`", "`--threads`", "requests/s", "ms", "MB"),
        [
            (each["workers"], each["threads"], f"{each['rate']:.0f}", f"{each['server']:.3f}", f"{each['memory']:.0f}")
            for each in sizes
        ],
    )


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120)


def _table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _costs(rows: list[dict[str, Any]]) -> str:
    head = ("k", "body", "kernel", "within", "in process", "bare", "server")
    names = ("kernel", "kernel_within", "in_process", "bare", "server")
    return _table(
        (*head, "around the kernel", "requests/s"),
        [
            (
                *(row["k"], row["form"], *(f"{row[name]:.3f}" for name in names)),
                *(f"**{row['server'] - row['kernel']:.3f}**", f"{row['ceiling']:.0f}"),
            )
            for row in rows
        ],
    )


def _uvicorn(found: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    own = {row["k"]: row for row in rows if row["form"] == "columnar"}
    return _table(
        ("k", "server, ms", "ceiling", "granian's ceiling"),
        [
            (each["k"], f"{each['server']:.3f}", f"{each['ceiling']:.0f}", f"{own[each['k']]['ceiling']:.0f}")
            for each in found
        ],
    )


def _latencies(rows: list[dict[str, Any]]) -> str:
    lines = [
        (
            *(row["k"], row["form"], name, f"{told['rate']:.0f}"),
            *(f"{told[part]:.2f}" for part in ("p50", "p99", "p999", "max")),
            f"{told['errors']:.0f}",
        )
        for row in rows
        for name, told in (("when due", row["latency"]), ("k6", row["k6"]), ("k6, of *bare*", row["k6_bare"]))
        if told is not None
    ]
    return _table(("k", "body", "by", "requests/s", "p50", "p99", "p99.9", "largest", "errors"), lines)


def _floods(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        flood, after = row["flood"], row["after"]
        beside = flood["beside"]
        lines.append(
            (
                *(row["k"], row["form"], f"{flood['rate']:.0f}", f"{flood['rate'] / row['ceiling']:.1f} ×"),
                f"{flood['refused'] / max(flood['requests'], 1):.0%}",
                *(f"{flood['broken']:.0f}", f"{flood['p99']:.0f} ms"),
                *(_milliseconds(beside["refusals_p99"]), _milliseconds(beside["answers_p99"])),
                *(f"{after['p99']:.2f} ms", f"{after['errors']:.0f}"),
            )
        )
    head = ("k", "body", "requests/s", "of the ceiling", "refused", "broken", "p99")
    return _table((*head, "refusals beside", "answers beside", "p99 after", "errors after"), lines)


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} ms"


def _starts(starts: list[dict[str, float]]) -> str:
    ports, ready = (sorted(each[name] for each in starts) for name in ("port", "ready"))
    return _filled(f"""
    `excalibr serve`, started {len(starts)} times: the port was open after {ports[0]:.2f} to {ports[-1]:.2f} s (goal:
    {GOAL_START:g}), and the invented catalogue was loaded after {ready[0]:.2f} to {ready[-1]:.2f} s.
    """)


def _soak(soak: dict[str, float] | None) -> str:
    if soak is None:
        return "Not measured yet: `make bench-service SOAK=600` adds it."
    return _filled(f"""
    Half of the ceiling for {soak["seconds"]:.0f} s (k = 10, columnar, {soak["rate"]:.0f} requests/s):
    {soak["requests"]:,.0f} requests, {soak["errors"]:.0f} errors, p99 {soak["p99"]:.2f} ms, the slowest
    {soak["max"]:.1f} ms; memory
    {soak["memory_before"]:.1f} MB after the first minute, {soak["memory_after"]:.1f} MB at the end.
    """)
