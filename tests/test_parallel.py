import io
import sys
import threading

import pytest

from excalibr._parallel import checked_threads, over_ranges, progress_bar


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_ranges_come_back_in_order_and_cover_everything(threads: int) -> None:
    ranges = list(over_ranges(lambda first, last: (first, last), 1000, threads))
    assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
    assert ranges[-1][1] == 1000


def test_ranges_do_not_depend_on_the_number_of_threads() -> None:
    assert list(over_ranges(lambda *each: each, 500, 1)) == list(over_ranges(lambda *each: each, 500, 3))


def test_an_error_in_a_thread_ends_the_loop_and_the_threads() -> None:
    def work(first: int, last: int) -> None:
        if first >= 128:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(over_ranges(work, 10_000, 2))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("excalibr")]


def test_progress_counts_everything() -> None:
    done: list[int] = []
    list(over_ranges(lambda *each: None, 300, 2, done.append))
    assert sum(done) == 300


def test_there_is_no_bar_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Working", 10) as advance:
        advance(10)
    assert capsys.readouterr() == ("", "")


def test_there_is_no_bar_where_standard_error_is_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with progress_bar("Working", 10) as advance:
        advance(10)
    assert capsys.readouterr().out == ""


def test_there_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("Working", 10) as advance:
        advance(10)
    assert "Working" in terminal.getvalue()


def test_threads_default_to_the_processors() -> None:
    assert checked_threads(None) >= 1


def test_a_loop_that_ends_early_cancels_what_is_under_way_before_it_waits() -> None:
    """The first range comes back; the others wait until they are cancelled, and so would the loop's end."""
    cancelled = threading.Event()
    ranges = over_ranges(lambda first, _: first == 0 or cancelled.wait(10.0), 10_000, 2, None, cancelled.set)
    assert next(ranges) is True
    assert not cancelled.is_set()
    ranges.close()  # type: ignore[attr-defined]
    assert cancelled.is_set()
