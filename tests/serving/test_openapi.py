"""The OpenAPI document of the REST API is what the server does."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.errors
import pytest

from bench.safety.attack_server import Attacked
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.descriptions import ServerIdentity
from surplus.engine.serving.http_face import HttpFace

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
EXAMPLES = 15
LONGEST_S = 70
"""Whoever asks for the next query may be kept for a minute."""
CHECKS = (
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return found


def test_every_route_says_what_who_may_not_ask_gets() -> None:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            assert {"401", "403"} <= set(operation["responses"]), f"{method} {path}"


def test_every_route_is_in_the_document_and_no_other() -> None:
    face = HttpFace(DataPlane(), ServerIdentity("x"), 1)
    described = {
        (method.upper(), path)
        for path, methods in document()["paths"].items()
        for method in methods
    }
    assert described == face.paths


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with Attacked(tmp_path_factory.mktemp("described"), "1GiB", ()) as attacked:
        yield attacked


def operations() -> list[tuple[str, str]]:
    return [(path, method) for path, methods in document()["paths"].items() for method in methods]


def of_this_server() -> dict[str, Any]:
    """The document with names that are there, and some that are not; hardly anybody waits."""
    found = document()
    names = {"name": ["identity", "zeros", "none"], "version": ["1", "9"]}
    for methods in found["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    parameter["schema"] = {"type": "string", "enum": names[parameter["name"]]}
                elif parameter["name"] == "next_s":
                    parameter["schema"]["maximum"] = 0.1
    return found


@pytest.mark.parametrize(("path", "method"), operations())
def test_answers_are_as_described(path: str, method: str, server: Attacked) -> None:
    """Of what fits the document, and of what does not: schemathesis makes both."""
    schemathesis = pytest.importorskip("schemathesis", reason="make test-openapi installs it")
    found = importlib.import_module("schemathesis.specs.openapi.checks")
    checks = [getattr(found, name) for name in CHECKS]
    operation = schemathesis.openapi.from_dict(of_this_server())[path][method.upper()]
    for mode in schemathesis.GenerationMode:

        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        @hypothesis.settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        def is_as_described(case: Any) -> None:
            answer = case.call(base_url=f"http://{server.target.http}", timeout=LONGEST_S)
            case.validate_response(answer, checks=checks)
            assert server.is_alive

        with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # all fits where nothing is sent
            is_as_described()
