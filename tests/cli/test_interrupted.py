"""Ctrl-C ends every verb, a load and a query, of a model that never answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.loops import COUNT, ENDLESS

WAIT_S = 60
"""Before a test that would hang fails; what ends, ends within a second."""

IMPORTS_S = 5
"""CPU time of a main thread that is no query yet, amply: who waits for one may compute it."""

_VERB = ["-c", "from surplus.engine.cli.main import main; raise SystemExit(main())"]
_LOAD = "import sys, surplus; surplus.load(sys.argv[1], 'cpu:2', tune={tune!r})"
_QUERY = ".submit({'x': __import__('numpy').zeros(1, 'int64')}).result()"


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = onnx.parser.parse_model(COUNT)
    trips = model.graph.input[0]
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(ENDLESS), trips.name))
    model.graph.input.remove(trips)
    path = tmp_path_factory.mktemp("endless") / "endless.onnx"
    onnx.save(model, path)
    return path


COMMANDS = {
    "load": ["-c", _LOAD.format(tune="now"), "MODEL"],
    "query": ["-c", _LOAD.format(tune="off") + _QUERY, "MODEL"],
    "run": [*_VERB, "run", "MODEL", "--devices", "cpu:2"],
    "tune": [*_VERB, "tune", "MODEL", "--devices", "cpu:2", "--time", "5"],
    "profile": [*_VERB, "profile", "MODEL", "--devices", "cpu:2", "-o", "OUT"],
    "memory": [*_VERB, "memory", "MODEL"],
    "serve": [*_VERB, "serve", "MODEL", "--devices", "cpu:2", "--port", "0"],
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_ctrl_c(verb: str, endless: Path, tmp_path: Path) -> None:
    names = {"MODEL": str(endless), "OUT": str(tmp_path / "out.json")}
    command = [sys.executable, *(names.get(part, part) for part in COMMANDS[verb])]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    child = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until_s = time.monotonic() + WAIT_S
        while _busiest_thread_s(child.pid) < 0.5:  # it is in the loop
            with suppress(subprocess.TimeoutExpired):
                status = child.wait(0.05)
                pytest.fail(f"ended by itself, with status {status}")
            assert time.monotonic() < until_s
        child.send_signal(signal.SIGINT)
        assert child.wait(WAIT_S) != 0
        assert _children(child.pid) == []
    finally:
        child.kill()
        child.wait()


def _busiest_thread_s(process: int) -> float:
    """The most CPU time of a thread of a process and its children, beyond what imports take."""
    threads = Path(f"/proc/{process}/task").glob("*/stat")
    own = [_computed_s(stat) - IMPORTS_S * (stat.parent.name == str(process)) for stat in threads]
    return max([0.0, *own, *map(_busiest_thread_s, _children(process))])


def _computed_s(stat: Path) -> float:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0  # it has ended meanwhile
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*"):
        with suppress(OSError):  # a thread that has ended meanwhile
            found += map(int, (task / "children").read_text().split())
    return found
