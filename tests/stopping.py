"""Solves that end at a question which the kernel asks its watcher, instead of at a time.

A time limit below 0, which no option can be, is so many questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import pytest

from excalibr._options import Options
from excalibr._solver import setting_of


@contextmanager
def stopping(monkeypatch: pytest.MonkeyPatch, questions: int) -> Iterator[None]:
    """Let every solve end at the question with this number."""
    whole: cached_property[Any] = Options.__dict__["asked"]
    with monkeypatch.context() as patched:
        patched.setattr(Options, "asked", property(lambda own: (*whole.func(own)[:6], -float(questions))))
        setting_of.cache_clear()
        yield
    setting_of.cache_clear()


def numbers() -> Iterator[int]:
    """Every question at first, then ever fewer of them."""
    number = 1
    while True:
        yield number
        number += 1 + number // 120
