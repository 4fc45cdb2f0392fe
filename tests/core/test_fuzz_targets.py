"""The core's fuzz targets, a few thousand inputs each; ``make fuzz-core`` runs more."""

from __future__ import annotations

import faulthandler
import signal
import subprocess
from pathlib import Path

import pytest

from tests.core.test_native import ROOT, execute, find_tool

SOURCE = ROOT / "engine" / "core" / "fuzz"
BUILD = ROOT / "build" / "core-fuzz" / "c++"
TARGETS = (
    "http1_answers",
    "http1_connection",
    "http2_connection",
    "infer_request",
    "json_numbers",
    "onnx_files",
    "rest_request",
    "worker_link",
)
RUNS = 3000


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled targets."""
    faulthandler.cancel_dump_traceback_later()  # compiling takes long, and has a limit of its own
    compiler, cmake, ninja = (find_tool(name) for name in ("c++", "cmake", "ninja"))
    program = tmp_path_factory.mktemp("sanitized") / "program"
    made = subprocess.run(
        [compiler, "-fsanitize=address,undefined", "-x", "c++", "-", "-o", str(program)],
        input="int main() {}",
        text=True,
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("this compiler has no sanitizers")
    options = [f"-DCMAKE_MAKE_PROGRAM={ninja}", "-DCMAKE_CXX_COMPILER=c++"]
    execute(cmake, "-S", str(SOURCE), "-B", str(BUILD), "-G", "Ninja", *options)
    execute(cmake, "--build", str(BUILD), "-j", "2")
    return BUILD / "targets"


def test_all_targets_are_run(targets: Path) -> None:
    assert {path.name for path in targets.iterdir()} == set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_found(targets: Path, target: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [str(targets / target), f"-runs={RUNS}", "-seed=1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert f"{RUNS} runs" in ran.stdout or f"Done {RUNS} runs" in ran.stderr


def test_an_input_that_ends_a_target_is_left_and_run_again(targets: Path, tmp_path: Path) -> None:
    target = str(targets / "json_numbers")
    running = subprocess.Popen(
        [target, "-max_total_time=600", "-seed=7"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert running.stderr is not None
    assert "INFO" in running.stderr.readline()
    running.send_signal(signal.SIGABRT)  # as a sanitizer ends it
    running.communicate(timeout=60)
    assert running.returncode != 0
    [left] = tmp_path.glob("crash-*")
    subprocess.run([target, str(left)], check=True, capture_output=True, timeout=60)
    assert subprocess.run([target, "none"], capture_output=True, timeout=60).returncode != 0
