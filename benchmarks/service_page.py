"""docs/service.md, from the numbers that `benchmarks.service` has found."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from benchmarks.service_load import BODIES, CANDIDATES, CATEGORIES, ITEMS

__all__ = ["page"]

ASKED_AROUND, ASKED_P99, ASKED_START = 0.15, 5.0, 1.0


def page(found: dict[str, Any]) -> str:
    """The page of the measurements."""
    parts = [
        "# The service, measured",
        _filled(f"""
        Made by `make bench-service`: the real server (granian) on loopback, pinned to one processor with one thread,
        those who ask pinned to another; {CANDIDATES} candidates of {ITEMS:,} items, {CATEGORIES} categories, λ = 0.5,
        {BODIES} different requests in turn, log off, {found["seconds"]:g} s a measurement. {found["processors"]}
        processors; the load was {found["load"]:.1f} when it began (far above 1, others were at work).
        """),
        "## Processor time a request",
        _filled("""
        In milliseconds. *Kernel* is the solve alone, again and again; *within* is the same solve between the other work
        of a request, whose memory it shares; *in process* is the application without a server; *server* is all
        that the server's processes spend, by wrk over four connections. *Around the kernel* is server − kernel:
        HTTP, decoding, looking up, drawing, answering, counting. *Bare* is granian with the same settings and an
        application that reads the body and answers as many bytes, which no application can go below.
        """)
        + f" Asked of the columnar body: at most {ASKED_AROUND}.",
        _costs(found["rows"]),
        "The same application under uvicorn (its adapter for WSGI), columnar:",
        _uvicorn(found["uvicorn"], found["rows"]),
        "## Latency at half of the ceiling",
        _filled(f"""
        In milliseconds, for arrivals at a constant rate: `Arrivals` of `benchmarks/service_load.py` counts from when
        each request was due, k6 (`constant-arrival-rate`) from when it was sent, and counts as an error what it could
        not send in time. k6 takes more of its processor for a request than the server does of its own: what it
        measures of the *bare* server at the same rate is its own. Asked: p99 at most {ASKED_P99:g}.
        """),
        _latencies(found["rows"]),
        "## More than it can do",
        _filled("""
        All that wrk can send over 256 connections: answers and refusals a second and how many times the ceiling
        that is, which part was refused (503 with `Retry-After`), connections that broke, and the 99th percentile of
        answers and refusals together: 256 that always wait, wait 256 ÷ requests a second on average. *Beside* is a
        client of 100 requests a second at the same time, counted from when each was due: the 99th percentiles of its
        refusals and of its answers. Half a second later, half of the ceiling again.
        """),
        _floods(found["rows"]),
        "## Workers and threads",
        _filled(f"""
        k = 100, columnar, on all {found["processors"]} processors, of which wrk takes its part: requests a second,
        processor time a request, memory of all processes.
        """),
        _sizes(found["sizes"]),
        "## Start",
        _starts(found["starts"]),
        "## A longer time",
        _soak(found.get("soak")),
    ]
    return "\n\n".join(parts) + "\n"


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
    `excalibr serve`, {len(starts)} times: the port was open after {ports[0]:.2f} to {ports[-1]:.2f} s (asked:
    {ASKED_START:g}), and the invented catalogue was loaded after {ready[0]:.2f} to {ready[-1]:.2f} s.
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
