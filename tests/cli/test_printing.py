from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")

RED, YELLOW, PLAIN = "\033[31m", "\033[33m", "\033[0m"


def on_terminal(*command: str, **environment: str) -> tuple[str, int]:
    """What the command writes on a terminal, and its exit code."""
    ours, theirs = pty.openpty()
    own = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    done = subprocess.Popen(
        [sys.executable, "-c", "from excalibr._cli import main; main()", *command],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**own, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            read = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not read:
            break
        written += read
    os.close(ours)
    return written.decode().replace("\r\n", "\n"), done.wait()


def in_pipe(*command: str) -> tuple[str, str, int]:
    code = "from excalibr._cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
    return done.stdout, done.stderr, done.returncode


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("demo --user Adda", "excalibr: --user: is 'Adda', must be one of "),
        ("rerank", "excalibr: Missing argument 'candidates'. Hint: excalibr rerank --help says more."),
        ("demo -k many", "excalibr: Invalid value for "),
    ],
)
def test_an_error_is_one_line_red_on_a_terminal_and_plain_in_a_pipe(command: str, said: str) -> None:
    written, code = on_terminal(*command.split())
    assert (written.count("\n"), code) == (1, 2)
    assert written.startswith(f"{RED}{said}")
    assert written.endswith(f"{PLAIN}\n")
    assert in_pipe(*command.split()) == ("", written.removeprefix(RED).removesuffix(f"{PLAIN}\n") + "\n", 2)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_are_left_out_where_they_are_not_wanted(environment: dict[str, str]) -> None:
    assert on_terminal("reranc", **environment)[0] == "excalibr: No such command 'reranc'. Did you mean 'rerank'?\n"


def test_a_run_shows_how_fast_it_is_on_a_terminal_and_nothing_in_a_pipe(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = "".join(f"u{user},{item},{0.1 * item}\n" for user in range(9) for item in range(4))
    (tmp_path / "candidates.csv").write_text(f"user_id,item_id,score\n{rows}")
    (tmp_path / "items.csv").write_text("item_id,category\n0,a\n1,a\n2,b\n3,b\n")
    (tmp_path / "targets.csv").write_text("category,weight\na,1\nb,1\n")
    names = [str(tmp_path / f"{name}.csv") for name in ("candidates", "items", "targets", "out")]
    command = ["rerank", names[0], "--items", names[1], "--targets", names[2], "-o", names[3]]
    written, code = on_terminal(*command)
    assert code == 0
    assert "Re-ranking" in written
    assert f"{YELLOW}excalibr: warning: " in written  # as many slots as candidates
    assert "left" in written
    output, said, code = in_pipe(*command)
    assert (output, code) == ("", 0)
    assert "\033" not in said
    assert "9 users re-ranked" in said


def test_the_command_can_complete_itself_in_shells() -> None:
    code = "import os; os.environ['_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION'] = '1'\n"
    code += "from excalibr._cli import main; main()"
    run = [sys.executable, "-c", code, "--show-completion", "bash"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "complete" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_with_standard_error_full_the_work_is_done(tmp_path: Path) -> None:
    (tmp_path / "candidates.csv").write_text("user_id,item_id,score\n1,1,0.5\n1,2,0.4\n")
    (tmp_path / "items.csv").write_text("item_id,category\n1,a\n2,b\n")
    (tmp_path / "targets.csv").write_text("category,weight\na,1\nb,1\n")
    names = [str(tmp_path / f"{name}.csv") for name in ("candidates", "items", "targets", "out")]
    asked = ["rerank", names[0], "--items", names[1], "--targets", names[2], "-k", "1", "-o", names[3]]
    command = [sys.executable, "-c", "from excalibr._cli import main; main()", *asked]
    done = subprocess.run(["sh", "-c", 'exec "$@" 2>/dev/full', "sh", *command], check=False)
    assert done.returncode == 0
    assert (tmp_path / "out.csv").exists()


def test_with_standard_error_closed_nothing_is_said_and_the_exit_code_stays() -> None:
    command = [sys.executable, "-c", "from excalibr._cli import main; main()", "demo", "--user", "Adda"]
    done = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], stdout=subprocess.PIPE, check=False)
    assert (done.stdout, done.returncode) == (b"", 2)
