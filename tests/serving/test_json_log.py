"""The log as lines of JSON."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from surplus.engine.serving.json_log import log_as_json
from surplus.engine.serving.say import say


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """The root logger's only handler writes JSON there."""
    written = io.StringIO()
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler(written)])
    log_as_json()
    yield written
    logging.captureWarnings(False)


def read(lines: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def test_a_record_is_an_object(lines: io.StringIO) -> None:
    logging.getLogger("surplus.x").warning("%d of\n%s", 3, "four", extra={"model": "vad"})
    (found,) = read(lines)
    assert found["message"] == "3 of\nfour"
    assert (found["level"], found["logger"], found["model"]) == ("warning", "surplus.x", "vad")
    assert found["time"].endswith("Z")
    assert isinstance(found["process"], int)


def test_what_was_raised_is_told(lines: io.StringIO) -> None:
    try:
        raise ValueError("no such lane")
    except ValueError:
        logging.getLogger("surplus.x").exception("it failed")
    assert read(lines)[0]["raised"].endswith("ValueError: no such lane")


def test_what_is_said_is_json_too(lines: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    say("vad:  serving\nversion 2")
    (found,) = read(lines)
    assert (found["message"], found["level"]) == ("vad: serving version 2", "info")
    assert capsys.readouterr().err == ""


def test_without_it_what_is_said_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    say("vad:  serving\nversion 2")
    assert capsys.readouterr().err == "vad: serving version 2\n"
