"""The child that tried a new file answers queries until its parent has opened the model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import surplus
from surplus.engine import _core
from surplus.engine.errors import DeadlineError, ExecutionError, ModelError
from surplus.engine.native import open_session
from surplus.engine.trial import first_run, servers
from surplus.engine.trial.servers import TrialServer, TrialServers
from surplus.engine.values import from_value, to_value
from tests.trial import fatal_models

WAIT_S = 30.0
X = np.array([1.5, -2.0], np.float32)


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[TrialServer]]:
    """Processes whose forks stand in."""
    own = TrialServers()
    monkeypatch.setattr(servers, "SERVERS", own)
    monkeypatch.setattr("surplus.engine.trial.forked_trial.SERVERS", own)
    monkeypatch.setattr(first_run, "SERVERS", own)
    yield own._lent
    own.end()


@pytest.fixture
def loaded(tmp_path: Path, lent: list[TrialServer]) -> Callable[..., surplus.Model]:
    """Loads a new file as a user does who sets nothing."""

    def load(path: Path, **options: Any) -> surplus.Model:
        return surplus.load(path, cache=tmp_path / "cache", tune="background", **options)

    return load


def graph(path: Path, nodes: list[onnx.NodeProto], elem_type: int = 1, **sizes: int) -> Path:
    helper = onnx.helper
    ends = [helper.make_tensor_value_info(name, elem_type, [sizes.get(name, 2)]) for name in "xy"]
    made = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(made, opset_imports=opsets, ir_version=9), path)
    return path


@pytest.fixture
def softmax(tmp_path: Path) -> Path:
    return graph(tmp_path / "s.onnx", [onnx.helper.make_node("Softmax", ["x"], ["y"])])


def until(holds: Callable[[], bool]) -> None:
    end_s = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end_s, "it never holds"
        time.sleep(0.01)


def ended(server: TrialServer) -> bool:
    return not server.is_alive


def expected(path: Path) -> Any:
    (y,) = open_session(str(path), width=_core.available_cores()).run({"x": to_value(X, 1)})
    return from_value(y)


def forked(server: TrialServer) -> int:
    """The process that stands in."""
    pid = server._process.pid
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def test_first_queries_are_answered_by_the_child(
    loaded: Callable[..., surplus.Model], lent: list[TrialServer], softmax: Path
) -> None:
    model = loaded(softmax)
    (server,) = lent
    answers = []
    while server.is_alive:
        answers.append(model.run({"x": X})["y"])
        time.sleep(0.005)  # to open the model meanwhile takes a core, too
    answers.append(model.run({"x": X})["y"])
    assert len(answers) > 1
    for answer in answers:
        np.testing.assert_array_equal(answer, expected(softmax))


def test_the_child_ends_where_nobody_asks(
    loaded: Callable[..., surplus.Model], lent: list[TrialServer], softmax: Path
) -> None:
    model = loaded(softmax)
    until(lambda: ended(lent[0]))
    np.testing.assert_array_equal(model.run({"x": X})["y"], expected(softmax))


def test_the_child_ends_with_the_model(
    loaded: Callable[..., surplus.Model], lent: list[TrialServer], softmax: Path
) -> None:
    model = loaded(softmax)
    child = forked(lent[0])
    os.kill(child, signal.SIGSTOP)
    del model
    os.kill(child, signal.SIGCONT)
    until(lambda: ended(lent[0]))


@pytest.mark.parametrize("way", ["submit", "traced", "outputs"])
def test_every_way_of_asking_is_answered(
    loaded: Callable[..., surplus.Model], softmax: Path, way: str
) -> None:
    model = loaded(softmax)
    if way == "submit":
        answer = model.submit({"x": X}).result()
    elif way == "traced":
        answer = model.run({"x": X}, traced=True)
        assert len(model.timeline().spans) == 1
    else:
        answer = model.run({"x": X}, outputs=["y"])
    np.testing.assert_array_equal(answer["y"], expected(softmax))


def test_a_query_that_the_child_does_not_survive_fails_alone(
    loaded: Callable[..., surplus.Model], lent: list[TrialServer], softmax: Path
) -> None:
    model = loaded(softmax)
    os.kill(forked(lent[0]), signal.SIGKILL)
    with pytest.raises(ExecutionError, match="the other process has ended"):
        model.run({"x": X})
    np.testing.assert_array_equal(model.run({"x": X})["y"], expected(softmax))


def test_a_deadline_holds_while_the_child_answers(
    loaded: Callable[..., surplus.Model], lent: list[TrialServer], softmax: Path
) -> None:
    model = loaded(softmax)
    os.kill(forked(lent[0]), signal.SIGSTOP)
    with pytest.raises(DeadlineError):
        model.run({"x": X}, timeout_s=0.05)
    np.testing.assert_array_equal(model.run({"x": X}, timeout_s=WAIT_S)["y"], expected(softmax))


def test_what_a_kernel_says_reads_the_same(
    loaded: Callable[..., surplus.Model], lent: list[TrialServer], tmp_path: Path
) -> None:
    helper = onnx.helper
    table = helper.make_tensor("table", 7, [3], [5, 6, 7])
    nodes = [
        helper.make_node("Constant", [], ["table"], value=table),
        helper.make_node("Gather", ["table", "x"], ["y"]),
    ]
    model = loaded(graph(tmp_path / "gather.onnx", nodes, elem_type=7))
    beyond = {"x": np.array([0, 9])}
    (server,) = lent
    with pytest.raises(ExecutionError) as of_child:
        model.run(beyond)
    assert server.is_alive
    until(lambda: ended(server))
    with pytest.raises(ExecutionError) as own:
        model.run(beyond)
    assert str(of_child.value) == str(own.value)


def test_strings_are_this_processs_own(
    loaded: Callable[..., surplus.Model], lent: list[TrialServer], tmp_path: Path
) -> None:
    path = graph(
        tmp_path / "t.onnx", [onnx.helper.make_node("Identity", ["x"], ["y"])], elem_type=8
    )
    model = loaded(path)
    text = np.array(["a", "bc"], object)
    np.testing.assert_array_equal(model.run({"x": text})["y"], text)


def test_one_that_kills_its_process_is_refused_when_it_is_loaded(
    loaded: Callable[..., surplus.Model], lent: list[TrialServer], tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="for the first time"):
        loaded(fatal_models.fatal_at_once(tmp_path / "fatal.onnx"))
    assert not lent


def test_another_width_is_opened_here(
    loaded: Callable[..., surplus.Model],
    lent: list[TrialServer],
    softmax: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = first_run._standing_in
    monkeypatch.setattr(first_run, "_standing_in", lambda width: made(width + 1))
    model = loaded(softmax)
    until(lambda: ended(lent[0]))
    np.testing.assert_array_equal(model.run({"x": X})["y"], expected(softmax))


_ENDS = """
import os, sys
import numpy as np
import surplus

model = surplus.load(sys.argv[1], cache=sys.argv[2], tune="background")
print(model.run({"x": np.zeros(2, np.float32)})["y"][0])
if sys.argv[3] == "forked":
    child = os.fork()
    if child == 0:
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
if sys.argv[3] == "opening":
    import time
    time.sleep(0.1)
"""


@pytest.mark.parametrize(
    ("how", "said"), [("", "0.5"), ("forked", "0.5 7"), *[("opening", "0.5")] * 3]
)
def test_a_process_ends_as_if_it_had_opened_the_model(
    softmax: Path, tmp_path: Path, how: str, said: str
) -> None:
    command = [sys.executable, "-c", _ENDS, str(softmax), str(tmp_path / "cache"), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert (done.returncode, done.stderr, done.stdout.split()) == (0, "", said.split())


def test_a_socket_whose_other_end_is_closed_is_refused(softmax: Path) -> None:
    ours, other = _core.socket_pair()
    os.close(other)
    with pytest.raises(RuntimeError, match="the other process has ended"):
        _core.WholeModel(str(softmax), 1, stand_in=ours)


def test_sessions_say_what_they_take_and_give(softmax: Path) -> None:
    ours, other = _core.socket_pair()
    session = open_session(str(softmax))
    thread = threading.Thread(target=session.stand_in, args=(other,))
    thread.start()
    whole = _core.WholeModel(str(softmax), 1, stand_in=ours)
    assert whole.input_info == session.input_info
    assert whole.output_info == session.output_info
    assert not whole.has_defaults
    del whole
    thread.join(WAIT_S)
    assert not thread.is_alive()
