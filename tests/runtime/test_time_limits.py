"""No query outlasts its limit, its deadline or Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.errors import CancelledError, DeadlineError
from surplus.engine.native import open_session
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.values import to_value
from tests.loops import COUNT_TEXT, ENDLESS, counted
from tests.runtime.runtime_models import model_of, read_text

WAIT_S = 60
"""Before a test that would hang fails; what ends, ends within a second."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> PlannedModel:
    return model_of(read_text(COUNT_TEXT, tmp_path_factory.mktemp("count")), "cpu:2", whole=True)


def _submitted(model: PlannedModel, query: dict[str, Any]) -> Any:
    return model.submit(query).result()


WAYS: dict[str, Callable[[PlannedModel, dict[str, Any]], Any]] = {
    "run": PlannedModel.run,
    "careful": lambda model, query: model.run(query, outputs=["y"]),
    "traced": lambda model, query: model.run(query, traced=True),
    "submit": _submitted,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_plan_limits_its_queries(model: PlannedModel, way: str) -> None:
    assert WAYS[way](model, counted(3))["y"] == [3]  # so short that the caller computes
    model.native.limit_time(1_000_000)
    with pytest.raises(DeadlineError, match="longer than its limit of 1 ms"):
        WAYS[way](model, counted(ENDLESS))
    model.native.limit_time(0)
    assert WAYS[way](model, counted(3))["y"] == [3]


def test_a_deadline_ends_what_nobody_waits_for(model: PlannedModel) -> None:
    future = model.submit(counted(ENDLESS), deadline_ns=time.monotonic_ns() + 1_000_000)
    until_ns = time.monotonic_ns() + WAIT_S * 10**9
    while not future.done():
        assert time.monotonic_ns() < until_ns
    with pytest.raises(DeadlineError):
        future.result()


INTERRUPTED = """
import os, signal, sys, threading
sys.path[:0] = {path!r}
from pathlib import Path
from tests.loops import COUNT_TEXT, ENDLESS, counted
from tests.runtime.runtime_models import model_of, read_text
from surplus.engine.native import open_session
from surplus.engine.values import to_value

graph = read_text(COUNT_TEXT, Path({folder!r}))
model = model_of(graph, "cpu:2", whole=True)
session = open_session(str(graph.model_path))
values = {{name: to_value(array) for name, array in counted(ENDLESS).items()}}
model.run(counted(3))

threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(model.run(counted(5))["y"], flush=True)
"""

CALLS = {
    "run": "model.run(counted(ENDLESS))",
    "run with a timeout": "model.run(counted(ENDLESS), timeout_s=3600)",
    "result": "model.submit(counted(ENDLESS)).result()",
    "a session": "session.run(values)",
    "a session, timed": "session.time(values, 1, 1)",
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_call(call: str, tmp_path: Path) -> None:
    text = INTERRUPTED.format(path=sys.path, folder=str(tmp_path), call=CALLS[call])
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.stdout == "interrupted\n[5]\n", done.stderr
    assert done.returncode == 0


def test_a_signal_whose_handler_does_not_raise_changes_no_answer(tmp_path: Path) -> None:
    handler = "import signal; signal.signal(signal.SIGINT, lambda *_: print('heard', flush=True))\n"
    text = handler + INTERRUPTED.format(
        path=sys.path, folder=str(tmp_path), call="print(model.run(counted(3_000_000))['y'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.stdout == "heard\n[3000000]\n[5]\n", done.stderr


def test_calls_of_a_thread_end_at_its_limit(model: PlannedModel) -> None:
    from surplus.engine import _core

    session = open_session(str(model.graph.model_path))
    values = {name: to_value(array) for name, array in counted(ENDLESS).items()}
    before = _core.limit_calls(time.monotonic_ns() + 1_000_000)
    try:
        for _ in range(2):  # the second one is too late from the start
            with pytest.raises(RuntimeError, match="terminate"):
                session.run(values)
            with pytest.raises((DeadlineError, CancelledError)):
                model.run(counted(ENDLESS))
    finally:
        assert _core.limit_calls(before) != 0
    assert model.run(counted(3))["y"] == [3]
