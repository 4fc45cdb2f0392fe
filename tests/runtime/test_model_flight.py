"""Queries in flight: futures, awaiting, cancelling, deadlines, threads; and nothing is left."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import CancelledError, DeadlineError, EngineError, ExecutionError
from surplus.engine.runtime.future import Future
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.placement.timeline import SpanKind, Timeline
from tests.device_lists import devices_or
from tests.runtime.runtime_models import ADD, NEVER_NS, model_of, read_text

DEVICES = devices_or("cpu:2,emulated:gpu")
SHIFT = np.ones(3, np.float32)
_UNUSED_SUBMIT_NS = iter(range(12_000, 13_000))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return read_text(ADD, tmp_path_factory.mktemp("flight"))


class Ours:
    """A machine of this test's own, so that its counters are."""

    def __init__(self, graph: Graph, **emulation: Any) -> None:
        self._graph = graph
        self._emulation = EmulationParams(submit_ns=next(_UNUSED_SUBMIT_NS), **emulation)
        self.machine: _core.Machine = machine_for(parse_devices(DEVICES), self._emulation)

    def model(self, service_ns: int = 1_000) -> PlannedModel:
        return model_of(self._graph, DEVICES, service_ns=service_ns, emulation=self._emulation)

    def check_empty(self) -> None:
        gc.collect()
        stats = self.machine.stats()
        assert stats["live_values"] == stats["live_bytes"] == stats["runs_in_flight"] == 0, stats


@pytest.fixture
def ours(graph: Graph) -> Iterator[Ours]:
    own = Ours(graph)
    yield own
    own.check_empty()
    own.machine.close()


def _inputs(number: int = 1) -> dict[str, Any]:
    return {"x": np.full((2, 3), number, np.float32), "shift": SHIFT}


def _check(outputs: dict[str, Any], number: int = 1) -> None:
    np.testing.assert_array_equal(outputs["y"], np.full((2, 3), 1 - number, np.float32))


def test_future(ours: Ours) -> None:
    future = ours.model().submit(_inputs())
    _check(future.result(timeout=60))
    assert future.done()
    _check(future.result())
    del future


def test_many_in_flight(ours: Ours) -> None:
    model = ours.model()
    futures = [model.submit(_inputs(i)) for i in range(200)]
    for i in reversed(range(200)):
        _check(futures[i].result(), i)
    futures.clear()


def test_many_threads(ours: Ours) -> None:
    model = ours.model()

    def ask(number: int) -> None:
        _check(model.run(_inputs(number)), number)
        _check(model.submit(_inputs(-number)).result(), -number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(200)))


def test_cancelled_before_it_is_done(ours: Ours) -> None:
    future = ours.model(NEVER_NS).submit(_inputs())
    future.cancel()
    future.cancel()
    with pytest.raises(CancelledError):
        future.result()
    del future


def test_cancelled_when_it_is_done(ours: Ours) -> None:
    future = ours.model().submit(_inputs())
    _check(future.result())
    future.cancel()
    _check(future.result())
    del future


def test_deadline(ours: Ours) -> None:
    with pytest.raises(DeadlineError):
        ours.model().submit(_inputs(), deadline_ns=1).result()
    with pytest.raises(DeadlineError, match=r"0\.005 s"):
        ours.model(NEVER_NS).run(_inputs(), timeout_s=0.005)


def test_result_in_time_or_not(ours: Ours) -> None:
    future = ours.model(NEVER_NS).submit(_inputs())
    with pytest.raises(TimeoutError, match=r"0\.005 s"):
        future.result(timeout=0.005)
    assert not future.done()
    future.cancel()
    with pytest.raises(CancelledError):
        future.result()
    del future


def test_timeout_that_is_long_enough(ours: Ours) -> None:
    _check(ours.model().run(_inputs(), timeout_s=60))


def test_errors_leave_nothing_behind(graph: Graph) -> None:
    own = Ours(graph, fail_every=2)
    model = own.model()
    outcomes = [_outcome(model.submit(_inputs())) for _ in range(20)]
    assert outcomes.count("ok") == 10
    assert all("emulated:gpu" in text for text in outcomes if text != "ok")
    own.check_empty()
    own.machine.close()


def _outcome(future: Future) -> str:
    try:
        _check(future.result())
    except ExecutionError as error:
        return str(error)
    return "ok"


def test_awaiting(ours: Ours) -> None:
    model = ours.model()

    async def ask() -> None:
        answers = await asyncio.gather(*(model.infer(_inputs(i)) for i in range(100)))
        for i, outputs in enumerate(answers):
            _check(outputs, i)

    asyncio.run(ask())


def test_a_closed_model_lets_go_and_refuses(ours: Ours) -> None:
    with closing(ours.model()) as model:
        future = model.submit(_inputs(3))
        other = model.prepare(model.plan)
        native = model.native
    _check(future.result(), 3)
    del future
    assert sys.getrefcount(native) == 2, "this function's name, and the call's"
    for ask in (model.run, model.submit, lambda inputs: asyncio.run(model.infer(inputs))):
        with pytest.raises(ExecutionError, match=r"model '.*' is closed"):
            ask(_inputs())
    assert not model.take_over(other)
    assert (model.warning, model.failure) == ("", "")
    model.close()


def test_a_future_can_be_awaited(ours: Ours) -> None:
    model = ours.model()

    async def ask() -> None:
        for i, future in enumerate([model.submit(_inputs(i)) for i in range(10)]):
            _check(await future, i)
            assert future.done()

    asyncio.run(ask())


def test_awaiting_requested_outputs(ours: Ours) -> None:
    assert list(asyncio.run(ours.model().infer(_inputs(), ["y"]))) == ["y"]


def test_awaiting_with_a_deadline(ours: Ours) -> None:
    model = ours.model()

    async def ask() -> None:
        with pytest.raises(DeadlineError):
            await model.infer(_inputs(), deadline_ns=1)
        _check(await model.infer(_inputs(), deadline_ns=time.monotonic_ns() + NEVER_NS))

    asyncio.run(ask())


def test_cancelling_the_task_cancels_the_run(ours: Ours) -> None:
    model = ours.model(NEVER_NS)

    async def ask() -> None:
        task = asyncio.ensure_future(model.infer(_inputs()))
        await asyncio.sleep(0)
        assert ours.machine.stats()["runs_in_flight"] == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while ours.machine.stats()["runs_in_flight"]:
            await asyncio.sleep(0)

    asyncio.run(ask())


def test_a_loop_that_ends_first(ours: Ours) -> None:
    model = ours.model(NEVER_NS)

    async def leave() -> None:
        left = asyncio.ensure_future(model.infer(_inputs()))
        await asyncio.sleep(0)
        assert not left.done()

    asyncio.run(leave())
    while ours.machine.stats()["runs_in_flight"]:
        gc.collect()


def test_loops_leave_no_descriptors(ours: Ours) -> None:
    model = ours.model()

    def descriptors() -> int:
        asyncio.run(model.infer(_inputs()))
        gc.collect()
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    before = descriptors()
    assert max(descriptors() for _ in range(5)) <= before


def _copies(timeline: Timeline) -> set[tuple[int, str, str]]:
    return {(s.index, s.name, s.resource) for s in timeline if s.kind is SpanKind.COPY}


def test_timeline(ours: Ours) -> None:
    model = ours.model()
    with pytest.raises(EngineError, match="no traced run yet"):
        model.timeline()
    model.run(_inputs(), traced=True)
    timeline = model.timeline()
    kinds = [span.kind for span in timeline]
    assert kinds.count(SpanKind.SEGMENT) == len(model.plan.segments)
    assert kinds.count(SpanKind.COPY) == len(model.plan.copies) > 0
    assert _copies(timeline) == _copies(model.plan.predicted)  # indices as in the prediction
    assert timeline.origin == "measured (with an emulated device)"
    assert all(0 <= s.ready_ns <= s.start_ns <= s.end_ns for s in timeline)
    assert {s.resource for s in timeline if s.kind is SpanKind.SEGMENT} == set(model.plan.devices)


def test_timeline_of_a_future(ours: Ours) -> None:
    model = ours.model()
    future = model.submit(_inputs(), traced=True)
    future.result()
    assert future.timeline().makespan_ns > 0
    plain = model.submit(_inputs())
    plain.result()
    with pytest.raises(EngineError, match="traced=True"):
        plain.timeline()
    del future, plain


def test_running_again_keeps_the_timeline(ours: Ours) -> None:
    model = ours.model()
    model.run(_inputs(), traced=True)
    first = model.timeline()
    model.run(_inputs())
    assert model.timeline() is first


def test_outputs_keep_their_values_alive(ours: Ours) -> None:
    outputs = ours.model().run(_inputs())
    gc.collect()
    _check(outputs)
    del outputs


def test_weights_that_are_external(tmp_path: Path) -> None:
    text = "w (float[64] x) => (float[64] y) <float[64] w = {" + ", ".join(["2.0"] * 64) + "}>"
    graph = read_text(text + " { y = Mul(x, w) }", tmp_path)
    x = np.ones(64, np.float32)
    assert model_of(graph).run({"x": x})["y"].tolist() == [2.0] * 64


def test_plain_submissions_give_what_careful_ones_give(graph: Graph, ours: Ours) -> None:
    """Arrays take the native path; what is not plain, chosen outputs and traces do not."""
    model = ours.model()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    plain = model.submit({"x": x, "shift": SHIFT}).result()
    careful = model.submit({"x": x[:, ::-1][:, ::-1].tolist(), "shift": SHIFT}).result()
    chosen = model.submit({"x": x, "shift": SHIFT}, ["y"]).result()
    for answer in (careful, chosen):
        assert list(answer) == ["y"]
        np.testing.assert_array_equal(answer["y"], plain["y"])
    np.testing.assert_array_equal(plain["y"], SHIFT - x)


def test_plain_submissions_have_deadlines(graph: Graph, ours: Ours) -> None:
    model = ours.model(service_ns=NEVER_NS)
    inputs = {"x": np.ones((1, 3), np.float32), "shift": SHIFT}
    with pytest.raises(DeadlineError):
        model.submit(inputs, deadline_ns=time.monotonic_ns() + 1_000_000).result()
