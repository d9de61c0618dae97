"""The page as a part of the application: its files at ``/`` and ``/page/…``, its questions at ``/explore/…``."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from excalibr.errors import ExcalibrError
from excalibr.service._body import BodyReader
from excalibr.service._failures import UNDECODABLE, RequestFailure, malformed, require_method, unavailable
from excalibr.service._page.about import about
from excalibr.service._page.choices import (
    Choices,
    FindRequest,
    PageRequest,
    PersonRequest,
    SampleRequest,
    field_of,
)
from excalibr.service._page.explored import Explored, PageSource, read_explored
from excalibr.service._page.files import SECURITY_HEADERS, file_reply
from excalibr.service._page.person import Person, person_of
from excalibr.service._page.prepared import Prepared, prepare
from excalibr.service._page.sample import SampleFigures, figures_of
from excalibr.service._page.settings import Settings, settings_of
from excalibr.service._reply import Reply

MOST_BYTES = 100_000
"""Bytes of a question of the page."""

CONCURRENT_SOLVES = 2
"""Pieces of the sample that are solved at the same time, each on all processors; a single user waits for none."""

REMEMBERED = 4
"""Choices whose checked questions of the sample are kept."""

MOST_FOUND = 20

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""What a browser on this machine calls it; another name would be another site's that points here."""

_encode = msgspec.json.Encoder().encode

Decode: TypeAlias = Callable[[bytes], Any]


class Page:
    """Answers what the page asks; until :meth:`load` has run, it has nothing to show.

    Parameters
    ----------
    source
        What is explored, or what reads it anew with each load.
    """

    def __init__(self, source: PageSource | Callable[[], PageSource]) -> None:
        self._source = source
        self.explored: Explored | None = None
        self._prepared: OrderedDict[bytes, Prepared] = OrderedDict()
        self._lock = threading.Lock()
        self._solving = threading.BoundedSemaphore(CONCURRENT_SOLVES)
        self._questions = self._all_questions()

    def load(self) -> None:
        """Read the tables and swap them in."""
        explored = read_explored(self._source if isinstance(self._source, PageSource) else self._source())
        with self._lock:
            self.explored, self._prepared = explored, OrderedDict()

    def answer(self, environ: Mapping[str, Any], path: str, bodies: BodyReader) -> Reply | None:
        """The answer to a request for one of the page's paths; None for other paths."""
        asked = self._questions.get(path)
        reply = file_reply(path) if asked is None else None
        if asked is None and reply is None:
            return None
        _check_host(environ)
        method = environ["REQUEST_METHOD"]
        if asked is None:
            require_method(method, "GET", "HEAD")
            return reply
        require_method(method, "POST")
        if not environ.get("CONTENT_TYPE", "").startswith("application/json"):
            raise RequestFailure(400, "The body must be of the type application/json.")
        decode, answer = asked
        return self._answered(decode, answer, bodies.read(environ, MOST_BYTES))

    def _all_questions(self) -> dict[str, tuple[Decode, Callable[[Explored, Any], Any]]]:
        """By path, what decodes a body and what answers it.

        Decoders are made before the first request: msgspec crashes where two threads are the first to meet a type.
        """
        questions: dict[str, tuple[Any, Callable[[Explored, Any], Any]]] = {
            "/explore/about": (dict[str, int], lambda explored, _: about(explored)),
            "/explore/sample": (SampleRequest, self._sample),
            "/explore/person": (PersonRequest, _person),
            "/explore/find": (FindRequest, _find),
            "/explore/settings": (PageRequest, _settings),
            "/explore/save": (PageRequest, self._save),
        }
        return {path: (msgspec.json.Decoder(kind).decode, answer) for path, (kind, answer) in questions.items()}

    def _answered(self, decode: Decode, answer: Callable[[Explored, Any], Any], body: bytes) -> Reply:
        explored = self.explored
        if explored is None:
            raise unavailable("The tables are being loaded")
        try:
            found = answer(explored, decode(body))
        except UNDECODABLE as error:
            raise malformed(error) from None
        except ExcalibrError as error:
            # What cannot be is an answer like any other: a code for it would be an error of the page's own.
            message = explored.named(str(error))
            found = RequestFailure(422, message, f"$.choices.{field_of(message)}").body()
        if isinstance(found, bytes):
            named = 'attachment; filename="excalibr.html"'
            return Reply(200, found, "text/html; charset=utf-8", Content_Disposition=named, **SECURITY_HEADERS)
        return Reply(200, _encode(found), **SECURITY_HEADERS)

    def prepared(self, explored: Explored, choices: Choices) -> Prepared:
        """The sample's questions at these choices, checked once for all aims; those of older tables are not kept."""
        key = _encode(choices)
        with self._lock:
            kept = self._prepared.get(key)
            if kept is not None and kept.explored is explored:
                self._prepared.move_to_end(key)
                return kept
        made = prepare(explored, choices, explored.sample)
        with self._lock:
            if explored is self.explored:
                self._prepared[key] = made
            while len(self._prepared) > REMEMBERED:
                self._prepared.popitem(last=False)
        return made

    def _sample(self, explored: Explored, asked: SampleRequest) -> SampleFigures:
        users = len(explored.sample)
        if not asked.first < asked.last <= users:
            raise RequestFailure(422, f"first and last must be within the sample of {users}.", "$.first")
        with self._solving:
            return figures_of(self.prepared(explored, asked.choices), asked.aim, asked.first, asked.last)

    def _save(self, explored: Explored, asked: PageRequest) -> bytes:
        from excalibr.service._page.saving import saved_page

        with self._solving:
            return saved_page(self, explored, asked.choices, asked.aim)


def _person(explored: Explored, asked: PersonRequest) -> Person:
    if asked.user >= len(explored.keys):
        raise RequestFailure(422, f"user must be below {len(explored.keys)}.", "$.user")
    return person_of(explored, asked.choices, asked.aim, asked.user)


def _settings(explored: Explored, asked: PageRequest) -> Settings:
    return settings_of(explored, asked.choices, asked.aim)


def _find(explored: Explored, asked: FindRequest) -> dict[str, Any]:
    """Those whose name is the text, then those that begin with it, then those that have it in them."""
    text = asked.text.strip().lower()
    if asked.what == "users":
        names: list[str] = [str(key) for key in explored.keys]
    else:
        names = explored.titles
    found = [number for number, name in enumerate(names) if text in name.lower()]
    found.sort(key=lambda number: (names[number].lower() != text, not names[number].lower().startswith(text)))
    return {"found": [{"number": number, "label": names[number]} for number in found[:MOST_FOUND]], "count": len(found)}


def _check_host(environ: Mapping[str, Any]) -> None:
    """Refuse other names: a page of another site could have its own name point to this machine."""
    given = environ.get("HTTP_HOST")
    if given is not None and given.rpartition(":")[0] not in LOOPBACK and given not in LOOPBACK:
        raise RequestFailure(403, "The page is for this machine: ask for it as localhost or 127.0.0.1.")
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and origin != f"http://{given}":
        raise RequestFailure(403, "The page answers only itself.")
