"""Sessions in a child that was forked after they were made: they open themselves again there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.dropin.pair import PLAIN

_SCRIPT = """
import multiprocessing, os, sys, threading
import numpy as np
import surplus
given, how = sys.argv[1], sys.argv[2]
options = surplus.SessionOptions()
if how == "told":
    options.graph_optimization_level = surplus.GraphOptimizationLevel.ORT_ENABLE_BASIC
if how == "changed":
    options.add_free_dimension_override_by_name("n", 1)
model = open(given, "rb").read() if how == "bytes" else given
session = surplus.InferenceSession(model, options, devices="cpu:1", cache=sys.argv[3])
feed = {"x": np.array([[1, -1, 2]], np.float32), "i": np.array([1, 2])}
want = [answer.tolist() for answer in session.run(None, feed)]

def right(answers):
    return [answer.tolist() for answer in answers] == want

def ask(_):
    found = []
    threads = [threading.Thread(target=lambda: found.append(right(session.run(None, feed))))
               for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    binding = session.io_binding()
    binding.bind_cpu_input("x", feed["x"])
    binding.bind_cpu_input("i", feed["i"])
    binding.bind_output("y")
    binding.bind_output("j")
    session.run_with_iobinding(binding)
    found.append(right(binding.copy_outputs_to_cpu()))
    found.append(right(session.run(None, feed, surplus.RunOptions())))
    return found

def in_grandchild(_):
    assert all(ask(0))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.map(ask, [0])[0]

def begin(work):
    process = multiprocessing.get_context("fork").Process(target=lambda: os._exit(not all(work(0))))
    process.start()
    process.join()
    return process.exitcode

with multiprocessing.get_context("fork").Pool(2) as pool:
    print(all(map(all, pool.map(ask, range(4)))))
print(begin(in_grandchild) == 0)
print(all(ask(0)))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forked") / "plain.onnx"
    onnx.save(onnx.parser.parse_model(PLAIN), path)
    return path


@pytest.mark.parametrize("how", ["path", "bytes", "told", "changed"])
def test_a_forked_childs_session_answers(how: str, path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, path, how, tmp_path],
        env={**os.environ, "SURPLUS_TUNE": "background"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.stdout.split(), done.returncode) == (["True"] * 3, 0), done.stderr


def test_a_model_of_load_says_that_it_was_left_behind(path: Path, tmp_path: Path) -> None:
    script = """
import os, sys, numpy as np, surplus
from surplus.engine.errors import DeviceError, LeftBehindError
model = surplus.load(sys.argv[1], devices="cpu:1", cache=sys.argv[2])
feed = {"x": np.zeros((1, 3), np.float32), "i": np.array([1, 2])}
model.run(feed)
if not (child := os.fork()):
    try:
        model.run(feed)
    except LeftBehindError as error:
        said = "load models after the fork" in str(error)
        os._exit(7 * (said and isinstance(error, DeviceError)))
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, path, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.stdout == "7\n", done.stderr


def test_a_childs_devices_are_not_its_childs(path: Path, tmp_path: Path) -> None:
    script = """
import os, sys, numpy as np, surplus
from surplus.engine.devices.machines import open_machines
def load():
    return surplus.load(sys.argv[1], devices="cpu:1", cache=sys.argv[2])
kept = [load()]
for generation in range(3):
    if child := os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(len(open_machines()), flush=True)
    kept.append(load())
    kept[-1].run({"x": np.zeros((1, 3), np.float32), "i": np.array([1, 2])})
"""
    done = subprocess.run(
        [sys.executable, "-c", script, path, tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.returncode) == (["0"] * 3, 0), done.stderr


def test_what_asks_again_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from surplus.engine.dropin import session_handle
    from surplus.engine.errors import LeftBehindError

    class Left:
        """A model as a forked child finds it, or as it is opened there."""

        inputs = outputs = ()
        left = True

        def run(self, feed: Any) -> dict[str, Any]:
            if self.left:
                raise LeftBehindError("left behind")
            return {"y": np.zeros(1)}

    opened: list[Left] = []

    def open_model() -> Any:
        opened.append(Left())
        opened[-1].left = len(opened) == 1
        return opened[-1]

    handle = session_handle.SessionHandle(open_model, lambda: None, None, (), None)  # type: ignore[arg-type,return-value]
    handle.output_names = ("y",)
    forks = session_handle._Forks()
    forks.note()
    monkeypatch.setattr(session_handle, "_forks", forks)
    assert handle.run(None, {}, None)[0].tolist() == [0]
    assert handle.run(None, {}, None)[0].tolist() == [0]
    assert len(opened) == 2
