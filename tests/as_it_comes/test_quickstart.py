"""The quickstart's commands in an empty home, and a server that is started, asked and stopped."""

from __future__ import annotations

import json
import re
import signal
import urllib.request
from pathlib import Path

import numpy as np

from tests.as_it_comes import models
from tests.as_it_comes.house import WAIT_S, House

PAGE = Path(__file__).parents[2] / "docs" / "quickstart.md"
_COMMAND = re.compile(r"^\.venv/bin/(engine [^#\n]*?)\s*(?:#.*)?$", re.MULTILINE)

SAYS = (r"lenet\.onnx", r"Conv", r"ONNX Runtime", r"100", r"lenet")
"""What each of the page's first commands shows."""


def test_the_first_commands_run_as_the_page_has_them(house: House) -> None:
    commands = _COMMAND.findall(PAGE.read_text())
    assert len(commands) >= len(SAYS)
    for command, says in zip(commands, SAYS, strict=False):
        assert re.search(says, house.run(*command.split())), command


def test_a_server_answers_and_ends(house: House, model: Path, want: list[float]) -> None:
    process = house.start("engine", "serve", model, "--port", "0", "--http-port", "0")
    try:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "http://" in line)
        found = re.search(r"http://[\d.]+:\d+", line)
        assert found, line
        x = models.ones()["x"]
        tensor = {"name": "x", "datatype": "FP32", "shape": x.shape, "data": x.ravel().tolist()}
        body = json.dumps({"inputs": [tensor]}).encode()
        for _ in range(20):
            url = f"{found[0]}/v2/models/model/infer"
            with urllib.request.urlopen(url, body, timeout=WAIT_S) as answer:
                (output,) = json.load(answer)["outputs"]
            rows = np.reshape(output["data"], output["shape"]).sum(axis=1)
            np.testing.assert_allclose(rows, want, rtol=1e-4, atol=1e-2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=WAIT_S)
        assert process.returncode == 0, errors
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.communicate()
