"""``Future`` as one of ``concurrent.futures``, and awaited."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, as_completed, wait
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import surplus
from tests.runtime.held_lane import held_lane

X = {"x": np.arange(4, dtype=np.float32)}
WAIT_S = 60.0
GRAPH = """<ir_version: 9, opset_import: ["" : 17]>
plain (float[4] x) => (float[4] y) { y = Neg(x) }"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[surplus.Model]:
    folder = tmp_path_factory.mktemp("future")
    path = folder / "plain.onnx"
    onnx.save(onnx.parser.parse_model(GRAPH), path)
    with surplus.load(path, "cpu:1", cache=folder / "cache", selection_s=0) as model:
        yield model


def _held(model: surplus.Model) -> Any:
    return held_lane(model._planned._machine)


def _check(answer: dict[str, Any]) -> None:
    np.testing.assert_array_equal(answer["y"], -X["x"])


def test_it_is_one(model: surplus.Model) -> None:
    future = model.submit(X)
    assert isinstance(future, concurrent.futures.Future)
    _check(future.result())
    assert future.done()
    assert not future.running()
    assert not future.cancelled()
    assert not future.cancel()
    assert future.exception() is None
    assert repr(future) == "<surplus.Future of 'plain': ok>"


def test_all_are_completed(model: surplus.Model) -> None:
    futures = [model.submit(X) for _ in range(50)]
    for future in as_completed(futures, WAIT_S):
        _check(future.result())
    done, left = wait(futures, WAIT_S)
    assert (done, left) == (set(futures), set())


def test_what_has_ended_is_told_while_others_are_in_flight(model: surplus.Model) -> None:
    ended = model.submit(X)
    ended.result()
    with _held(model):
        held = model.submit(X)
        assert wait([held, ended], WAIT_S, FIRST_COMPLETED) == ({ended}, {held})
        assert held.running()
        assert repr(held) == "<surplus.Future of 'plain': in flight>"
        with pytest.raises(TimeoutError):
            held.exception(timeout=0)
    assert next(as_completed([held], WAIT_S)) is held
    _check(held.result())


def test_a_failure_is_told(model: surplus.Model) -> None:
    with _held(model):
        late, in_time = model.submit(X, deadline_ns=1), model.submit(X)
    assert late in wait([late, in_time], WAIT_S, FIRST_EXCEPTION).done
    assert isinstance(late.exception(), surplus.DeadlineError)
    with pytest.raises(surplus.DeadlineError):
        late.result()


def test_cancelled_is_what_the_standard_library_calls_so(model: surplus.Model) -> None:
    with _held(model):
        future, watched = model.submit(X), model.submit(X)
        watched.add_done_callback(lambda _: None)
        assert future.cancel()
        assert watched.cancel()
    for ask in (future.result, future.exception, watched.result):
        with pytest.raises(concurrent.futures.CancelledError) as caught:
            ask(WAIT_S)
        assert isinstance(caught.value, surplus.CancelledError)
    assert future.cancelled()
    assert future.cancel()
    assert wait([future, watched], WAIT_S).done == {future, watched}


def test_callbacks_are_called_once_whenever_they_come(
    model: surplus.Model, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[surplus.Future] = []
    heard = threading.Event()

    def hear(future: surplus.Future) -> None:
        called.append(future)
        heard.set()

    with _held(model):
        future = model.submit(X)
        future.add_done_callback(lambda _: 1 / 0)
        future.add_done_callback(hear)
        assert not called
    assert heard.wait(WAIT_S)
    future.add_done_callback(called.append)
    assert called == [future, future]
    assert "ZeroDivisionError" in caplog.text
    finished = model.submit(X)
    finished.result()
    finished.add_done_callback(called.append)
    assert called[-1] is finished


def test_asyncio_wraps_it(model: surplus.Model) -> None:
    async def ask() -> None:
        _check(await asyncio.wrap_future(model.submit(X)))
        with _held(model):
            future = model.submit(X)
            wrapped = asyncio.wrap_future(future)
            wrapped.cancel()
            await asyncio.sleep(0)  # in which the loop hands it on
            assert wrapped.cancelled()
        await asyncio.to_thread(wait, [future], WAIT_S)
        assert future.cancelled()

    asyncio.run(ask())


def test_who_awaits_it_and_is_cancelled_cancels_it(model: surplus.Model) -> None:
    async def ask() -> None:
        with _held(model):
            future = model.submit(X)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(future, 0.001)
        await asyncio.to_thread(wait, [future], WAIT_S)
        assert future.cancelled()
        _check(await model.submit(X))

    asyncio.run(ask())


def test_many_are_watched_by_one_thread(model: surplus.Model) -> None:
    left = threading.Semaphore(0)
    with _held(model):
        futures = [model.submit(X) for _ in range(200)]
        for future in futures:
            future.add_done_callback(lambda _: left.release())
        watching = [t for t in threading.enumerate() if t.name == "surplus futures"]
        assert len(watching) == 1
    for _ in futures:
        assert left.acquire(timeout=WAIT_S)
    watching[0].join(WAIT_S)
    assert not watching[0].is_alive()


def test_what_nobody_asks_to_be_told_of_costs_nothing(model: surplus.Model) -> None:
    future = model.submit(X)
    future.result()
    assert future.done()
    assert vars(future).keys() == {"_ports", "_prepared", "_run", "_wanted"}


def test_a_path_is_what_load_took(model: surplus.Model, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"surplus\.load makes models"):
        surplus.Model(tmp_path)  # type: ignore[arg-type]
