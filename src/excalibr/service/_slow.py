"""Connections that have been silent for too long are shut, so that the reads that wait for them end.

granian has no time limit for bodies, and a read of it cannot be interrupted; but the process can shut its own sockets.
Linux tells when a connection last heard from its client; elsewhere nothing is shut.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

_LAST_HEARD = 52
"""Where `tcpi_last_data_recv`, in milliseconds, stands in Linux's `struct tcp_info`."""


def shut_silent(port: int, seconds: float) -> int:
    """Shut this process's connections on a port that were silent for so long; how many those were."""
    if sys.platform != "linux":
        return 0
    shut = 0
    for opened in list(Path("/proc/self/fd").iterdir()):
        with suppress(OSError, ValueError):
            if opened.readlink().name.startswith("socket:"):
                shut += _shut_if_silent(int(opened.name), port, seconds)
    return shut


def _shut_if_silent(number: int, port: int, seconds: float) -> bool:
    with socket.socket(fileno=os.dup(number)) as connection:
        if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.getsockname()[1] != port:
            return False
        connection.getpeername()  # a socket that listens has none, which is an OSError
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        silent = struct.unpack_from("=I", told, _LAST_HEARD)[0] / 1000
        if silent < seconds:
            return False
        connection.shutdown(socket.SHUT_RDWR)
        return True
