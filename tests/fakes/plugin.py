"""The fake plugin provider of the core's tests, compiled once, registered under several names.

A name stays registered until the process ends: ``fake`` computes, ``failing`` fails in every run,
``idle`` drives nothing, ``broken`` does not register, ``wrong`` computes Neg as Abs.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

_CORE = Path(__file__).parents[2] / "engine" / "core"
_SOURCE = _CORE / "tests" / "fake_plugin.cpp"


@dataclass(frozen=True)
class FakePlugin:
    """The library, and what it counted since it was loaded."""

    path: Path
    library: ctypes.CDLL

    def strays(self) -> int:
        """Calls from another thread than the one that made the first session."""
        return int(self.library.fakePluginStrays())

    def sessions(self) -> int:
        """Sessions that live."""
        return int(self.library.fakePluginAlive())

    def runs(self) -> int:
        """Operators that it computed."""
        return int(self.library.fakePluginRuns())


@cache
def _compiled() -> Path | None:
    compiler = shutil.which("c++")
    if compiler is None:
        return None
    # Not a fixture's folder: the library stays loaded for as long as the process lives.
    path = Path(tempfile.mkdtemp(prefix="fake_plugin")) / "libfake_plugin.so"
    flags = ["-std=c++20", "-shared", "-fPIC", "-O1", f"-I{_CORE}"]
    subprocess.run([compiler, *flags, str(_SOURCE), "-o", str(path)], check=True, timeout=300)
    return path


def fake_plugin() -> FakePlugin:
    """The library, or a skipped test where there is no compiler."""
    path = _compiled()
    if path is None:
        pytest.skip("no C++ compiler")
    return FakePlugin(path, ctypes.CDLL(str(path)))
