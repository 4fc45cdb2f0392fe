"""A signal while ``engine serve`` still loads: it ends, and does not wait until all is loaded."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

WAIT_S = 60
SCRIPT = Path(__file__).with_name("stuck_server.py")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("words", [(), ("--policy", "edf", "--slo", "lenet=1s")])
def test_a_signal_ends_it_while_models_load(
    cli_folder: Path, number: signal.Signals, words: tuple[str, ...]
) -> None:
    command = [sys.executable, str(SCRIPT), "serve", str(cli_folder / "lenet.onnx"), *words]
    process = subprocess.Popen(
        [*command, "--port", "0", "--cache", str(cli_folder / "cache")],
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
