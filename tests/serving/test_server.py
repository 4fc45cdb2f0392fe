import asyncio
import http.client
import json
import re
import signal
import socket
import sys

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import surplus.engine.serving.server as server_module
from surplus.engine.errors import ConfigError
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving.fakes import WAIT_S, ServerThread, ask_async, identity, tensor


def _vector():
    return [tensor("x", np.ones(1, np.float32), "FP32")]


def test_port_in_use_is_a_config_error(served, capfd):
    async def start():
        await AsyncServer(ServerParams(grpc_port=served.port)).start()

    with pytest.raises(ConfigError, match=f"127.0.0.1:{served.port}: Address already in use"):
        served.run(start())
    assert capfd.readouterr() == ("", "")  # nor does gRPC write to stderr


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("192.0.2.7", "Cannot assign requested address"),  # of RFC 5737's, which nobody has
        ("no.such.host.invalid", "Name or service not known|failure in name resolution"),
        ("x" * 64, "label"),  # no name: too long for the IDNA codec
        ("::2", "Cannot assign requested address|Address family"),
    ],
)
@pytest.mark.parametrize("http_port", [None, 0])
def test_a_host_that_is_not_ours_is_said_once(host, reason, http_port, capfd):
    params = ServerParams(host=host, grpc_port=0, http_port=http_port)
    shown = f"[{host}]" if ":" in host else host
    with pytest.raises(ConfigError, match=rf"{re.escape(shown)}:0: .*({reason})"):
        asyncio.run(_started(params))
    assert capfd.readouterr() == ("", "")


async def _started(params):
    server = AsyncServer(params)
    await server.start()
    await server.stop()


@pytest.mark.parametrize("host", ["localhost", "0.0.0.0"])
def test_hosts_of_ours_are_listened_on(host):
    asyncio.run(_started(ServerParams(host=host, grpc_port=0, http_port=0)))


def test_http_port_in_use_stops_the_start(served):
    port = served.server.http_port

    async def start():
        await AsyncServer(ServerParams(grpc_port=0, http_port=port)).start()

    with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: Address already in use"):
        served.run(start())


def test_http_stops_where_grpc_cannot_start(served):
    server = AsyncServer(ServerParams(grpc_port=served.port, http_port=0))

    async def start():
        await server.start()

    with pytest.raises(ConfigError, match=f"127.0.0.1:{served.port}"):
        served.run(start())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.http_port), timeout=WAIT_S)


def test_http_without_aiohttp_is_a_config_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "surplus.engine.serving.http_listener", None)

    async def start():
        params = ServerParams(grpc_port=0, http_port=0, front_end=FrontEnd.PYTHON)
        await AsyncServer(params).start()

    with pytest.raises(ConfigError, match=r"pip install 'surplus-engine\[http\]'"):
        asyncio.run(start())


def test_http_needs_no_aiohttp_where_the_front_end_speaks_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.setitem(sys.modules, "surplus.engine.serving.http_listener", None)
    asyncio.run(_started(ServerParams(grpc_port=0, http_port=0, front_end=FrontEnd.NATIVE)))


def test_http_is_aiohttps_where_there_is_no_parser(monkeypatch, caplog):
    monkeypatch.setattr(server_module, "missing_parser", lambda: "built without llhttp")
    asyncio.run(_started(ServerParams(grpc_port=0, http_port=0)))
    assert "HTTP by Python, which is slower: built without llhttp" in caplog.text


def test_the_front_end_that_is_insisted_on_needs_its_parser(monkeypatch):
    monkeypatch.setattr(server_module, "missing_parser", lambda: "it is not there")
    params = ServerParams(grpc_port=0, http_port=0, front_end=FrontEnd.NATIVE)
    with pytest.raises(ConfigError, match="cannot serve HTTP: it is not there"):
        asyncio.run(_started(params))


@pytest.mark.parametrize("missing", ["missing_parser", "missing_library"])
def test_one_port_needs_both_libraries(monkeypatch, missing):
    monkeypatch.setattr(server_module, missing, lambda **_: "it is not there")
    with pytest.raises(ConfigError, match="it is not there"):
        asyncio.run(_started(ServerParams(grpc_port=0, one_port=True)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"http_port": -1}, "http_port is -1"),
        ({"grpc_port": 65536}, "grpc_port is 65536"),
        ({"drain_timeout_s": -1}, "drain_timeout_s is -1"),
        ({"drain_timeout_s": float("nan")}, "drain_timeout_s is nan"),
        ({"max_message_bytes": 2**31}, "max_message_bytes is"),
        ({"one_port": True, "http_port": 8000}, "http_port is 8000, and one_port"),
        ({"one_port": True, "front_end": FrontEnd.PYTHON}, "front_end is python"),
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


def test_drain_over_http(own_server):
    gate = own_server.gate("gate")
    query = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]})
    first = http.client.HTTPConnection(own_server.http_url, timeout=WAIT_S)
    first.request("POST", "/v2/models/gate/infer", query)
    assert gate.entered.acquire(timeout=WAIT_S)

    async def begin_stop():
        stopping = asyncio.create_task(own_server.server.stop())
        await asyncio.sleep(0)
        return stopping

    async def finish():
        return await stopping

    stopping = own_server.run(begin_stop())
    second = http.client.HTTPConnection(own_server.http_url, timeout=WAIT_S)
    for path, status, key in (
        ("health/live", 200, "live"),
        ("health/ready", 400, "ready"),
        ("models/gate/ready", 200, "ready"),
    ):
        second.request("GET", f"/v2/{path}")
        answer = second.getresponse()
        assert (json.loads(answer.read())[key], answer.status) == (status == 200, status)
    second.close()
    own_server.call(gate.open.set)
    answer = first.getresponse()
    assert answer.status == 200
    assert json.loads(answer.read())["outputs"][0]["data"] == [1.0]
    first.close()
    assert own_server.run(finish())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", own_server.server.http_port), timeout=WAIT_S)


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


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_a_client_that_says_nothing_loses_its_connection(front_end):
    """It holds a file descriptor, of which there are so many."""
    thread = ServerThread(ServerParams(grpc_port=0, front_end=front_end, max_handshake_s=0.05))
    try:
        host, port = thread.url.split(":")
        with socket.create_connection((host, int(port)), timeout=60) as silent:
            while silent.recv(1 << 16):
                pass  # the server's settings
    finally:
        thread.stop()
