"""The server's memory over 10,000 requests of every fate."""

import asyncio

import grpc
import numpy as np
import psutil
import pytest
from tritonclient.grpc import service_pb2

METHOD = "/inference.GRPCInferenceService/ModelInfer"
REQUESTS = 10_000
USERS = 16
GROWTH_LIMIT = 0.02


def _request(values, name="x"):
    request = service_pb2.ModelInferRequest(model_name="identity")
    request.inputs.add(name=name, datatype="FP32", shape=[values])
    request.raw_input_contents.append(np.zeros(values, np.float32).tobytes())
    return request.SerializeToString()


FATES = (_request(16), _request(20_000), _request(16, name="wrong"), b"\xff\xff")


async def _send(port, count):
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary(METHOD)

        async def user(number):
            for index in range(count // USERS):
                running = call(FATES[(number + index) % len(FATES)])
                if index % 10 == 9:
                    running.cancel()
                await asyncio.wait([asyncio.ensure_future(running.code())])

        await asyncio.gather(*(user(number) for number in range(USERS)))


@pytest.mark.slow
def test_resident_memory_is_flat(process):
    port = int(process.stdout.readline())
    memory = psutil.Process(process.pid).memory_info
    asyncio.run(_send(port, REQUESTS // 2))  # allocators and connections warm up
    before_bytes = memory().rss
    asyncio.run(_send(port, REQUESTS))
    assert memory().rss <= before_bytes * (1 + GROWTH_LIMIT)
