"""The WSGI application: paths, codes, limits and counting around the ranking."""

from __future__ import annotations

import hmac
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from excalibr._problem import Status
from excalibr.errors import ExcalibrError, InputError, unknown_name
from excalibr.service._answers import Answer, BatchAnswer, answer_of
from excalibr.service._body import BodyReader
from excalibr.service._candidates import read_given
from excalibr.service._failures import UNDECODABLE, RequestFailure, malformed, require_method, unavailable
from excalibr.service._fast_path import answer_of_encoded, fast_slate
from excalibr.service._limits import FairSemaphore, Gate, Limits
from excalibr.service._logging import FORMATS, Log
from excalibr.service._metrics import Metrics
from excalibr.service._openapi import openapi
from excalibr.service._profiles import Profile, read_profiles
from excalibr.service._ranking import options_for, rank
from excalibr.service._reply import Reply
from excalibr.service._requests import RankRequest, decode_batch, decode_rank
from excalibr.service._targets import read_target_of

if TYPE_CHECKING:
    from excalibr.service._page import Page

REASONS = {
    200: "200 OK",
    204: "204 No Content",
    400: "400 Bad Request",
    401: "401 Unauthorized",
    403: "403 Forbidden",
    404: "404 Not Found",
    405: "405 Method Not Allowed",
    413: "413 Content Too Large",
    422: "422 Unprocessable Content",
    500: "500 Internal Server Error",
    503: "503 Service Unavailable",
}

_LISTS = ("items", "history", "shown", "pinned", "categories")
_lists_of = attrgetter(*_LISTS)
_encode = msgspec.json.Encoder().encode


def application(
    profiles: str | Path | Mapping[str, Any] | None = None,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    log: str = "off",
    cors: str | None = None,
) -> Application:
    """The service with its profiles loaded, for any WSGI server.

    Parameters
    ----------
    profiles
        A TOML file, the same as a mapping, or None for the invented catalogue.
    limits
        The most that requests may have.
    token
        The bearer token that requests must have, one word of ASCII; None asks for none.
    log
        One line per request on standard error: "off", "text" or "json".
    cors
        The origin that browsers may ask from.

    Returns
    -------
    Application
        A WSGI callable, with the ``profiles`` by name.

    Raises
    ------
    InputError
        As for :func:`read_profiles`; and where the token or the form of the log is not valid.

    Examples
    --------
    >>> from excalibr.service import application
    >>> service = application()
    >>> sorted(service.profiles)
    ['demo']
    """
    if log not in FORMATS:
        raise unknown_name("log", log, FORMATS)
    if token is not None and (not token.isascii() or token.split() != [token]):
        raise InputError("token", "is no bearer token", "be one word of ASCII, or None")
    made = Application(profiles, limits=limits, token=token, log=Log(log), cors=cors)
    made.load()
    return made


class Application:
    """The service; until :meth:`load` has run, ranks and ``/readyz`` answer 503.

    Parameters as for :func:`application`.
    """

    def __init__(
        self,
        source: str | Path | Mapping[str, Any] | None,
        *,
        limits: Limits | None = None,
        token: str | None = None,
        log: Log | None = None,
        cors: str | None = None,
        reload: Callable[[], None] | None = None,
        all_ready: Callable[[], bool] | None = None,
        page: Page | None = None,
    ) -> None:
        self.source = source
        self.limits = limits or Limits()
        self.log = log or Log()
        self.profiles: dict[str, Profile] | None = None
        self._gate, self._working = Gate(self.limits.backpressure), FairSemaphore(self.limits.threads)
        self.bodies = BodyReader(self.limits.max_body, self.limits.readers)
        self.metrics = Metrics(lambda: self._gate.inside)
        self._token = None if token is None else token.encode()
        self._cors = cors
        self._reload = reload
        self._all_ready = all_ready
        self.page = page
        self._loading = threading.Lock()
        self._document = _encode(openapi())

    def load(self) -> None:
        """Read the profiles, all of them or none, and swap them in; what is under way goes on with the old ones."""
        with self._loading:
            profiles = read_profiles(self.source)
            if self.page is not None:
                self.page.load()
            self.profiles = profiles

    def reload(self) -> bool:
        """The same where bad files leave the profiles as they are; whether the new ones are in."""
        start = time.perf_counter()
        try:
            self.load()
        except Exception as error:  # files may hold anything, and a fault of ours must not end the reloads either
            self.log.event("reload failed", error=reason_of(error), kept=self.profiles is not None)
            return False
        self.log.event("loaded", profiles=",".join(self.profiles or ()), seconds=round(time.perf_counter() - start, 3))
        return True

    def __call__(self, environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, as WSGI asks it."""
        try:
            reply = self._answered(environ)
        finally:
            self.bodies.answered()
        if self._cors is not None:
            reply.headers += _cors_headers(self._cors)
        start_response(REASONS[reply.code], reply.headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [reply.body]

    def _answered(self, environ: Mapping[str, Any]) -> Reply:
        start = time.perf_counter()
        method, path = environ["REQUEST_METHOD"], _path(environ)
        name, details = "", dict[str, Any]()
        try:
            if method == "OPTIONS" and self._cors is not None:  # what a browser asks first, without a token
                reply = Reply(204, b"")
            elif path.startswith("/rank/"):
                name, batch = _split(path)
                reply, details = self._rank(environ, name, batch, start)
            else:
                reply = self._other(environ, method, path)
        except RequestFailure as failure:
            reply = _refusal(failure)
        except Exception as error:
            reply = _refusal(self._fault(path, error))
        seconds = time.perf_counter() - start
        if name:
            known = name if self.profiles is not None and name in self.profiles else ""
            self.metrics.count_request(known, reply.code, seconds)
        if self.log.form != "off":
            took = round(1000 * seconds, 3)
            self.log.request(method=method, path=path, code=reply.code, took=took, **details)
        return reply

    def _fault(self, path: str, error: Exception) -> RequestFailure:
        """A fault of ours: the client is told that it is, and the log what it was."""
        self.log.event("fault", path=path, error=reason_of(error))
        return RequestFailure(500, "The server made a mistake, which its log describes.")

    def _rank(self, environ: Mapping[str, Any], name: str, batch: bool, start: float) -> tuple[Reply, dict[str, Any]]:
        self._check_token(environ)
        require_method(environ["REQUEST_METHOD"], "POST")
        profile = self._profile(name)
        self._gate.refuse_if_full()
        body = self.bodies.read(environ)
        with self._gate, self._working:
            if batch:
                return self._batch(profile, body, start)
            answer, shown = self._one(profile, body, start)
            return Reply(200, _encode(answer)), _log_fields(answer, shown)

    def _one(self, profile: Profile, body: bytes | msgspec.Raw, start: float) -> tuple[Answer, int]:
        """The answer to one body, and how many items it shows of those that were ranked."""
        try:
            request = decode_rank(body)
        except UNDECODABLE as error:
            raise malformed(error) from None
        self._check_sizes(request)
        user = request.user
        if user is not None and profile.user_ids is not None:
            user = profile.user_ids.read(user, "$.user")
        wanted, asked = read_target_of(request, profile, user), options_for(profile, request)
        named = request.session if user is None else user
        slate = fast_slate(profile, asked, request, wanted, named, alone=self.limits.threads == 1)
        if slate is not None:
            answer = answer_of_encoded(profile, request, slate, _milliseconds_since(start))
            shown, seconds = slate.slots, slate.seconds
        else:
            given = read_given(request, profile)
            ranked = rank(profile, asked, request, given, wanted, named)
            answer = answer_of(profile, request, given, ranked, named, _milliseconds_since(start))
            policy = ranked.policy
            shown = 0 if policy is None else policy.problem.k
            seconds = math.nan if policy is None or policy.info is None else policy.info.seconds
        self.metrics.count_slate(profile.name, seconds, answer.policy.gap, wanted.status != Status.NO_TARGET)
        return answer, shown

    def _batch(self, profile: Profile, body: bytes, start: float) -> tuple[Reply, dict[str, Any]]:
        """The answers to several; one that cannot be answered has its error in its place."""
        try:
            asked = decode_batch(body).requests
        except UNDECODABLE as error:
            raise malformed(error) from None
        if len(asked) > self.limits.max_batch:
            raise RequestFailure(
                413, f"There are {len(asked)} requests, must be at most {self.limits.max_batch}.", "$.requests"
            )
        answers: list[Answer | dict[str, Any]] = []
        for number, each in enumerate(asked):
            try:
                answers.append(self._one(profile, each, time.perf_counter())[0])
            except Exception as error:
                failure = (
                    error if isinstance(error, RequestFailure) else self._fault(f"/rank/{profile.name}/batch", error)
                )
                failure.path = f"$.requests[{number}]{(failure.path or '$')[1:]}"
                answers.append(failure.body())
        took = _milliseconds_since(start)
        failed = sum(isinstance(each, dict) for each in answers)
        return Reply(200, _encode(BatchAnswer(answers, took))), {"requests": len(asked), "failed": failed}

    def _check_sizes(self, request: RankRequest) -> None:
        most = self.limits.max_items
        for name, given in zip(_LISTS, _lists_of(request), strict=True):
            if given is not None and len(given) > most:
                raise RequestFailure(413, f"There are {len(given)} of `{name}`, must be at most {most}.", f"$.{name}")

    def _profile(self, name: str) -> Profile:
        profiles = self._loaded()
        found = profiles.get(name)
        if found is None:
            raise RequestFailure(404, f"There is no profile {name!r:.80}; there are {sorted(profiles)}.")
        return found

    def _loaded(self) -> dict[str, Profile]:
        if self.profiles is None:
            raise unavailable("The profiles are being loaded")
        return self.profiles

    def _check_token(self, environ: Mapping[str, Any]) -> None:
        if self._token is None:
            return
        scheme, _, given = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("utf-8", "surrogatepass"), self._token)
        if scheme.lower() != "bearer" or not same:
            must = "The request must have the server's token: `Authorization: Bearer …`."
            raise RequestFailure(401, must, WWW_Authenticate="Bearer")

    def _other(self, environ: Mapping[str, Any], method: str, path: str) -> Reply:
        """Everything but ranks."""
        if path == "/livez":
            require_method(method, "GET", "HEAD")
            return Reply(200, b'{"alive":true}')
        self._check_token(environ)
        if path == "/reload" and self._reload is not None:
            require_method(method, "POST")
            self._reload()
            return Reply(200, b'{"reload":"asked for"}')
        found = None if self.page is None else self.page.answer(environ, path, self.bodies)
        if found is not None:
            return found
        if path not in ("/readyz", "/health", "/profiles", "/openapi.json", "/metrics"):
            raise RequestFailure(404, f"There is no path {path!r:.80}; /openapi.json lists all that there are.")
        require_method(method, "GET", "HEAD")
        if path == "/openapi.json":
            return Reply(200, self._document)
        if path == "/metrics":
            return Reply(200, self.metrics.page(), Metrics.content_type)
        profiles = self._loaded()
        if path == "/profiles":
            return Reply(200, _encode({"profiles": [each.described() for each in profiles.values()]}))
        if self._all_ready is not None and not self._all_ready():
            raise unavailable("Another worker is still loading")
        return Reply(200, _encode({"ready": True, "profiles": sorted(profiles), "in_flight": self._gate.inside}))


def _path(environ: Mapping[str, Any]) -> str:
    """The path as text: WSGI has each of its bytes as a letter."""
    return str(environ.get("PATH_INFO") or "/").encode("latin-1", "replace").decode("utf-8", "replace")


def reason_of(error: Exception) -> str:
    """What the log says of an error: its message, and what it is where the message is not for a reader."""
    return str(error) if isinstance(error, (ExcalibrError, OSError)) else f"{type(error).__name__}: {error}"


def _split(path: str) -> tuple[str, bool]:
    """The profile's name, and whether a batch is asked for."""
    name, _, rest = path[len("/rank/") :].partition("/")
    if not name or rest not in ("", "batch") or path.endswith("/"):
        raise RequestFailure(404, f"There is no path {path!r:.80}; /openapi.json lists all that there are.")
    return name, rest == "batch"


def _milliseconds_since(start: float) -> float:
    return round(1000 * (time.perf_counter() - start), 3)


def _refusal(failure: RequestFailure) -> Reply:
    return Reply(failure.code, _encode(failure.body()), **failure.headers)


def _log_fields(answer: Answer, shown: int) -> dict[str, Any]:
    """What the log says of an answer: no score, no id but the request's own."""
    return {"id": answer.id, "status": answer.policy.status, "items": shown}


def _cors_headers(origin: str) -> list[tuple[str, str]]:
    return [
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Allow-Headers", "Authorization, Content-Type"),
        ("Access-Control-Allow-Methods", "GET, POST"),
        ("Vary", "Origin"),
    ]
