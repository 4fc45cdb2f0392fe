"""A served model answers requests of another size each, empty ones included, over gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
import onnx
import pytest
import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.served_alone import ServedAlone
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.model_executor import ModelExecutor
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import ServerParams
from tests.constant_costs import constant_problem, scattered_plan
from tests.end_to_end.dynamic_models import DYNAMIC, Query
from tests.end_to_end.small_models import RELATIVE

REQUESTS = 40
AT_ONCE = 8


@pytest.fixture(scope="module", params=["detector", "transformer"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A kind of model, and the model itself, cut into single tasks."""
    folder = tmp_path_factory.mktemp("served")
    onnx.save(DYNAMIC[request.param].build(), folder / "model.onnx")
    graph = read_model(folder / "model.onnx", folder / "cache")
    specs = parse_devices("cpu:2")
    plan = scattered_plan(graph, constant_problem(graph, specs), seed=0)
    return request.param, PlannedModel(graph, plan, machine_for(specs))


def talk(
    model: PlannedModel,
    scenario: Callable[[triton.InferenceServerClient], Coroutine[Any, Any, None]],
) -> None:
    """Serve a model as ``m`` and run a scenario against it, on one event loop."""

    async def both() -> None:
        server = AsyncServer(ServerParams(grpc_port=0))
        server.plane.models.add("m").set_ready(ModelExecutor(ServedAlone(model)))
        port = await server.start()
        async with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
            await scenario(client)
        await server.stop()

    asyncio.run(both())


async def ask(client: triton.InferenceServerClient, query: Query) -> Any:
    inputs = []
    for name, array in query.items():
        inputs.append(triton.InferInput(name, list(array.shape), datatype_of(array)))
        inputs[-1].set_data_from_numpy(array)
    return await client.infer("m", inputs)


def check(answer: Any, right: dict[str, np.ndarray[Any, Any]]) -> None:
    for name, array in right.items():
        np.testing.assert_allclose(
            answer.as_numpy(name).reshape(answer.get_output(name).shape),
            array,
            rtol=RELATIVE,
            atol=1e-6,
            strict=True,
        )


def test_another_size_each_request(served: tuple[str, PlannedModel]) -> None:
    kind, model = served
    queries = [DYNAMIC[kind].query(number) for number in range(REQUESTS)]
    right = [model.run(query) for query in queries]

    async def scenario(client: triton.InferenceServerClient) -> None:
        for first in range(0, REQUESTS, AT_ONCE):
            chosen = range(first, first + AT_ONCE)
            answers = await asyncio.gather(*(ask(client, queries[i]) for i in chosen))
            for i, answer in zip(chosen, answers, strict=True):
                check(answer, right[i])

    talk(model, scenario)


def test_a_size_that_does_not_fit_disturbs_nobody(served: tuple[str, PlannedModel]) -> None:
    kind, model = served
    query = DYNAMIC[kind].query(3)
    right = model.run(query)
    wrong = {name: array[..., None] for name, array in query.items()}

    async def scenario(client: triton.InferenceServerClient) -> None:
        for _ in range(3):
            with pytest.raises(InferenceServerException, match="expected shape"):
                await ask(client, wrong)
            check(await ask(client, query), right)

    talk(model, scenario)
