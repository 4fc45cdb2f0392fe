"""``surplus.Server(isolate=...)``: the program outlives what ends a model."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import psutil
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import surplus
from surplus.engine.errors import ConfigError
from tests.isolation.served import until, write_model

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    write_model(tmp_path, "negated", "Neg")
    write_model(tmp_path, "whole", "Floor")
    return {name: tmp_path / name / "1" / "model.onnx" for name in ("negated", "whole")}


def asked(client: triton.InferenceServerClient, model: str) -> np.ndarray:
    sent = triton.InferInput("x", X.shape, "FP32")
    sent.set_data_from_numpy(X)
    return client.infer(model, [sent]).as_numpy("y")


def workers() -> list[int]:
    """Processes that the one which forks them for us has forked."""
    return [
        worker.pid
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE  # of other tests
        and any("nursery" in part for part in child.cmdline())
        for worker in child.children()
    ]


def test_a_model_ends_and_is_back(files: dict[str, Path]) -> None:
    with surplus.Server(files, port=0, isolate=True) as server:
        client = triton.InferenceServerClient(server.address)
        np.testing.assert_array_equal(asked(client, "negated"), -X)
        before = set(workers())
        assert len(before) == 2
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        until(lambda: len(set(workers()) - before) == 2)

        def answers() -> bool:
            try:
                return bool((asked(client, "negated") == -X).all())
            except InferenceServerException as error:
                refusals.add(error.status())
                return False

        refusals: set[str | None] = set()
        until(answers)
        assert refusals <= {"StatusCode.UNAVAILABLE"}
        client.close()
    assert not workers(), "they end with the server"


def test_a_group_shares_a_process(files: dict[str, Path]) -> None:
    with surplus.Server(files, port=0, isolate={"both": ["negated", "whole"]}) as server:
        assert len(workers()) == 1
        with triton.InferenceServerClient(server.address) as client:
            np.testing.assert_array_equal(asked(client, "whole"), X)


def test_what_cannot_be_isolated(files: dict[str, Path], tmp_path: Path) -> None:
    lazy = surplus.LazyModel(files["whole"])
    with pytest.raises(ConfigError, match="'m' is a LazyModel of this process"):
        surplus.Server({"m": lazy}, isolate=True)
    with pytest.raises(ConfigError, match="no model 'nobody'"):
        surplus.Server(files, isolate={"both": ["nobody"]})
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    with pytest.raises(ConfigError, match=r"broken\.onnx"):
        surplus.Server(files | {"broken": broken}, port=0, isolate=True).start()
    assert not workers(), "nothing is left behind"
