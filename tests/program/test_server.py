"""``surplus.Server``: models served from the process that has them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import fields
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

import surplus
from surplus import models
from surplus.engine.errors import ConfigError, ModelError
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.program import server as program
from surplus.engine.program.server_options import ServerOptions

IMAGE = np.random.default_rng(0).random((1, 1, 28, 28), np.float32)


def test_type_checkers_know_the_options_that_there_are() -> None:
    named = {f.name for f in fields(surplus.ServerParams)} - {"grpc_port", "http_port"}
    assert set(ServerOptions.__annotations__) == named


@pytest.fixture(scope="module")
def lenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.save(models.build("lenet"), tmp_path_factory.mktemp("served") / "lenet.onnx")


@pytest.fixture(scope="module")
def model(lenet: Path) -> surplus.Model:
    return surplus.load(lenet, devices="cpu:1", placement_policy="single", selection_s=0)


@pytest.fixture
def server(model: surplus.Model, lenet: Path) -> Iterator[surplus.Server]:
    lazy = surplus.LazyModel(lenet, LoadParams(devices="cpu:1", placement_policy="single"))
    with surplus.Server({"now": model, "late": lazy}, port=0, http_port=0) as server:
        yield server


def asked(address: str, name: str) -> np.ndarray:
    image = triton.InferInput("image", IMAGE.shape, "FP32")
    image.set_data_from_numpy(IMAGE)
    with triton.InferenceServerClient(address) as client:
        return client.infer(name, [image]).as_numpy("logits")


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_models_are_asked_by_their_names(server: surplus.Server, model: surplus.Model) -> None:
    wanted = model.run({"image": IMAGE})["logits"]
    for name in ("now", "late"):
        np.testing.assert_array_equal(asked(server.address, name), wanted)
    assert server.http_address is not None
    with triton_http.InferenceServerClient(server.http_address) as client:
        assert client.is_server_ready()
        assert client.is_model_ready("late")
    with pytest.raises(InferenceServerException, match="unknown model"):
        asked(server.address, "lenet")


def test_a_server_that_is_stopped_answers_nothing(server: surplus.Server) -> None:
    assert not server.wait(0)
    assert server.stop()
    assert server.stop()
    assert server.wait()
    assert "surplus server" not in threads()
    with pytest.raises(InferenceServerException, match=r"UNAVAILABLE|connect"):
        asked(server.address, "now")
    with pytest.raises(ConfigError, match="started before"):
        server.start()


def test_a_path_is_loaded(lenet: Path) -> None:
    with surplus.Server({"m": str(lenet)}, port=0) as server:
        assert asked(server.address, "m").shape == (1, 10)
        assert server.http_address is None


def test_ctrl_c_while_it_starts_leaves_nothing_behind(
    model: surplus.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Future):  # type: ignore[type-arg]
        def result(self, timeout: float | None = None) -> NoReturn:
            raise KeyboardInterrupt

    server = surplus.Server({"m": model}, port=0)
    monkeypatch.setattr(program, "Future", Interrupted)  # of its ports
    with pytest.raises(KeyboardInterrupt):
        server.start()
    assert "surplus server" not in threads()


def test_what_is_wrong_leaves_nothing_behind(model: surplus.Model, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs a model"):
        surplus.Server({})
    with pytest.raises(ConfigError, match="not started"):
        _ = surplus.Server({"m": model}, port=0).address
    with pytest.raises(ModelError, match=r"none\.onnx"):
        surplus.Server({"m": tmp_path / "none.onnx"}, port=0).start()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"{port}"):
            surplus.Server({"m": model}, port=port).start()
    assert "surplus server" not in threads()
    with pytest.raises(ValueError, match="max_in_flight is 0"):
        surplus.Server({"m": model}, max_in_flight=0)
    assert surplus.Server({"m": model}).stop(), "one that was not started"
