"""Blocks of a page, run one after the other: Python, commands of a console, profiles and requests of the service."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from tests.pages.blocks import ROOT, Block, blocks_of

OWN_EXTRAS = re.compile(r"excalibr(?:\[(.+)\])?")


def run_page(page: str, folder: Path, given: dict[str, Any] | None = None, needs: str | None = None) -> Session:
    """Run the blocks of a page that need no package, and the one that needs this; they print what the page shows."""
    session = Session(folder, dict(given or {}))
    for block in blocks_of(page):
        if block.not_run is None and block.needs in (None, needs):
            printed = session.run(block)
            shown = block.code if block.language == "console" else block.shown
            assert shown in (None, printed)
    return session


class Session:
    """What blocks leave for the next ones: names, files in a folder, a service with its last answer."""

    def __init__(self, folder: Path, names: dict[str, Any]) -> None:
        self.folder, self.names = folder, names
        self.service: Callable[[str, bytes], Any] | None = None
        self.answer: Any = None

    def run(self, block: Block) -> str:
        """Run a block and return what it prints; a console's block prints what its commands say, with the commands."""
        with contextlib.chdir(self.folder):
            return str(getattr(self, f"_{block.language}")(block.code) or "")

    def _python(self, code: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, self.names)
        return printed.getvalue()

    def _console(self, code: str) -> str:
        said = ""
        for command, shown in commands_of(code):
            words = words_of(command)
            printed = getattr(self, f"_{words[0]}")(words[1:])
            said += f"$ {command}\n" + (printed if shown else "")
        return said

    def _toml(self, code: str) -> None:
        Path("profiles.toml").write_text(code, encoding="utf-8")

    def _json(self, code: str) -> None:
        """A request is asked of the service; an answer with dots in it must have the last answer's keys and numbers."""
        with contextlib.suppress(json.JSONDecodeError):
            json.loads(code)
            self._ask("/rank/films", code)
            return
        missing = set(re.findall(r'"(\w+)":', code)) - set(re.findall(r'"(\w+)":', json.dumps(self.answer)))
        assert not missing, f"the answer has no {sorted(missing)}"
        for key, number in re.findall(r'"(\w+)": (\d[\d.]*)(?=[,}])', code):
            found = [float(each) for each in re.findall(rf'"{key}": (\d[\d.e-]*)', json.dumps(self.answer))]
            digits = len(number.partition(".")[2])
            assert key == "took" or float(number) in {round(each, digits) for each in found}, (key, number, found)

    def _excalibr(self, words: list[str]) -> str:
        told, arguments = io.StringIO(), [word for word in words if word != "&"]
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(told), self._serving():
            code = run_command(arguments)
        assert code == 0, told.getvalue()
        return told.getvalue()

    @contextlib.contextmanager
    def _serving(self) -> Iterator[None]:
        """A server would serve until it is stopped: here its application is made, and asked without a port."""
        with mock.patch("excalibr.service._server.serve", self._serve), mock.patch("webbrowser.open"):
            yield

    def _serve(self, server: Any) -> None:
        from excalibr.service import application
        from excalibr.service._page import Page
        from tests.service.client import Client

        if server.page is not None:
            Page(server.page).load()
            server.ready("http://127.0.0.1:8000/")
            return
        client = Client(application(server.profiles, limits=server.limits, token=server.token))
        bearer = {} if server.token is None else {"HTTP_AUTHORIZATION": f"Bearer {server.token}"}
        self.service = lambda path, body: client.post(path, body, **bearer)

    def _curl(self, words: list[str]) -> str:
        """As the pages call it: ``curl -s localhost:8000/path -d body``, or with ``-f`` until the server is ready."""
        *options, address, data, body = words
        assert options in (["-s"], ["-sf", "--retry", "5", "--retry-connrefused"])
        assert data == "-d"
        assert address.startswith("localhost:8000/")
        return json.dumps(self._ask(address.removeprefix("localhost:8000"), body))

    def _ask(self, path: str, body: str) -> Any:
        assert self.service is not None, "no server was started before"
        reply = self.service(path, body.encode())
        assert reply.code == 200, reply.body
        self.answer = reply.json
        return self.answer

    def _pip(self, words: list[str]) -> None:
        """Nothing is installed, but the extras must be there."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert words[0] == "install"
        for word in words[1:]:
            found = OWN_EXTRAS.fullmatch(word)
            assert found, word
            assert set((found[1] or "cli").split(",")) <= project["optional-dependencies"].keys()

    def _make(self, words: list[str]) -> None:
        """Nothing is made, but the target must be there."""
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(words) <= set(targets)


def run_command(arguments: list[str]) -> object:
    """The command ``excalibr`` in this process, and the code that it ends with."""
    from excalibr._cli import main

    with mock.patch.object(sys, "argv", ["excalibr", *arguments]):
        try:
            main()
        except SystemExit as ended:
            return ended.code
    return 0


def commands_of(code: str) -> list[tuple[str, str]]:
    """The commands of a console's block, which may go over several lines, each with what it says."""
    found: list[tuple[str, str]] = []
    for line in code.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line.removeprefix("$ ").rstrip("\n"), ""))
        elif _goes_on(found[-1][0]):
            found[-1] = (f"{found[-1][0]}\n{line}".rstrip("\n"), "")
        else:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def words_of(command: str) -> list[str]:
    """A command as a shell would split it, without its comment."""
    return shlex.split(command.replace("\\\n", " "), comments=True)


def _goes_on(command: str) -> bool:
    """Whether the next line belongs to the command: after a backslash, or inside quotes."""
    try:
        shlex.split(command)
    except ValueError:
        return True
    return False
