"""A server that is to stop first says that it is not ready, and answers all the same."""

from __future__ import annotations

import asyncio
import http.client
from concurrent.futures import Future

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton

from surplus.engine.serving.messages import SERVICE
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving.fakes import WAIT_S, ServerThread, identity
from tests.serving.test_readiness import Status, health_of, until


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_not_ready_and_answering_until_it_is_hurried(front_end: FrontEnd) -> None:
    delay_s = 100 * WAIT_S  # only a second signal ends it within this test
    params = ServerParams(grpc_port=0, http_port=0, front_end=front_end, drain_delay_s=delay_s)
    server = ServerThread(params)
    server.serve("m", identity())
    query = triton.InferInput("x", [2], "FP32").set_data_from_numpy(np.float32([1, 2]))
    with triton.InferenceServerClient(server.url) as client:
        assert client.is_server_ready()
        stopped: Future[bool] = asyncio.run_coroutine_threadsafe(server.server.stop(), server.loop)
        until(lambda: not client.is_server_ready())
        assert client.is_server_live()
        assert health_of(server.url, SERVICE) == Status.NOT_SERVING
        assert _rest_status(server, "ready") == 400
        assert _rest_status(server, "live") == 200
        assert client.infer("m", [query]).as_numpy("y").tolist() == [1, 2]
        assert not stopped.done()
        server.call(server.server.hurry)
        assert stopped.result(WAIT_S) is True
    with grpc.insecure_channel(server.url) as channel:
        call = channel.unary_unary(f"/{SERVICE}/ServerLive")
        with pytest.raises(grpc.RpcError):
            call(b"", timeout=WAIT_S)
    server.end()


def _rest_status(server: ServerThread, what: str) -> int:
    connection = http.client.HTTPConnection(server.http_url, timeout=WAIT_S)
    connection.request("GET", f"/v2/health/{what}")
    status = connection.getresponse().status
    connection.close()
    return status
