"""A server bears models and queries that end processes: it says why, and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from tests.trial import fatal_models

WAIT_S = 120

_SERVE = "from surplus.engine.cli.main import main; raise SystemExit(main())"


class Served:
    """``engine serve`` of a folder, and what it said."""

    def __init__(self, repository: Path, cache: Path) -> None:
        self.log = cache / "log"
        command = [sys.executable, "-c", _SERVE, "serve", str(repository)]
        options = ["--devices", "cpu:2", "--port", "0", "--cache", str(cache)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*command, *options], stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ
            )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        self.url = self.first_line.partition(" on ")[2].split(" ")[0]


@pytest.fixture(scope="module", params=["now", "background"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "cache").mkdir()
    makers = {"fatal": fatal_models.fatal_at_once, "plain": fatal_models.plain}
    for name, make in {**makers, "gru": partial(fatal_models.recurrent, "GRU", 3)}.items():
        (folder / "models" / name / "1").mkdir(parents=True)
        make(folder / "models" / name / "1" / "model.onnx")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SURPLUS_TUNE", request.param)
        found = Served(folder / "models", folder / "cache")
    yield found
    found.process.send_signal(signal.SIGTERM)
    assert found.process.wait(WAIT_S) in (0, -signal.SIGTERM)
    assert found.process.stdout is not None
    found.process.stdout.close()


def _asked(served: Served, model: str, **shapes: tuple[int, ...]) -> triton.InferResult:
    inputs = []
    for name, shape in shapes.items():
        inputs.append(triton.InferInput(name, list(shape), "FP32"))
        inputs[-1].set_data_from_numpy(np.zeros(shape, np.float32))
    with triton.InferenceServerClient(served.url) as client:
        return client.infer(model, inputs, client_timeout=WAIT_S)


def test_the_others_are_served(served: Served) -> None:
    assert "serving gru, plain" in served.first_line, served.log.read_text()
    said = served.log.read_text()
    assert "refused: run for the first time, it ends its process (SIGABRT)" in said
    assert _asked(served, "plain", x=(2, 2, 4)).as_numpy("y").shape == (2, 2, 3)
    with pytest.raises(InferenceServerException, match="SIGABRT"):
        _asked(served, "fatal", x=(2, 4, 8))


def test_a_fatal_query_is_an_invalid_argument(served: Served) -> None:
    for _ in range(3):
        with pytest.raises(InferenceServerException, match="'x': dimension 1 is empty") as caught:
            _asked(served, "gru", x=(3, 0, 5))
        assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"
    assert _asked(served, "gru", x=(3, 2, 5)).as_numpy("y").shape == (3, 1, 2, 6)
    assert _asked(served, "plain", x=(0, 2, 4)).as_numpy("y").shape == (0, 2, 3)
    assert served.process.poll() is None
