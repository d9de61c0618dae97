"""What ``excalibr serve`` asks of the server."""

from __future__ import annotations

import os
from typing import Any

import pytest
from typer.testing import CliRunner

from excalibr._cli.application import application
from excalibr.service import _server


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processors cannot be withheld here")
def test_a_process_works_on_a_request_for_each_processor_that_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[Any] = []
    monkeypatch.setattr(_server, "serve", servers.append)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 4})
    for words in ([], ["--threads", "2"]):
        assert CliRunner().invoke(application, ["serve", *words]).exit_code == 0
    assert [each.limits.threads for each in servers] == [3, 2]
