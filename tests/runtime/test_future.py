"""``Future`` as one of ``concurrent.futures``, and awaited."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, as_completed, wait
from pathlib import Path
from typing import Any

import onnx
import pytest

import surplus
from tests.loops import COUNT, ENDLESS, counted

SHORT, LONG = counted(3), counted(ENDLESS)
WAIT_S = 60.0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[surplus.Model]:
    folder = tmp_path_factory.mktemp("future")
    path = folder / "count.onnx"
    onnx.save(onnx.parser.parse_model(COUNT), path)
    asked: dict[str, Any] = {"cache": folder / "cache", "selection_s": 0, "inputs": SHORT}
    with surplus.load(path, "cpu:1", **asked) as model:
        yield model


def _check(answer: dict[str, Any]) -> None:
    assert answer["y"].tolist() == [3]


def test_it_is_one(model: surplus.Model) -> None:
    future = model.submit(SHORT)
    assert isinstance(future, concurrent.futures.Future)
    _check(future.result())
    assert future.done()
    assert not future.running()
    assert not future.cancelled()
    assert not future.cancel()
    assert future.exception() is None
    assert repr(future) == "<surplus.Future of 'count': ok>"


def test_all_are_completed(model: surplus.Model) -> None:
    futures = [model.submit(SHORT) for _ in range(50)]
    for future in as_completed(futures, WAIT_S):
        _check(future.result())
    done, left = wait(futures, WAIT_S)
    assert (done, left) == (set(futures), set())


def test_what_has_ended_is_told_while_others_are_in_flight(model: surplus.Model) -> None:
    ended, long = model.submit(SHORT), model.submit(LONG)
    assert wait([long, ended], WAIT_S, FIRST_COMPLETED) == ({ended}, {long})
    assert long.running()
    assert repr(long) == "<surplus.Future of 'count': in flight>"
    with pytest.raises(TimeoutError):
        long.exception(timeout=0)
    long.cancel()
    assert next(as_completed([long], WAIT_S)) is long


def test_a_failure_is_told(model: surplus.Model) -> None:
    late = model.submit(LONG, timeout_s=0.001)
    assert wait([late], WAIT_S, FIRST_EXCEPTION).done == {late}
    assert isinstance(late.exception(), surplus.DeadlineError)
    with pytest.raises(surplus.DeadlineError):
        late.result()


def test_cancelled_is_what_the_standard_library_calls_so(model: surplus.Model) -> None:
    future, watched = model.submit(LONG), model.submit(LONG)
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

    future = model.submit(LONG)
    future.add_done_callback(lambda _: 1 / 0)
    future.add_done_callback(hear)
    assert not called
    future.cancel()
    assert heard.wait(WAIT_S)
    future.add_done_callback(called.append)
    assert called == [future, future]
    assert "ZeroDivisionError" in caplog.text
    finished = model.submit(SHORT)
    finished.result()
    finished.add_done_callback(called.append)
    assert called[-1] is finished


def test_asyncio_wraps_it(model: surplus.Model) -> None:
    async def ask() -> None:
        _check(await asyncio.wrap_future(model.submit(SHORT)))
        future = model.submit(LONG)
        wrapped = asyncio.wrap_future(future)
        wrapped.cancel()
        await asyncio.sleep(0)  # in which the loop hands it on
        assert wrapped.cancelled()
        await asyncio.to_thread(wait, [future], WAIT_S)
        assert future.cancelled()

    asyncio.run(ask())


def test_who_awaits_it_and_is_cancelled_cancels_it(model: surplus.Model) -> None:
    async def ask() -> None:
        future = model.submit(LONG)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(future, 0.001)
        await asyncio.to_thread(wait, [future], WAIT_S)
        assert future.cancelled()
        _check(await model.submit(SHORT))

    asyncio.run(ask())


def test_many_are_watched_by_one_thread(model: surplus.Model) -> None:
    left = threading.Semaphore(0)
    long = model.submit(LONG)
    futures = [long, *(model.submit(SHORT) for _ in range(200))]
    for future in futures:
        future.add_done_callback(lambda _: left.release())
    watching = [t for t in threading.enumerate() if t.name == "surplus futures"]
    assert 1 <= len(watching) <= 2, "that of earlier tests may just be ending"
    long.cancel()
    for _ in futures:
        assert left.acquire(timeout=WAIT_S)
    for thread in watching:
        thread.join(WAIT_S)
        assert not thread.is_alive()


def test_what_nobody_asks_to_be_told_of_costs_nothing(model: surplus.Model) -> None:
    future = model.submit(SHORT)
    future.result()
    assert future.done()
    assert vars(future).keys() == {"_ports", "_prepared", "_run", "_wanted"}


def test_a_path_is_what_load_took(model: surplus.Model, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"surplus\.load makes models"):
        surplus.Model(tmp_path)  # type: ignore[arg-type]
