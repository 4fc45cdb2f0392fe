"""A server speaks to nobody but those who ask it: watched below Python, ONNX Runtime and gRPC."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton

WAIT_S = 120
SERVE = [sys.executable, "-m", "surplus.engine.cli.main", "serve"]
REACH_OUT = """
import socket
with socket.socket() as one:
    one.settimeout(1)
    try:
        one.connect(("192.0.2.1", 80))
    except OSError:
        pass
try:
    socket.getaddrinfo("telemetry.invalid", 443)
except OSError:
    pass
"""


@pytest.fixture
def watched(tmp_path: Path) -> dict[str, str]:
    """An environment in which what a process reaches out for is written to ``$OUTGOING``."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path / "outgoing.so"
    source = Path(__file__).with_name("outgoing.c")
    flags = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([compiler, *flags, str(source), "-ldl"], check=True, timeout=WAIT_S)
    log = tmp_path / "outgoing.txt"
    log.touch()
    return {**os.environ, "LD_PRELOAD": str(library), "OUTGOING": str(log)}


def test_the_watch_sees(watched: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", REACH_OUT], env=watched, check=True, timeout=WAIT_S)
    assert Path(watched["OUTGOING"]).read_text() == "connect\ntelemetry.invalid\n"


def test_a_server_reaches_out_for_nobody(watched: dict[str, str], cli_folder: Path) -> None:
    words = [str(cli_folder / "lenet.onnx"), "--port", "0", "--http-port", "0"]
    process = subprocess.Popen(
        [*SERVE, *words, "--cache", str(cli_folder / "cache")],
        env=watched,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"serving .* on (127\.0\.0\.1:\d+) ", process.stdout.readline())
        assert found is not None
        image = np.load(cli_folder / "lenet.npz")["image"]
        query = triton.InferInput("image", image.shape, "FP32")
        query.set_data_from_numpy(image)
        with triton.InferenceServerClient(found[1]) as client:
            assert client.infer("lenet", [query]).as_numpy("logits") is not None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert Path(watched["OUTGOING"]).read_text() == ""
