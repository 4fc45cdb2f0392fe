"""Health checks over gRPC: what both front ends say, and that the native one waits for nobody."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator

import grpc
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2

from surplus.engine.serving.messages import SERVICE, message_type
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving.fakes import WAIT_S, ServerThread, identity

Health = message_type("HealthCheckRequest", "grpc.health.v1")
Status = message_type("HealthCheckResponse", "grpc.health.v1")


def health_of(url: str, service: str = "") -> int:
    with grpc.insecure_channel(url) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        data = check(Health(service=service).SerializeToString(), timeout=WAIT_S)
        return Status.FromString(data).status


def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds."""
    waiting = threading.Event()
    for _ in range(int(WAIT_S * 100)):
        if holds():
            return
        waiting.wait(0.01)
    raise AssertionError("it never held")


@pytest.fixture
def client(own_server) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(own_server.url) as client:
        yield client


def test_a_model_comes_goes_and_comes_back(own_server, client) -> None:
    models = own_server.server.plane.models
    one, two = (own_server.call(models.add, "m", version) for version in ("1", "2"))

    def said() -> tuple[bool, ...]:
        versions = [client.is_model_ready("m", version) for version in ("", "1", "2", "3")]
        served = health_of(own_server.url, SERVICE) == Status.SERVING
        assert served == client.is_server_ready()
        return (*versions, served)

    assert said() == (False, False, False, False, False)
    own_server.call(one.set_ready, identity())
    assert said() == (True, True, False, False, True)
    own_server.call(two.set_ready, identity())
    own_server.call(one.unload)
    assert said() == (True, False, True, False, True)
    own_server.call(two.set_unavailable, "a test's")
    assert said() == (False, False, False, False, True)  # one was unloaded on request
    own_server.call(one.reload)
    assert said() == (True, True, False, False, True)
    own_server.call(one.set_unavailable, "a test's")
    assert said() == (False, False, False, False, False)


def test_unknown_models_and_names_that_are_none(own_server, client) -> None:
    own_server.serve("m", identity())
    assert not client.is_model_ready("another")
    with grpc.insecure_channel(own_server.url) as channel:
        call = channel.unary_unary(f"/{SERVICE}/ModelReady")
        odd = service_pb2.ModelReadyRequest(name="m").SerializeToString() + b"\x38\x01"
        assert service_pb2.ModelReadyResponse.FromString(call(odd, timeout=WAIT_S)).ready
        with pytest.raises(grpc.RpcError) as caught:
            call(b"\x0a\x01\xff", timeout=WAIT_S)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_model_that_can_answer_nothing_more_is_not_ready(own_server, client) -> None:
    executor = own_server.serve("m", identity())
    assert client.is_model_ready("m")
    assert client.is_server_ready()
    executor.failure = "its device is lost"
    until(lambda: not client.is_model_ready("m") and not client.is_server_ready())
    executor.failure = ""
    until(lambda: client.is_model_ready("m") and client.is_server_ready())


def test_a_server_that_drains_is_not_ready(own_server, client) -> None:
    own_server.serve("m", identity())
    assert client.is_server_ready()
    own_server.call(own_server.server.plane.abandon)
    assert not client.is_server_ready()
    assert health_of(own_server.url) == Status.NOT_SERVING


def _got(connection: http.client.HTTPConnection, path: str) -> tuple[int, object]:
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_the_native_front_end_waits_for_nobody() -> None:
    """Whatever Python does: here it waits."""
    server = ServerThread(ServerParams(grpc_port=0, http_port=0, front_end=FrontEnd.NATIVE))
    done = threading.Event()
    try:
        server.serve("m", identity())
        blocked = threading.Thread(target=server.call, args=(done.wait, WAIT_S))
        blocked.start()
        with triton.InferenceServerClient(server.url) as client:
            assert client.is_server_live(client_timeout=WAIT_S)
            assert client.is_server_ready(client_timeout=WAIT_S)
            assert client.is_model_ready("m", client_timeout=WAIT_S)
        assert health_of(server.url) == Status.SERVING
        rest = http.client.HTTPConnection("127.0.0.1", server.server.http_port, timeout=WAIT_S)
        assert _got(rest, "/v2/health/ready") == (200, {"ready": True})
        assert _got(rest, "/v2/models/m/ready") == (200, {"name": "m", "ready": True})
        assert _got(rest, "/v2/models/m/versions/1/ready")[0] == 200
        rest.close()
        assert blocked.is_alive()
        done.set()
        blocked.join()
    finally:
        done.set()
        server.stop()
