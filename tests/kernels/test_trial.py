"""First runs of segments with a library's kernels: what ends the child stays with ONNX Runtime."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from surplus.engine.kernels.trial import TrialSegment, try_segments

_CHILD = """
import sys, json, os, time, signal, pathlib
question = json.loads(sys.stdin.buffer.readline())
def say(**line): print(json.dumps(line), flush=True)
for index, segment in enumerate(question["segments"]):
    name = pathlib.Path(segment["file"]).name
    if name == "missing": say(refused="there is no such library"); break
    if name == "silent": os._exit(4)
    say(begun=index)
    if name == "crashes": os.kill(os.getpid(), signal.SIGSEGV)
    if name == "hangs": pathlib.Path(segment["compiled"] + ".hangs").touch(); time.sleep(600)
    if name == "refused": say(done=index, error="not taken"); continue
    if name == "taints": say(done=index, error="it failed"); break
    pathlib.Path(segment["compiled"]).write_bytes(b"blob")
    say(done=index, weight_bytes=7)
"""


def _segments(names: Sequence[str]) -> list[TrialSegment]:
    one = ((1, (2,)),)
    values = [np.zeros(2, np.float32)]
    return [TrialSegment(n, Path(n), ("x",), ("y",), one, (1,), 1, "f32", values) for n in names]


def _tried(folder: Path, *names: str) -> list[str]:
    found = try_segments("openvino", _segments(names), folder, 300, _CHILD)
    assert all(tried.weight_bytes == 7 and tried.compiled.exists() for tried in found.values())
    return [names[index] for index in sorted(found)]


@pytest.mark.parametrize("culprit", ["crashes", "refused", "taints"])
def test_only_the_segment_at_which_it_ends_is_left_out(tmp_path: Path, culprit: str) -> None:
    assert _tried(tmp_path, "a", culprit, "b", "c") == ["a", "b", "c"]


def test_the_log_says_what_became_of_a_segment(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        _tried(tmp_path, "refused", "crashes")
    assert "refused: not with openvino: not taken" in caplog.text
    assert "crashes: not with openvino, which ended with code -11" in caplog.text


def test_a_segment_that_does_not_end_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OnceItHangs(threading.Thread):
        """A timer whose time is over as soon as a child hangs."""

        def __init__(self, time_s: float, end: Callable[[], None]) -> None:
            super().__init__()
            self._end, self._over = end, threading.Event()

        def run(self) -> None:
            mark = tmp_path / "0.blob.hangs"
            while not self._over.wait(0.01):
                if mark.exists():
                    mark.unlink()
                    self._end()

        def cancel(self) -> None:
            self._over.set()

    monkeypatch.setattr("surplus.engine.kernels.library_child.threading.Timer", OnceItHangs)
    assert _tried(tmp_path, "hangs", "a") == ["a"]
    assert "did not end in time" in caplog.text


def test_a_library_that_cannot_be_loaded_is_tried_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert _tried(tmp_path, "missing", "a") == []
    assert "there is no such library" in caplog.text
    assert _tried(tmp_path, "silent", "a") == []
    assert "its first process ended with code 4" in caplog.text


def test_a_library_that_always_ends_is_not_tried_for_ever(tmp_path: Path) -> None:
    assert _tried(tmp_path, *["crashes"] * 12, "a") == []


def test_where_there_is_no_python_none_is_tried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert _tried(tmp_path, "a") == []
    assert "openvino is not tried: there is no Python" in caplog.text


def test_no_child_is_left_to_wait_for(tmp_path: Path) -> None:
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    before = set(children.read_text().split())  # other tests' may still be there
    assert _tried(tmp_path, "a", "crashes", "b") == ["a", "b"]
    assert set(children.read_text().split()) <= before
