"""The document describes what the service takes: no request that is made from it finds a fault."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from excalibr.service import Limits, application
from tests.service.client import Client, write_profiles
from tests.tables.invented import invented_tables

schemathesis: Any = pytest.importorskip("schemathesis", reason="schemathesis is not installed: the extra dev has it")

EXAMPLES = int(os.environ.get("EXCALIBR_API_EXAMPLES", "40"))
"""Requests for each of the two paths that take a body; `EXCALIBR_API_EXAMPLES=10000` for a night."""

SERVICE = application(limits=Limits(max_items=200, max_batch=5))
SCHEMA = schemathesis.openapi.from_wsgi("/openapi.json", SERVICE)


@SCHEMA.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_that_the_document_allows_finds_a_fault(case: Any) -> None:
    case.path_parameters = {"profile": "demo"} if case.path_parameters else case.path_parameters
    response = case.call()
    assert response.status_code != 500
    assert response.status_code in (200, 400, 401, 404, 405, 413, 422, 503)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    tables, folder = invented_tables(users=4), tmp_path_factory.mktemp("profiles")
    return Client(application(write_profiles(folder, tables, 'history = "history.parquet"\nk = 5')))


def test_the_document_is_complete(client: Client) -> None:
    document = client.get("/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        *("/rank/{profile}", "/rank/{profile}/batch", "/livez", "/readyz", "/health", "/profiles", "/openapi.json"),
        "/metrics",
    }
    used = set(_references(document))
    assert used == {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}


def test_the_guide_names_every_field_code_metric_and_option() -> None:
    guide = (Path(__file__).parent.parent.parent / "docs" / "serve.md").read_text(encoding="utf-8")
    document = Client(SERVICE).get("/openapi.json").json
    fields = document["components"]["schemas"]["RankRequest"]["properties"]
    assert [name for name in fields if f"`{name}`" not in guide] == []
    codes = {code for path in document["paths"].values() for each in path.values() for code in each["responses"]}
    assert [code for code in codes - {"200"} if code not in guide] == []
    page = Client(SERVICE).get("/metrics").body.decode()
    names = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE") and "_created" not in line}
    assert [name for name in names if name not in guide] == []


def _references(document: Any) -> list[str]:
    if isinstance(document, dict):
        own = [document["$ref"]] if "$ref" in document else []
        return own + [each for value in document.values() for each in _references(value)]
    return [each for value in document for each in _references(value)] if isinstance(document, list) else []


def test_the_document_is_json(client: Client) -> None:
    assert json.loads(client.get("/openapi.json").body)["info"]["title"] == "excalibr serve"
