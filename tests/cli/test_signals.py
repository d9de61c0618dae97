"""Signals at every moment of a run: it ends with their code, and nothing is lost or half-written."""

import signal
from pathlib import Path
from typing import Any

import pytest

from excalibr._cli import signals
from excalibr._cli.rerank import inputs, parts
from excalibr._cli.rerank import job as jobs
from excalibr._cli.rerank.parts import Run
from tests.cli.reranking import before_call, last_line, names, nothing_half_written, outputs, run

pytestmark = pytest.mark.usefixtures("small_chunks")


STEPS: dict[str, tuple[Any, str, int]] = {
    "looking at the inputs": (inputs, "_digest", 2),
    "counting users": (jobs.Job, "scan", 1),
    "solving": (jobs, "_solve", 3),
    "keeping a part": (Run, "keep", 2),
    "putting a part in place": (parts, "atomic_write", 4),
    "writing the outputs": (Run, "_assemble", 1),
    "writing the second output": (Run, "_assemble", 2),
}
"""Moments of a run at which a signal may come: before the so manyth call of a function."""


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "stopped by SIGTERM")],
)
def test_a_signal_ends_the_run_with_its_code_and_nothing_is_lost(
    tmp_path: Path,
    given: list[str],
    whole: tuple[bytes, bytes],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    number: int,
    code: int,
    words: str,
) -> None:
    with monkeypatch.context() as stopped:
        before_call(stopped, *STEPS[step], lambda: signal.raise_signal(number))
        result = run(given)
    assert (result.exit_code, last_line(result)) == (code, f"excalibr: {words}. Go on with --resume.")
    assert nothing_half_written(tmp_path)
    assert run([*given, "--resume"]).exit_code == 0
    assert outputs(tmp_path) == whole


def test_a_signal_while_outputs_are_put_in_place_comes_too_late(
    tmp_path: Path, given: list[str], whole: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    before_call(monkeypatch, parts, "put_in_place", 2, lambda: signal.raise_signal(signal.SIGTERM))
    assert run(given).exit_code == 0
    assert outputs(tmp_path) == whole
    assert "slates.parquet.parts" not in names(tmp_path)


def test_a_system_error_of_an_interrupt_is_an_interrupt(
    tmp_path: Path, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What compiled code makes of an exception that a signal raised in its midst."""

    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        raise SystemError("returned a result with an exception set")

    before_call(monkeypatch, jobs, "_solve", 2, interrupted)
    result = run(given)
    assert (result.exit_code, last_line(result)) == (130, "excalibr: interrupted. Go on with --resume.")
    assert nothing_half_written(tmp_path)


def test_a_second_signal_does_not_wait() -> None:
    with signals.stoppable(lambda stop: None) as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.code == 143
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert stop.code == 130


def test_signals_that_were_ignored_stay_ignored_and_handlers_come_back() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.stoppable(lambda stop: None) as stop:
            signal.raise_signal(signal.SIGHUP)
            assert stop.signal is None
            assert signal.getsignal(signal.SIGINT) == stop.note
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGHUP, before)
