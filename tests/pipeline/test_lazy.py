"""Models that their first query loads."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import surplus
from surplus.engine.errors import ModelError
from surplus.engine.pipeline import lazy
from surplus.engine.pipeline.lazy import LazyModel
from surplus.engine.pipeline.served_late import ServedLate
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.serving.model_executor import ModelExecutor

TEXT = '<ir_version: 9, opset_import: ["" : 18]> neg (float[4] x) => (float[4] y) { y = Neg(x) }'
INPUT = {"x": np.arange(4, dtype=np.float32)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "neg.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), file)
    return file


@pytest.fixture
def params(tmp_path: Path) -> LoadParams:
    return LoadParams(devices="cpu:1", cache=tmp_path / "cache", selection_s=0, finalists=1)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The paths that are loaded from now on."""
    loaded: list[Path] = []
    load_with = lazy.load_with

    def load(path: Path, params: LoadParams) -> Any:
        loaded.append(path)
        return load_with(path, params)

    monkeypatch.setattr(lazy, "load_with", load)
    return loaded


def test_nothing_is_read_before_the_first_query(path: Path, params: LoadParams) -> None:
    model = surplus.LazyModel(path.with_name("absent.onnx"), params)
    assert not model.is_loaded


def test_the_first_query_loads(path: Path, params: LoadParams) -> None:
    model = LazyModel(path, params)
    assert np.array_equal(model.run(INPUT)["y"], -INPUT["x"])
    assert model.is_loaded
    assert np.array_equal(model.submit(INPUT).result()["y"], -INPUT["x"])


def test_queries_that_come_together_load_once(
    path: Path, params: LoadParams, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = counted(monkeypatch)
    model = LazyModel(path, params)
    together = threading.Barrier(8)

    def query(_: int) -> bytes:
        together.wait()
        return model.run(INPUT)["y"].tobytes()

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(query, range(8)))
    assert answers == {(-INPUT["x"]).tobytes()}
    assert loaded == [path]


def test_on_an_event_loop_too(
    path: Path, params: LoadParams, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = counted(monkeypatch)
    model = LazyModel(path, params)

    async def queries() -> list[dict[str, Any]]:
        return await asyncio.gather(*(model.infer(INPUT) for _ in range(8)))

    assert all(np.array_equal(a["y"], -INPUT["x"]) for a in asyncio.run(queries()))
    assert loaded == [path]


def test_a_failure_is_told_to_each_query_until_the_file_is_put_right(
    path: Path, params: LoadParams, caplog: pytest.LogCaptureFixture
) -> None:
    whole = path.read_bytes()
    path.write_bytes(b"no model")
    model = LazyModel(path, params)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"neg\.onnx"):
            model.run(INPUT)
    assert [r.getMessage() for r in caplog.records if "neg.onnx: not loaded: " in r.getMessage()]
    path.write_bytes(whole)
    assert np.array_equal(model.run(INPUT)["y"], -INPUT["x"])


def test_an_unloaded_model_comes_back(
    path: Path, params: LoadParams, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = counted(monkeypatch)
    model = LazyModel(path, params)
    model.run(INPUT)
    model.unload()
    assert not model.is_loaded
    assert np.array_equal(model.run(INPUT)["y"], -INPUT["x"])
    assert loaded == [path, path]


def test_a_server_knows_the_signature_before_it_loads(path: Path, params: LoadParams) -> None:
    model = LazyModel(path, params)
    executor = ModelExecutor(ServedLate(model, params.cache))
    assert [(s.name, s.dtype, s.shape) for s in executor.inputs] == [("x", "FP32", (4,))]
    assert [s.name for s in executor.outputs] == ["y"]
    assert not model.is_loaded
    answer = asyncio.run(executor.infer(INPUT, None, None))
    assert np.array_equal(answer["y"], -INPUT["x"])
    waited_ns = executor.queued_ns
    assert waited_ns > 0  # for the model
    executor.close()
    assert executor.queued_ns == waited_ns
    assert not model.is_loaded


def test_a_server_refuses_a_bad_file_at_once(path: Path, params: LoadParams) -> None:
    path.write_bytes(b"no model")
    with pytest.raises(ModelError, match=r"neg\.onnx"):
        ServedLate(LazyModel(path, params), params.cache)


class UnloadingLock:
    """In the place of a model's lock: another thread unloads it as soon as it is released."""

    def __init__(self, model: LazyModel) -> None:
        self._model = model
        self._lock = model._lock

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        self._model._lock = self._lock
        threading.Thread(target=self._model.unload).start()
        while self._model.is_loaded:
            pass


def test_a_model_that_is_unloaded_at_once_answers_still(path: Path, params: LoadParams) -> None:
    model = LazyModel(path, params)
    for ask in (model.run, lambda inputs: model.submit(inputs).result()):
        model._lock = UnloadingLock(model)  # type: ignore[assignment]
        assert np.array_equal(ask(INPUT)["y"], -INPUT["x"])
        assert not model.is_loaded


def test_a_model_that_is_closed_while_it_loads_is_let_go(path: Path, params: LoadParams) -> None:
    model = LazyModel(path, params)
    served = ServedLate(model, params.cache)
    model._lock = UnloadingLock(model)  # type: ignore[assignment]
    answer = asyncio.run(served.infer(INPUT, None, None, 0))
    assert np.array_equal(answer["y"], -INPUT["x"])
    assert served._loaded is None
