"""Trials are forks of a process that has ONNX Runtime loaded."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from surplus import models
from surplus.engine.trial import forked_trial
from surplus.engine.trial.forked_trial import ForkedTrial
from surplus.engine.trial.servers import TrialServer, TrialServers
from surplus.engine.trial.trial import TrialEnd, TrialParams, TrialVerdict
from tests.trial import fatal_models


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[TrialServers]:
    made = TrialServers()
    monkeypatch.setattr(forked_trial, "SERVERS", made)
    yield made
    made.end()


@pytest.fixture
def harmless(tmp_path: Path) -> Path:
    return models.save(models.build("fork_join", branches=2, depth=1, size=4), tmp_path / "f.onnx")


def tried(path: Path, params: TrialParams) -> TrialVerdict:
    return ForkedTrial(path, params).verdict()


def _idle(servers: TrialServers) -> TrialServer:
    (server,) = servers._idle
    return server


def test_one_process_forks_for_all_trials(
    servers: TrialServers, harmless: Path, tmp_path: Path
) -> None:
    assert tried(harmless, TrialParams()).end is TrialEnd.OK
    first = _idle(servers)
    status = Path(f"/proc/{first._process.pid}/status").read_text()
    assert "\nThreads:\t1\n" in status, "else its forks would not be sound"
    (tmp_path / "ended 5").write_bytes(b"")
    assert tried(tmp_path / "ended 5", TrialParams()).end is TrialEnd.ERROR
    assert tried(large(tmp_path / "large.onnx"), TrialParams()).end is TrialEnd.OK
    assert tried(harmless, TrialParams()).end is TrialEnd.OK
    assert _idle(servers) is first


def test_a_process_ends_with_a_fork_that_crashed(
    servers: TrialServers, harmless: Path, tmp_path: Path
) -> None:
    assert tried(harmless, TrialParams()).end is TrialEnd.OK
    first = _idle(servers)
    fatal = tried(fatal_models.fatal_at_once(tmp_path / "fatal.onnx"), TrialParams())
    assert (fatal.end, fatal.opened) == (TrialEnd.SIGNAL, True)
    assert tried(harmless, TrialParams()).end is TrialEnd.OK
    assert _idle(servers) is not first


def test_a_server_that_ended_is_replaced(servers: TrialServers, harmless: Path) -> None:
    assert tried(harmless, TrialParams()).end is TrialEnd.OK
    first = _idle(servers)
    os.kill(first._process.pid, signal.SIGKILL)
    first._process.wait()
    assert tried(harmless, TrialParams()).end is TrialEnd.OK
    assert _idle(servers) is not first


def test_a_process_that_survives_does_the_next_trial(
    servers: TrialServers, harmless: Path, tmp_path: Path
) -> None:
    def was_used(path: Path) -> bool:
        tried(path, TrialParams())
        return _idle(servers)._said.startswith(b'["used"')

    assert [was_used(harmless) for _ in range(3)] == [False, True, True]
    assert not was_used(fatal_models.fatal_at_once(tmp_path / "fatal.onnx")), "tried again alone"
    assert not was_used(large(tmp_path / "large.onnx"))
    assert not was_used(harmless), "it had become large"


def large(path: Path) -> Path:
    """A model that makes 320 MB of zeros."""
    helper = onnx.helper
    size = onnx.numpy_helper.from_array(np.array([80_000_000], np.int64), "size")
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["zeros"]),
        helper.make_node("ReduceMax", ["zeros"], ["zero"], keepdims=0),
        helper.make_node("Add", ["x", "zero"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, 1, [2]) for name in "xy"]
    graph = helper.make_graph(nodes, "large", ends[:1], ends[1:], [size])
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


class Scripted(TrialServer):
    """Says what it was told to."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def begin(self, question: bytes) -> None:
        self._said = self._text

    def end(self) -> None:
        self._said = b""

    def hear(self, until: re.Pattern[bytes], end_s: float | None) -> re.Match[bytes]:
        found = until.search(self._said)
        assert found is not None
        return found


@pytest.mark.parametrize("then", [TrialEnd.OK, TrialEnd.SIGNAL])
def test_a_model_pays_for_no_other_one(
    servers: TrialServers, harmless: Path, monkeypatch: pytest.MonkeyPatch, then: TrialEnd
) -> None:
    """What ends a process in which another model ran before is tried again in a fresh one."""
    used, alone = b'["used", ""]\nended -11\n', b"ended -11\n"
    if then is TrialEnd.OK:
        alone = b'["opened", ""]\n["ok", ""]\nended 0\n'
    texts = iter((used, alone))
    monkeypatch.setattr(servers, "_taken", lambda: Scripted(next(texts)))
    monkeypatch.setattr(servers, "give_back", lambda server: None)
    assert tried(harmless, TrialParams()).end is then


def test_a_trial_without_end_takes_its_server_along(servers: TrialServers, harmless: Path) -> None:
    assert tried(harmless, TrialParams(limit_s=1e-6)).end is TrialEnd.TIME
    assert not servers._idle


def test_the_model_may_be_opened_beside_its_run(servers: TrialServers, harmless: Path) -> None:
    begun = ForkedTrial(harmless, TrialParams())
    assert begun.read()
    assert begun.opened()
    assert begun.verdict().end is TrialEnd.OK
    missing = ForkedTrial(harmless.with_name("none.onnx"), TrialParams())
    assert not missing.read()
    assert not missing.opened()
    missing.end()


def test_a_server_may_be_started_before_it_is_asked(servers: TrialServers, harmless: Path) -> None:
    servers.start()
    servers.start()
    first = _idle(servers)
    assert tried(harmless, TrialParams()).end is TrialEnd.OK
    assert _idle(servers) is first


def test_the_limit_may_be_known_later(servers: TrialServers, harmless: Path) -> None:
    begun = ForkedTrial(harmless, TrialParams())
    begun.limit(1e-6)
    assert begun.verdict().end is TrialEnd.TIME
