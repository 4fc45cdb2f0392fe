import asyncio
import signal

import numpy as np
import pytest
import tritonclient.grpc as triton
from serving_fakes import WAIT_S, ask_async, identity, tensor
from tritonclient.utils import InferenceServerException

from engine.errors import ConfigError
from engine.serving.server import Server, ServerParams


def _vector():
    return [tensor("x", np.ones(1, np.float32), "FP32")]


def test_port_in_use_is_a_config_error(served, capfd):
    async def start():
        await Server(ServerParams(grpc_port=served.port)).start()

    with pytest.raises(ConfigError, match=f"127.0.0.1:{served.port}: the port is in use"):
        served.run(start())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grpc_port": 65536}, "grpc_port is 65536"),
        ({"drain_timeout_s": -1}, "drain_timeout_s is -1"),
        ({"max_message_bytes": 2**31}, "max_message_bytes is"),
    ],
)
def test_params_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        ServerParams(**options)


def test_drain_over_grpc(own_server):
    gate = own_server.gate("gate")
    executor = own_server.serve("identity", identity())
    with triton.InferenceServerClient(own_server.url) as client:
        answers = ask_async(client, "gate", _vector())
        assert gate.entered.acquire(timeout=WAIT_S)

        async def begin_stop():
            stopping = asyncio.create_task(own_server.server.stop())
            await asyncio.sleep(0)
            return stopping

        stopping = own_server.run(begin_stop())
        assert client.is_server_live()
        assert not client.is_server_ready()
        with pytest.raises(InferenceServerException, match="shutting down"):
            client.infer("identity", _vector())
        own_server.call(gate.open.set)
        answer, error = answers.get(timeout=WAIT_S)
        assert error is None
        assert answer.as_numpy("y").tolist() == [1]

        async def finish():
            return await stopping

        assert own_server.run(finish())
    assert executor.closed


def test_query_that_outlasts_the_drain_is_cancelled(own_server):
    gate = own_server.gate("gate")
    with triton.InferenceServerClient(own_server.url) as client:
        answers = ask_async(client, "gate", _vector())
        assert gate.entered.acquire(timeout=WAIT_S)
        own_server.call(own_server.server.plane.abandon)
        _, error = answers.get(timeout=WAIT_S)
        assert error.status() == "StatusCode.UNAVAILABLE"
        assert gate.cancelled.acquire(timeout=WAIT_S)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_drains_the_process(process, number):
    port = int(process.stdout.readline())
    with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
        answers = ask_async(client, "console", _vector())
        assert process.stdout.readline() == "entered\n"
        process.send_signal(number)
        assert process.stdout.readline() == "draining: 1 queries in flight\n"
        with pytest.raises(InferenceServerException, match="shutting down"):
            client.infer("console", _vector())
        process.stdin.write("\n")
        answer, error = answers.get(timeout=WAIT_S)
        assert error is None
        assert answer.as_numpy("y").tolist() == [1]
    output, _ = process.communicate(timeout=WAIT_S)
    assert output == "closed\nstopped\nfinished True\n"
    assert process.returncode == 0


def test_second_signal_ends_the_drain(process):
    port = int(process.stdout.readline())
    with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
        answers = ask_async(client, "console", _vector())
        assert process.stdout.readline() == "entered\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "draining: 1 queries in flight\n"
        process.send_signal(signal.SIGTERM)
        _, error = answers.get(timeout=WAIT_S)
        assert error.status() == "StatusCode.UNAVAILABLE"
        process.stdin.write("\n")  # frees the thread of the fake executor
    process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
