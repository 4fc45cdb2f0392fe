"""``engine serve`` ends by a signal while it loads, and by itself when no lane is left."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiled_library import compiled_blocks

WAIT_S = 60
SCRIPT = Path(__file__).with_name("stuck_server.py")
DEAF = Path(__file__).with_name("deaf_server.py")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("words", [(), ("--policy", "edf", "--slo", "lenet=1s")])
def test_a_signal_ends_it_while_models_load(
    cli_folder: Path, number: signal.Signals, words: tuple[str, ...]
) -> None:
    command = [sys.executable, str(SCRIPT), "serve", str(cli_folder / "lenet.onnx"), *words]
    process = subprocess.Popen(
        [*command, "--port", "0", "--no-metrics", "--cache", str(cli_folder / "cache")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "stuck\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
    assert process.returncode == -number  # for a shell 128 + number, as after any other verb
    assert (out, err) == ("", "")


def test_a_server_without_a_lane_that_comes_back_ends_for_its_supervisor(cli_folder: Path) -> None:
    compiled_blocks()
    command = [sys.executable, str(DEAF), "serve", str(cli_folder / "lenet.onnx"), "--drain", "0"]
    process = subprocess.Popen(
        [*command, "--devices", "cpu:2", "--port", "0", "--cache", str(cli_folder / "cache")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, err = process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
    assert process.returncode == 75, err
    assert "all 2 lanes of cpu are held by operators that do not return; the server ends" in err
    assert "Traceback" not in err
