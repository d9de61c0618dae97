"""``excalibr warmup``: nothing to do any more, and kept for one version so that scripts that call it go on."""

from __future__ import annotations


def warmup() -> None:
    """Do nothing: the kernel is compiled when the package is built."""
