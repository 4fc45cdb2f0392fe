import asyncio

import numpy as np
import pytest

from surplus.engine.errors import (
    DeadlineError,
    ExecutionError,
    InputError,
    QueueFullError,
    UnavailableError,
    UnknownModelError,
)
from surplus.engine.serving.data_plane import DataPlane, DataPlaneParams, InferQuery
from surplus.engine.serving.descriptions import model_statistics
from surplus.engine.serving.statistics import ModelStatistics, Moments
from surplus.engine.serving.trouble import Trouble
from tests.serving.fakes import Function, Gate, arithmetic, failing, identity

ONE = np.ones((1, 4), np.float32)
VECTOR = np.ones(3, np.float32)


def _plane(executor, max_in_flight=4):
    plane = DataPlane(DataPlaneParams(max_in_flight))
    plane.models.add("m").set_ready(executor)
    return plane


def _query(*inputs, outputs=(), **options):
    return InferQuery(inputs, outputs, received_ns=0, **options)


async def _infer(plane, query):
    return await plane.infer(plane.admit("m"), query, lambda outputs: outputs)


def _run(plane, query):
    return asyncio.run(_infer(plane, query))


def test_what_is_answered_after_its_deadline_counts_as_late_and_is_remembered():
    # What is left, when it starts and ends: an executor that heeds no deadline.
    moments = iter([1_000, 2_000, 10_000_000_000, 10_000_000_001])
    plane = DataPlane(clock_ns=lambda: next(moments))
    plane.models.add("m").set_ready(identity())
    _run(plane, _query(("x", VECTOR), id="mine", deadline_ns=5_000_000_000))
    (seen,) = plane.seen()
    assert (seen.id, seen.trouble) == ("mine", Trouble.LATE)
    assert seen.stages == [
        ("decode", 0, 1_000),
        ("execute", 1_000, 10_000_000_000),
        ("encode", 10_000_000_000, 10_000_000_001),
    ]
    assert plane.models.find("m").trouble == {Trouble.LATE: 1}


def test_all_outputs_in_the_models_order():
    answer = _run(_plane(arithmetic()), _query(("b", ONE), ("a", 3 * ONE)))
    assert list(answer) == ["sum", "difference"]
    np.testing.assert_array_equal(answer["difference"], 2 * ONE)


def test_requested_outputs_in_the_requests_order():
    executor = arithmetic()
    query = _query(("a", ONE), ("b", ONE), outputs=["difference", "sum"], priority=3)
    assert list(_run(_plane(executor), query)) == ["difference", "sum"]
    assert executor.calls == [(("difference", "sum"), None, 3)]


def test_optional_input():
    bias = np.array([5], np.float32)
    answer = _run(_plane(arithmetic()), _query(("a", ONE), ("b", ONE), ("bias", bias)))
    np.testing.assert_array_equal(answer["sum"], 7 * ONE)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([("a", ONE)], [], "input 'b' is missing; got 'a'"),
        ([], [], "input 'a' is missing; got none"),
        ([("a", ONE), ("c", ONE)], [], "unknown input 'c'; the model has 'a', 'b', 'bias'"),
        ([("a", ONE), ("a", ONE)], [], "input 'a' is given twice"),
        ([("a", ONE.astype(np.int64))], [], "input 'a': expected FP32, got INT64"),
        ([("a", ONE[0])], [], r"input 'a': expected shape \[-1, 4\].*got \[4\]"),  # rank
        ([("a", ONE[:, :3])], [], r"expected shape \[-1, 4\].*got \[1, 3\]"),  # a fixed size
        ([("a", ONE), ("b", ONE)], ["x"], "unknown output 'x'; the model has 'sum', 'difference'"),
        ([("a", ONE), ("b", ONE)], ["sum", "sum"], "output 'sum' is requested twice"),
    ],
)
def test_invalid_queries(inputs, outputs, message):
    plane = _plane(arithmetic())
    with pytest.raises(InputError, match=message):
        _run(plane, _query(*inputs, outputs=outputs))
    assert plane.in_flight == 0


def test_unknown_rank_takes_any_shape():
    executor = identity(shape=None)
    assert _run(_plane(executor), _query(("x", ONE)))["y"].shape == (1, 4)


def test_full_queue_turns_away_at_once():
    async def scenario():
        gate = Gate()
        plane = _plane(gate, max_in_flight=2)
        running = [asyncio.create_task(_infer(plane, _query(("x", VECTOR)))) for _ in range(2)]
        await asyncio.to_thread(gate.entered.acquire)
        await asyncio.to_thread(gate.entered.acquire)
        with pytest.raises(QueueFullError, match="2 queries in flight"):
            plane.admit("m")
        gate.open.set()
        await asyncio.gather(*running)
        await _infer(plane, _query(("x", VECTOR)))  # room again

    asyncio.run(scenario())


def test_executor_that_ignores_its_deadline_is_cancelled():
    async def scenario():
        gate = Gate()
        plane = _plane(gate)
        deadline_ns = plane.clock_ns() + 1_000_000
        with pytest.raises(DeadlineError, match="before it finished"):
            await _infer(plane, _query(("x", VECTOR), deadline_ns=deadline_ns))
        assert gate.cancelled.acquire(blocking=False)
        assert plane.in_flight == 0

    asyncio.run(scenario())


def test_deadline_in_the_past_runs_nothing():
    executor = identity()
    with pytest.raises(DeadlineError, match="before it started"):
        _run(_plane(executor), _query(("x", VECTOR), deadline_ns=1))
    assert executor.calls == []


@pytest.mark.parametrize("error", [ExecutionError("segment 3 failed"), KeyError("segment 3")])
def test_failures_are_execution_errors(error):
    with pytest.raises(ExecutionError, match="segment 3"):
        _run(_plane(failing(error)), _query(("x", VECTOR)))


def test_output_that_does_not_come():
    executor = Function(lambda inputs: {}, identity().inputs, identity().outputs)
    with pytest.raises(ExecutionError, match="did not return its output 'y'"):
        _run(_plane(executor), _query(("x", VECTOR)))


def test_statistics_count_each_query_once():
    plane = _plane(identity())
    _run(plane, _query(("x", VECTOR)))
    for wrong in (_query(), _query(("x", ONE))):
        with pytest.raises(InputError):
            _run(plane, wrong)
    counters = plane.models.find("m").statistics
    assert (counters.success.count, counters.fail.count) == (1, 2)


def _told(*parts):
    return [(part.count, part.total_ns) for part in parts]


def test_queries_that_one_call_answered_are_one_execution():
    plane = DataPlane()
    executor = identity()
    executor.joined = 7  # of earlier days
    model = plane.models.add("m")
    model.set_ready(executor)

    async def queries():
        for joins in (0, 1, 1):
            executor.joined += joins
            sent = InferQuery([("x", VECTOR)], [], 0)
            await plane.infer(plane.admit("m"), sent, lambda outputs: outputs)

    asyncio.run(queries())
    (row,) = model_statistics([model])["model_stats"]
    assert (row["inference_count"], row["execution_count"]) == (3, 1)
    executor.joined = 0  # of a plan that took over
    (row,) = model_statistics([model])["model_stats"]
    assert (row["inference_count"], row["execution_count"]) == (3, 3)


def test_calls_are_counted_by_how_many_queries_they_answered():
    plane = DataPlane()
    executor = identity()
    executor.batches = {2: (5, 1000)}  # of earlier days
    model = plane.models.add("m")
    model.set_ready(executor)
    assert model_statistics([model])["model_stats"][0]["batch_stats"] == []

    async def queries():
        for _ in range(6):
            sent = InferQuery([("x", VECTOR)], [], 0)
            await plane.infer(plane.admit("m"), sent, lambda outputs: outputs)

    asyncio.run(queries())
    executor.batches = {2: (5, 1000), 3: (1, 70)}
    (row,) = model_statistics([model])["model_stats"]
    alone, three = row["batch_stats"]
    assert (alone["batch_size"], alone["compute_infer"]["count"]) == (1, 3)
    assert (three["batch_size"], three["compute_infer"]) == (3, {"count": 1, "ns": 70})
    assert alone["compute_input"]["count"] == 6
    executor.batches = {}  # of a plan that took over
    (row,) = model_statistics([model])["model_stats"]
    assert [b["compute_infer"]["count"] for b in row["batch_stats"]] == [6]


def test_a_querys_time_falls_into_its_parts():
    moments = iter([100, 130, 170, 500, 520, 580])  # started, ended, answered, twice
    plane = DataPlane(clock_ns=lambda: next(moments))
    executor = identity()
    model = plane.models.add("m")
    executor.queued_ns = 1_000  # of earlier days
    model.set_ready(executor)

    async def query(received_ns, queued_ns):
        executor.queued_ns += queued_ns
        sent = InferQuery([("x", VECTOR)], [], received_ns)
        return await plane.infer(plane.admit("m"), sent, lambda outputs: outputs)

    async def both():
        await query(90, 5)
        await query(430, 8)

    asyncio.run(both())
    counters = model.statistics
    parts = (
        counters.compute_input,
        counters.queue,
        counters.compute_infer,
        counters.compute_output,
    )
    assert _told(*parts) == [(2, 10 + 70), (2, 5 + 8), (2, 30 + 20 - 13), (2, 40 + 60)]
    assert _told(counters.success) == [(2, 80 + 150)] == [(2, sum(p.total_ns for p in parts))]


def test_an_estimate_of_waits_never_makes_times_negative():
    counters = ModelStatistics()
    counters.record_success(Moments(0, 10, 30, 31), queued_ns=50)
    assert counters.compute_infer.total_ns == 0


def test_an_answer_that_cannot_be_encoded_is_a_failure():
    plane = _plane(identity())

    def fail(outputs):
        raise ExecutionError("no datatype")

    async def query():
        await plane.infer(plane.admit("m"), _query(("x", VECTOR)), fail)

    with pytest.raises(ExecutionError, match="no datatype"):
        asyncio.run(query())
    counters = plane.models.find("m").statistics
    assert (counters.success.count, counters.queue.count, counters.fail.count) == (0, 0, 1)


def test_newest_ready_version_answers():
    plane = DataPlane()
    for version in ("9", "10", "11"):
        plane.models.add("m", version)
    plane.models.find("m", "9").set_ready(identity())
    plane.models.find("m", "10").set_ready(identity())
    assert plane.admit("m").version == "10"
    assert plane.admit("m", "9").version == "9"
    with pytest.raises(UnavailableError, match="version 11 is LOADING"):
        plane.admit("m", "11")


def test_unknown_models():
    plane = _plane(identity())
    with pytest.raises(UnknownModelError, match="unknown model 'n'; served: 'm'"):
        plane.admit("n")
    with pytest.raises(UnknownModelError, match="no version '2'; it has 1"):
        plane.admit("m", "2")


def test_readiness_follows_the_models():
    plane = DataPlane()
    assert plane.ready
    model = plane.models.add("m")
    assert not plane.ready
    model.set_ready(identity())
    assert plane.ready
    model.set_unavailable("out of memory")
    assert not plane.ready
    with pytest.raises(UnavailableError, match="UNAVAILABLE: out of memory"):
        plane.admit("m")


@pytest.mark.parametrize(
    ("name", "version"), [("", "1"), ("m", "0"), ("m", "x"), ("m", "-1"), ("m", "²"), ("m", "1")]
)
def test_names_and_versions_that_cannot_be(name, version):
    plane = _plane(identity())
    with pytest.raises(ValueError, match=r"name|version"):
        plane.models.add(name, version)


def test_drain_finishes_what_began_and_admits_no_more():
    async def scenario():
        gate = Gate()
        plane = _plane(gate)
        running = asyncio.create_task(_infer(plane, _query(("x", VECTOR))))
        await asyncio.to_thread(gate.entered.acquire)
        drain = asyncio.create_task(plane.drain(30))
        await asyncio.sleep(0)
        assert not plane.ready
        with pytest.raises(UnavailableError, match="shutting down"):
            plane.admit("m")
        gate.open.set()
        assert await drain
        assert (await running)["y"].tolist() == VECTOR.tolist()

    asyncio.run(scenario())


def test_drain_cancels_what_does_not_finish():
    async def scenario():
        gate = Gate()
        plane = _plane(gate)
        running = asyncio.create_task(_infer(plane, _query(("x", VECTOR))))
        await asyncio.to_thread(gate.entered.acquire)
        assert not await plane.drain(0)
        with pytest.raises(UnavailableError, match="before the query finished"):
            await running
        assert gate.cancelled.acquire(blocking=False)

    asyncio.run(scenario())


def test_close_closes_the_executors():
    executor = identity()
    plane = _plane(executor)
    plane.close()
    assert executor.closed
    with pytest.raises(UnavailableError, match="closed"):
        plane.admit("m")


def test_limits_are_checked():
    with pytest.raises(ValueError, match="max_in_flight is 0"):
        DataPlaneParams(max_in_flight=0)
