"""Many queries at once, from Triton's asyncio client on the server's own loop."""

import asyncio

import numpy as np
import tritonclient.grpc.aio as triton

from tests.serving.fakes import tensor


async def _ask(client, model, number):
    sent = np.full(number % 7 + 1, number, np.float32)
    answer = await client.infer(model, [tensor("x", sent, "FP32")], request_id=str(number))
    assert answer.get_response().id == str(number)
    np.testing.assert_array_equal(answer.as_numpy("y"), sent)


def test_every_call_of_the_asyncio_client(served):
    async def scenario():
        async with triton.InferenceServerClient(served.url) as client:
            assert await client.is_server_live()
            assert await client.is_server_ready()
            assert await client.is_model_ready("identity")
            assert (await client.get_server_metadata()).name == "surplus"
            assert (await client.get_model_metadata("identity")).inputs[0].name == "x"
            assert (await client.get_model_config("identity")).config.name == "identity"
            assert (await client.get_inference_statistics("identity")).model_stats
            assert (await client.get_model_repository_index()).models
            await _ask(client, "identity", 3)

    served.run(scenario())


def test_64_in_flight_get_their_own_answers(served, fresh_name):
    gate = served.gate(fresh_name)

    async def scenario():
        async with triton.InferenceServerClient(served.url) as client:
            asks = [asyncio.create_task(_ask(client, fresh_name, n)) for n in range(64)]
            await asyncio.to_thread(lambda: [gate.entered.acquire() for _ in asks])
            assert served.server.plane.in_flight == 64  # all inside before one leaves
            gate.open.set()
            await asyncio.gather(*asks)

    served.run(scenario())
    assert served.server.plane.in_flight == 0


def test_cancelled_ones_do_not_disturb_the_others(served, fresh_name):
    gate = served.gate(fresh_name)

    async def scenario():
        async with triton.InferenceServerClient(served.url) as client:
            asks = [asyncio.create_task(_ask(client, fresh_name, n)) for n in range(32)]
            await asyncio.to_thread(lambda: [gate.entered.acquire() for _ in asks])
            for ask in asks[::2]:
                ask.cancel()
            await asyncio.to_thread(lambda: [gate.cancelled.acquire() for _ in asks[::2]])
            gate.open.set()
            results = await asyncio.gather(*asks, return_exceptions=True)
            assert all(isinstance(result, asyncio.CancelledError) for result in results[::2])
            assert results[1::2] == [None] * 16

    served.run(scenario())
