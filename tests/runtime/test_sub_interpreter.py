"""Lanes let no Python object go, also in a process with sub-interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("sub_interpreter.py")


def test_arrays_go_on_threads_with_the_gil(tmp_path: Path) -> None:
    # PyGILState_Check says yes of every thread then: lanes ran destructors without the GIL.
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stdout.split()) == (0, ["50", "True"]), ended.stderr[-2000:]
