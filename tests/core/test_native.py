"""The core's own C++ tests, built without Python and ONNX Runtime into a cached folder.

They link the libraries of the installed core, which takes minutes less than compiling both again.
"""

import faulthandler
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "engine" / "core"
BUILD = ROOT / "build" / "core-tests"


def find_tool(name: str) -> str:
    """A build tool beside this interpreter, else on the path."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def installed() -> str:
    """The folder of the installed core's libraries; empty where a source is newer than they."""
    sources = (
        p
        for room in SOURCE.iterdir()
        if room.name not in ("tests", "bench", "fuzz")
        for p in room.rglob("*.[ch]pp")
    )
    newest = max(path.stat().st_mtime_ns for path in sources)
    for written in (ROOT / "build").glob("cp*/install_manifest.txt"):
        if written.stat().st_mtime_ns > newest:
            return str(written.parent / "engine" / "core")
    return ""


def execute(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return result.stdout


def test_native_core_tests_pass() -> None:
    faulthandler.cancel_dump_traceback_later()  # compiling takes long, and has a limit of its own
    cmake, ninja = find_tool("cmake"), find_tool("ninja")
    options = [f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DSURPLUS_BUILT={installed()}"]
    execute(cmake, "-S", str(SOURCE), "-B", str(BUILD), "-G", "Ninja", *options)
    execute(cmake, "--build", str(BUILD), "-j", "2")
    assert "tests passed" in execute(str(BUILD / "tests" / "core_tests"))
