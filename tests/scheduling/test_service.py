"""Models behind a policy on an event loop: every query ends once, with an answer or a reason."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.colocation.frame.decision import Decision, Start
from surplus.colocation.frame.dispatcher import DISPATCHERS
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.frame.work import piece_of
from surplus.colocation.policies.names import PolicySpec, policy_spec
from surplus.colocation.profiles.table import Table
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import close_machines
from surplus.engine.errors import (
    DeadlineError,
    EngineError,
    ExecutionError,
    InputError,
    ModelError,
    QueueFullError,
)
from surplus.engine.scheduling.policy_service import PolicyService
from surplus.engine.scheduling.served_by_policy import ServedByPolicy
from surplus.engine.serving.model_executor import ModelExecutor
from tests.colocation.asked_planner import ASKED, ASKED_PLANNER
from tests.compiled_library import compiled_blocks, hold_lanes, look_until, release_deaf
from tests.scheduling.stage import CHAIN, FIXED, Stage, chain_of

HOUR_NS = 3_600_000_000_000
SHARES = ("50", "100")


def demand_of(stage: Stage, lanes: int = 2, max_queue: int | None = None) -> Demand:
    count = len(stage.models)
    profile = Table([1, 4], {share: [1.0, 2.0] for share in SHARES})
    return Demand(
        services=tuple(
            Service(model.name, HOUR_NS, 4 if model.stackable else 1, model.operators, max_queue)
            for model in stage.models
        ),
        profiles=(profile,) * count,
        rates_per_s=(10.0,) * count,
        items=(1,) * count,
        sequences=(0,) * count,
        devices=(ServingDevice("device", lanes=lanes),),
    )


def serve(
    stage: Stage,
    policy: PolicySpec | str,
    use: Callable[[PolicyService], Awaitable[None]],
    max_queue: int | None = None,
) -> None:
    """Run a coroutine beside a service; afterwards nothing may be left in it."""

    async def life() -> None:
        spec = policy_spec(policy) if isinstance(policy, str) else policy
        models, places = tuple(stage.models), tuple(stage.devices)
        service = PolicyService(demand_of(stage, max_queue=max_queue), spec, models, places)
        await use(service)
        service.close()
        backend = service._backend
        assert len(service._waiting) + len(service._inputs) + len(service._outputs) == 0
        assert len(backend._kept) + len(backend._runs) + len(backend._abandoned) == 0

    asyncio.run(life())


def some_rows(seed: int, rows: int = 1) -> dict[str, np.ndarray[Any, Any]]:
    return {"x": np.random.default_rng(seed).standard_normal((rows, 3), np.float32)}


def expect(answer: dict[str, Any], inputs: dict[str, np.ndarray[Any, Any]]) -> None:
    for name, wanted in chain_of(inputs["x"]).items():
        np.testing.assert_allclose(answer[name], wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("policy", ["fcfs", "edf_drop", "temporal", "clockwork", "nexus"])
@pytest.mark.parametrize("devices", ["cpu:2", "emulated:gpu:2"])
def test_every_query_gets_its_own_answer(tmp_path: Path, policy: str, devices: str) -> None:
    stage = Stage(tmp_path, [CHAIN, CHAIN.replace("chain", "other")], [1, 3], devices)

    async def use(service: PolicyService) -> None:
        inputs = [some_rows(k, 1 + k % 3) for k in range(12)]
        all_of = [
            service.submit(k % 2, rows, len(rows["x"])).answer for k, rows in enumerate(inputs)
        ]
        for rows, answer in zip(inputs, await asyncio.gather(*all_of), strict=True):
            expect(answer, rows)
        assert all(waited_ns >= 0 for waited_ns in service.record.queued_ns)

    serve(stage, policy, use)


def test_a_query_that_cannot_be_in_time_is_dropped_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [1])

    async def use(service: PolicyService) -> None:
        submitted = service.submit(0, some_rows(0), deadline_ns=1)
        assert submitted.answer.done()
        with pytest.raises(DeadlineError, match=r"'m0'.*predicted to end 1 ms after it came"):
            await submitted.answer

    serve(stage, "edf_drop", use)


def test_it_says_what_was_in_time_and_what_any_policy_could_answer(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [1])
    later_ns = 0

    async def life() -> None:
        nonlocal later_ns
        models, places = tuple(stage.models), tuple(stage.devices)
        service = PolicyService(
            demand_of(stage),
            policy_spec("edf_drop"),
            models,
            places,
            lambda: time.monotonic_ns() + later_ns,
        )
        answers = [service.submit(0, some_rows(k)).answer for k in range(3)]
        answers.append(service.submit(0, some_rows(3), deadline_ns=1).answer)
        await asyncio.gather(*answers, return_exceptions=True)
        assert service.recent().offered == 0  # they may still be in time
        later_ns = HOUR_NS + 5_000_000_000
        found = service.recent()
        assert (found.offered, found.in_time, found.most) == (4, 3, 4)
        assert service.devices == 1
        service.close()

    asyncio.run(life())


def test_a_full_queue_turns_queries_away(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [1])

    async def use(service: PolicyService) -> None:
        answers = [service.submit(0, some_rows(k)).answer for k in range(4)]
        found = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(one) for one in found] == [dict, dict, dict, QueueFullError]

    serve(stage, "fcfs", use, max_queue=1)


@pytest.mark.parametrize("policy", ["fcfs", "edf_drop", "nexus"])
def test_a_service_leaves_and_comes_back(tmp_path: Path, policy: str) -> None:
    """What runs finishes, what waits is refused at once, the other service does not notice."""
    stage = Stage(tmp_path, [CHAIN, CHAIN.replace("chain", "other")], [1, 1])

    async def use(service: PolicyService) -> None:
        mine = [service.submit(0, some_rows(k)).answer for k in range(6)]
        theirs = service.submit(1, some_rows(9)).answer
        service.leave(0)
        ends = await asyncio.gather(*mine, return_exceptions=True)
        kinds = [type(end) for end in ends]
        assert kinds.count(QueueFullError) == 6 - kinds.count(dict) > 0
        expect(await theirs, some_rows(9))
        with pytest.raises(QueueFullError, match="'m0' has no place"):
            await service.submit(0, some_rows(0)).answer
        service.come(0)
        if policy != "nexus":  # whose planner makes a place first
            expect(await service.submit(0, some_rows(1)).answer, some_rows(1))

    serve(stage, policy, use)


def test_queries_wait_for_a_planner_that_is_asked_again(tmp_path: Path) -> None:
    ASKED.clear()
    stage = Stage(tmp_path, [CHAIN, CHAIN.replace("chain", "other")], [1, 1])

    async def use(service: PolicyService) -> None:
        service.leave(0)
        expect(await service.submit(1, some_rows(0)).answer, some_rows(0))

    serve(stage, PolicySpec("t", "fcfs", planner=ASKED_PLANNER), use)
    assert [demand.hurried for demand in ASKED] == [False, True]


def test_a_failed_group_fails_its_queries_alone(tmp_path: Path) -> None:
    emulation = EmulationParams(fail_every=2)
    stage = Stage(tmp_path, [CHAIN], [1], "emulated:gpu:2", emulation=emulation)

    async def use(service: PolicyService) -> None:
        expect(await service.submit(0, some_rows(0)).answer, some_rows(0))
        with pytest.raises(ExecutionError, match="fail"):
            await service.submit(0, some_rows(1)).answer
        expect(await service.submit(0, some_rows(2)).answer, some_rows(2))

    serve(stage, "fcfs", use)


@pytest.mark.parametrize("policy", ["fcfs", "edf_drop", "temporal", "nexus"])
def test_a_lost_device_ends_all_queries_and_is_told(tmp_path: Path, policy: str) -> None:
    """Of those in flight, of those that wait, and of those that come later."""
    close_machines()  # of another test that lost it
    emulation = EmulationParams(lose_at=3)
    stage = Stage(tmp_path, [CHAIN], [1], "emulated:gpu:2", emulation=emulation)

    async def use(service: PolicyService) -> None:
        executor = ModelExecutor(ServedByPolicy(service, 0, 4))
        assert (executor.warning, executor.failure) == ("", "")
        answers = [service.submit(0, some_rows(k)).answer for k in range(12)]
        ends = await asyncio.gather(*answers, return_exceptions=True)
        lost = [end for end in ends if isinstance(end, EngineError)]
        assert lost
        assert all("'emulated:gpu' is lost" in str(end) for end in lost)
        for _ in range(2):
            with pytest.raises(
                ExecutionError, match=r"'m0' has no place: .*'emulated:gpu' is lost"
            ):
                await service.submit(0, some_rows(0)).answer
        assert "'emulated:gpu' is lost" in executor.failure
        while service._backend._runs:  # of groups that the controller has given up
            await asyncio.sleep(0)

    serve(stage, policy, use)


def test_queries_of_other_lengths_are_not_stacked(tmp_path: Path) -> None:
    text = CHAIN.replace("[n, 3]", "[n, m]")
    stage = Stage(tmp_path, [text], [1])

    async def use(service: PolicyService) -> None:
        shapes = [(1, 3), (1, 5), (2, 3), (1, 3)]
        inputs = [{"x": np.ones(shape, np.float32)} for shape in shapes]
        all_of = [service.submit(0, rows, len(rows["x"])).answer for rows in inputs]
        for rows, answer in zip(inputs, await asyncio.gather(*all_of), strict=True):
            expect(answer, rows)

    serve(stage, "temporal", use)


def test_a_policy_that_breaks_answers_everyone_with_an_error(tmp_path: Path) -> None:
    class Broken:
        def __init__(self, context: object) -> None:
            pass

        def decide(self, state: Any, event: Any) -> Decision:
            if state.now_ns and len(state.waiting[0]) < 2:
                return Decision()
            query = state.waiting[0].urgent
            return Decision(starts=(Start(99, (piece_of((query,), 0, 1),)),))

    DISPATCHERS._factories["broken for a test"] = Broken
    stage = Stage(tmp_path, [CHAIN], [1])

    async def use(service: PolicyService) -> None:
        answers = [service.submit(0, some_rows(k)).answer for k in range(2)]
        for answer in answers:
            with pytest.raises(ExecutionError, match="the policy failed: PolicyError"):
                await answer
        with pytest.raises(ExecutionError, match="the policy failed"):
            service.submit(0, some_rows(2))

    try:
        serve(stage, PolicySpec("broken", "broken for a test"), use)
    finally:
        del DISPATCHERS._factories["broken for a test"]


@pytest.mark.parametrize(
    "policy", ["fcfs", "sjf_drop", "edf_expired", "temporal_drop", "fixed_batch_drop", "clockwork"]
)
def test_every_query_ends_once_whatever_clients_do(tmp_path: Path, policy: str) -> None:
    """Short deadlines, clients that leave, failures: nobody waits for ever, nothing stays."""
    emulation = EmulationParams(fail_every=7)
    texts = [CHAIN, FIXED]
    stage = Stage(tmp_path, texts, [3, 1], "emulated:gpu:2", emulation=emulation)
    luck = random.Random(5)
    ends: dict[str, int] = {}

    async def client(executor: ModelExecutor, number: int) -> None:
        for _ in range(luck.randrange(4)):
            await asyncio.sleep(0)
        rows = luck.randrange(1, 4) if executor.inputs[0].shape == (-1, 3) else 2
        deadline_ns = luck.choice([None, 1, HOUR_NS * 10_000])
        task = asyncio.ensure_future(
            executor.infer(some_rows(number, rows), ["y"], deadline_ns, luck.randrange(3))
        )
        if luck.random() < 0.2:
            await asyncio.sleep(0)
            task.cancel()
        try:
            answer = await task
            assert answer["y"].shape == (rows, 3)
            kind = "answered"
        except (EngineError, asyncio.CancelledError) as error:
            kind = type(error).__name__
        ends[kind] = ends.get(kind, 0) + 1

    async def use(service: PolicyService) -> None:
        executors = [ModelExecutor(ServedByPolicy(service, index, 4)) for index in range(2)]
        await asyncio.gather(*(client(executors[k % 2], k) for k in range(120)))
        while service._waiting:  # those whose clients left
            await asyncio.sleep(0)

    serve(stage, policy, use)
    assert sum(ends.values()) == 120
    assert {"answered", "ExecutionError", "CancelledError"} <= set(ends)


def test_rows_of_a_query_are_checked(tmp_path: Path) -> None:
    text = "two (float[n, 3] x, float[n, 3] w) => (float[n, 3] y) { y = Add(x, w) }"
    stage = Stage(tmp_path, [text], [1])

    async def use(service: PolicyService) -> None:
        executor = ModelExecutor(ServedByPolicy(service, 0, 4))
        two, three = np.ones((2, 3), np.float32), np.ones((3, 3), np.float32)
        with pytest.raises(InputError, match="different numbers of rows"):
            await executor.infer({"x": two, "w": three}, None, None)
        five = np.ones((5, 3), np.float32)
        with pytest.raises(InputError, match="5 rows; 1 to 4"):
            await executor.infer({"x": five, "w": five}, None, None)
        answer = await executor.infer({"x": two, "w": two}, ["y"], None)
        np.testing.assert_array_equal(answer["y"], two + two)

    serve(stage, "edf", use)


def test_a_query_that_would_end_the_process_is_refused(tmp_path: Path) -> None:
    text = """steps (float[n, 2, 5] x, float[n, 2, 5] w) => (float[n, 1, 2, 6] y) {
        sum = Add(x, w)
        by_input = Constant<value = int64[3] {1, 18, 5}>()
        by_state = Constant<value = int64[3] {1, 18, 6}>()
        for_input = ConstantOfShape(by_input)
        for_state = ConstantOfShape(by_state)
        y = GRU<hidden_size = 6>(sum, for_input, for_state)
    }"""
    stage = Stage(tmp_path, [text], [1])

    async def use(service: PolicyService) -> None:
        executor = ModelExecutor(ServedByPolicy(service, 0, 4))
        none, one = (np.ones((rows, 2, 5), np.float32) for rows in (0, 1))
        with pytest.raises(InputError, match=r"'w': dimension 0 is empty.*SIGABRT"):
            await executor.infer({"x": none, "w": none}, None, None)
        answer = await executor.infer({"x": one, "w": one}, ["y"], None)
        np.testing.assert_array_equal(answer["y"], np.zeros((1, 1, 2, 6)))

    serve(stage, "edf", use)


THROUGH = """through (float[n, 3] x, float[3] shift = {1, 2, 3})
    => (float[n, 3] y, float[n, 3] x, float c) {
    c = Constant<value_float = 2.5>()  a = Neg(x)  b = Exp(a)  y = Add(b, shift)
}"""
"""Hands an input through, has a constant for an answer, and an input with a default."""


@pytest.mark.parametrize("devices", ["cpu:2", "emulated:gpu:2"])
@pytest.mark.parametrize("operators", [1, 3])
def test_what_comes_in_and_goes_out_is_as_of_the_model_alone(
    tmp_path: Path, devices: str, operators: int
) -> None:
    stage = Stage(tmp_path, [THROUGH], [operators], devices)
    inputs = some_rows(0, 2)

    async def use(service: PolicyService) -> None:
        executor = ModelExecutor(ServedByPolicy(service, 0, 4))
        for own in (inputs, inputs | {"shift": np.zeros(3, np.float32)}):
            shift = own.get("shift", np.array([1, 2, 3], np.float32))
            answer = await executor.infer(own, None, None)
            assert answer.keys() == {"x", "y", "c"}
            np.testing.assert_array_equal(answer["x"], inputs["x"])
            np.testing.assert_allclose(answer["y"], np.exp(-inputs["x"]) + shift, rtol=1e-3)
            assert answer["c"] == np.float32(2.5)
            assert set(await executor.infer(own, ["c"], None)) == {"c"}

    serve(stage, "abacus" if operators > 1 else "edf", use)


def test_a_model_without_operators_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'m0' has no operators"):
        Stage(tmp_path, ["none (float[3] x) => (float[3] x) { }"], [1])


def test_a_policy_without_a_lane_that_comes_back_answers_no_more(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [1])

    async def use(service: PolicyService) -> None:
        executor = ModelExecutor(ServedByPolicy(service, 0, 4))
        assert executor.failure == ""
        hold_lanes(stage.devices[0].machine)
        try:
            assert "all 2 lanes of cpu are held" in executor.failure
        finally:
            release_deaf()
            look_until(lambda: not stage.devices[0].machine.is_stalled)

    compiled_blocks()
    serve(stage, "edf", use)
