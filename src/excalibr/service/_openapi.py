"""The OpenAPI document, made from the same types that requests are checked by."""

from __future__ import annotations

from typing import Any

import msgspec

from excalibr import __version__
from excalibr.service._answers import Answer, BatchAnswer
from excalibr.service._requests import RankRequest

CODES = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    404: "There is no such profile.",
    405: "The method is not that of this path.",
    413: "The body, the items or the batch are more than the server takes.",
    422: "The body does not say what can be ranked; `path` says where.",
    503: "The server is loading, or has as many requests in flight as it takes: try again.",
}


class ErrorDetail(msgspec.Struct):
    """What is wrong, and where in the body."""

    code: int
    message: str
    path: str | None = None


class ErrorAnswer(msgspec.Struct):
    """The answer where there is no other."""

    error: ErrorDetail


class BatchBody(msgspec.Struct):
    """Several requests at once."""

    requests: list[RankRequest]


def openapi() -> dict[str, Any]:
    """The document that ``/openapi.json`` shows."""
    kinds = (RankRequest, Answer, BatchBody, BatchAnswer, ErrorAnswer)
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    request, answer, batch, batch_answer, error = schemas
    failures = {str(code): _content(text, error) for code, text in CODES.items()}
    name = {"name": "profile", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "excalibr serve",
            "version": __version__,
            "description": "Calibrated slates for requests in flight.",
        },
        "paths": {
            "/rank/{profile}": {
                "post": _operation("One slate.", request, answer, failures, [name]),
            },
            "/rank/{profile}/batch": {
                "post": _operation("Several slates at once.", batch, batch_answer, failures, [name]),
            },
            "/livez": {"get": _plain("Whether the process runs.")},
            "/readyz": {"get": _plain("Whether the profiles are loaded.", failures)},
            "/health": {"get": _plain("Both, with what is loaded.", failures)},
            "/profiles": {"get": _plain("The profiles and their options.", failures)},
            "/openapi.json": {"get": _plain("This document.", failures)},
            "/metrics": {"get": _plain("Counters for Prometheus.", failures, "text/plain")},
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(summary: str, body: Any, answer: Any, failures: Any, parameters: list[Any]) -> dict[str, Any]:
    return {
        "summary": summary,
        "parameters": parameters,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": _content(summary, answer), **failures},
    }


def _plain(summary: str, failures: dict[str, Any] | None = None, kind: str = "application/json") -> dict[str, Any]:
    some = {code: failures[code] for code in ("401", "503") if failures}
    return {"summary": summary, "responses": {"200": {"description": summary, "content": {kind: {}}}, **some}}


def _content(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
