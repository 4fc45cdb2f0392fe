"""A new file is tried while what loads it is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.pipeline.load import load
from surplus.engine.trial import first_run
from surplus.engine.trial.forked_trial import ForkedTrial
from surplus.engine.trial.trial import TrialParams
from tests.pipeline.subject import Subject

QUICK: dict[str, Any] = {"devices": "cpu:2", "selection_s": 0}

_ASKED = """
import sys
import surplus
from surplus.engine.trial import servers

begin = servers.TrialServer.begin

def begun(server, question):
    print("loading" if "surplus.engine.pipeline.loading" in sys.modules else "nothing else")
    begin(server, question)

servers.TrialServer.begin = begun
surplus.load(sys.argv[1], cache=sys.argv[2], devices="cpu:2", tune=sys.argv[3])
"""


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[ForkedTrial]:
    """Those that were begun."""
    begun: list[ForkedTrial] = []

    class Kept(ForkedTrial):
        def __init__(self, path: Path, params: TrialParams) -> None:
            begun.append(self)
            super().__init__(path, params)

    monkeypatch.setattr(first_run, "ForkedTrial", Kept)
    return begun


def _said(*arguments: str) -> list[str]:
    command = [sys.executable, "-c", _ASKED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_its_first_run_begins_before_anything_else(subject: Subject) -> None:
    assert _said(str(subject.path), str(subject.cache), "background") == ["nothing else"]
    folder = subject.path.parent / "other cache"
    assert _said(str(subject.path), str(folder), "now") == ["loading"], "once its hash is known"


def test_it_is_tried_once(subject: Subject, trials: list[ForkedTrial]) -> None:
    load(subject.path, cache=subject.cache, inputs=subject.inputs, **QUICK, tune="background")
    (trial,) = trials
    assert trial._server is None, "it has ended"


def test_what_was_read_before_is_not_tried(subject: Subject, trials: list[ForkedTrial]) -> None:
    load(subject.path, cache=subject.cache, inputs=subject.inputs, **QUICK, tune="now")
    trials.clear()
    load(subject.path, cache=subject.cache, inputs=subject.inputs, **QUICK, tune="background")
    assert not trials


def test_one_that_nobody_asks_for_is_ended(subject: Subject, trials: list[ForkedTrial]) -> None:
    with first_run.begun_ahead(subject.path):
        assert trials[0]._server is not None
    assert trials[0]._server is None
    with first_run.harmless_at_first(subject.path):
        pass
    assert len(trials) == 2
