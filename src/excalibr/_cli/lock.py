"""One run at a time for an output: a file beside it, locked by the operating system, that says who is at work.

The system lets go of the lock when its process ends, however it ends, so a file that a killed run left behind stops
nobody. On file systems that know no locks, what the file says decides: a process that is gone, or whose number another
process has by now, holds nothing.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from excalibr._writing import errors_named, open_without_links

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

MADE_BY = "excalibr rerank"  # what files of a run say, beside an output and in its folder of parts
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)  # of file systems that know no locks


class InUseError(OSError):
    """Another run is writing to the same output."""


@dataclass(frozen=True)
class Holder:
    """Whose lock it is; ``started`` tells the process from another with its number, ``since`` is for a reader."""

    pid: int
    host: str
    started: str
    since: str
    made_by: str = MADE_BY

    @classmethod
    def this_process(cls) -> Holder:
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        return cls(os.getpid(), socket.gethostname(), _start_of(os.getpid()), now)

    @classmethod
    def parse(cls, text: str) -> Holder | None:
        """What a lock file says; None where it says nothing of ours."""
        try:
            facts = json.loads(text)
            return cls(**facts) if facts["made_by"] == MADE_BY else None
        except (ValueError, TypeError, KeyError):
            return None

    def is_alive(self) -> bool:
        """Whether that very process still runs; on another machine, and where the system does not tell, unknown."""
        return self.host == socket.gethostname() and bool(self.started) and _start_of(self.pid) == self.started

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


@contextmanager
def locked(outputs: Iterable[Path]) -> Iterator[None]:
    """Hold the locks of all outputs, or raise at once; whatever happens inside, they are removed at the end."""
    with ExitStack() as held:
        for output in outputs:
            held.enter_context(_locked(output))
        yield


@contextmanager
def _locked(output: Path) -> Iterator[None]:
    path = output.with_name(output.name + ".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _acquire(path, output)
    try:
        with errors_named(path):
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(asdict(Holder.this_process())).encode())
        yield
    finally:
        _release(descriptor, path)


def _acquire(path: Path, output: Path) -> int:
    """A descriptor with the lock on the file that is at ``path``."""
    while True:
        descriptor = open_without_links(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0))
        try:
            taken = _try_lock(descriptor)
            holder = _read(descriptor, path)
            if taken is False or (holder is not None and _is_another(holder, sure=bool(taken))):
                raise InUseError(
                    f"{output}: is being written by another run ({holder or 'another process'}), and two runs must not "
                    f"share an output. Hint: wait for it, or name another output; {path.name} is its lock."
                )
        except BaseException:
            os.close(descriptor)
            raise
        if _is_at(descriptor, path):  # a run that just ended may have removed it after we opened it
            return descriptor
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool | None:
    """Whether we have the lock now; None on a file system without locks."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            _lock_on_windows(descriptor)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        if error.errno in NO_LOCKS:
            return None
        raise
    return True


def _lock_on_windows(descriptor: int) -> None:
    """A byte far behind the text, which others can go on reading."""
    import msvcrt

    windows: Any = msvcrt
    os.lseek(descriptor, 1 << 30, os.SEEK_SET)
    windows.locking(descriptor, windows.LK_NBLCK, 1)


def _is_another(holder: Holder, *, sure: bool) -> bool:
    """Whether what the file says keeps us out.

    With the system's lock in hand, only a process that is seen to be alive does: its file system has locks in name
    only. Without one, so does a process on another machine, of which nothing can be seen.
    """
    if holder.host != socket.gethostname():
        return not sure
    return holder.pid != os.getpid() and holder.is_alive()


def _read(descriptor: int, path: Path) -> Holder | None:
    """Who holds it; nobody where the file is empty, of a run that was killed before it could write."""
    is_file, text = stat.S_ISREG(os.fstat(descriptor).st_mode), ""
    if is_file:
        os.lseek(descriptor, 0, os.SEEK_SET)
        text = os.read(descriptor, 1 << 16).decode("utf-8", "replace").strip()
    holder = Holder.parse(text)
    if not is_file or (text and holder is None):
        raise OSError(f"{path}: is there and is no lock of ours. Hint: move it away, or name another output.")
    return holder


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _release(descriptor: int, path: Path) -> None:
    """Removed while we hold it; Windows can remove a file only when it is closed."""
    with suppress(OSError):
        if fcntl is not None and _is_at(descriptor, path):
            path.unlink()
    os.close(descriptor)
    if fcntl is None:
        with suppress(OSError):
            path.unlink()


def _start_of(pid: int) -> str:
    """What Linux says of a process: the boot it belongs to, and its start in clock ticks since then.

    Empty for one that has ended, even if its parent has not asked for its end yet, and on systems that do not say.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
    state, *fields = status.rpartition(")")[2].split()
    return "" if state in "ZX" else f"{boot}:{fields[18]}"
