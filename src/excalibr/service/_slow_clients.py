"""Connections that have been silent for too long are closed, so that the reads that wait for them end.

granian has no time limit for bodies, and its reads cannot be interrupted. But a process can shut down its sockets.
Linux tells when a connection last heard from its client; elsewhere nothing is closed. Nothing tells on which connection
a request came: who waits for an answer is known by the moment at which the end of the request came.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_LAST_SENT, _LAST_HEARD = 44, 52
"""Where `tcpi_last_data_sent` and `tcpi_last_data_recv`, in milliseconds, stand in Linux's `struct tcp_info`."""

_SLACK = 0.1
"""Seconds by which Linux's clock of a connection, which counts in ticks, may be off."""


def close_silent(port: int, seconds: float, spared: Iterable[tuple[float, float]] = ()) -> int:
    """Close this process's connections on a port on which nothing was received or sent for so long; return how many.

    Those that last heard from their client within one of the ``spared`` spans of the monotonic clock stay open.
    """
    if sys.platform != "linux":
        return 0
    closed = 0
    for opened in list(Path("/proc/self/fd").iterdir()):
        with suppress(OSError, ValueError):
            if opened.readlink().name.startswith("socket:"):
                closed += _close_if_silent(int(opened.name), port, seconds, spared)
    return closed


def _close_if_silent(number: int, port: int, seconds: float, spared: Iterable[tuple[float, float]]) -> bool:
    with socket.socket(fileno=os.dup(number)) as connection:
        if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.getsockname()[1] != port:
            return False
        connection.getpeername()  # a socket that listens has none, which is an OSError
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        sent, heard = (struct.unpack_from("=I", info, place)[0] / 1000 for place in (_LAST_SENT, _LAST_HEARD))
        moment = time.monotonic() - heard
        if min(sent, heard) < seconds or any(first <= moment <= last + _SLACK for first, last in spared):
            return False
        connection.shutdown(socket.SHUT_RDWR)
        return True
