"""A server that is attacked, and what it answers."""

from __future__ import annotations

import http.client
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import grpc
from tritonclient.grpc import service_pb2

METHOD = "/inference.GRPCInferenceService/ModelInfer"
WAIT_S = 120

Outcomes = Counter[str]


class Target:
    """Addresses of a server that serves the models of ``attack_server.py``."""

    def __init__(self, grpc_address: str, http_address: str) -> None:
        self.grpc, self.http = grpc_address, http_address

    def channel(self) -> grpc.Channel:
        """A connection of its own, which limits nothing."""
        most = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        return grpc.insecure_channel(self.grpc, [*most, ("grpc.use_local_subchannel_pool", 1)])

    def infer(self, data: bytes, **options: Any) -> str:
        """The status of one serialised request."""
        with self.channel() as channel:
            try:
                channel.unary_unary(METHOD)(data, timeout=WAIT_S, **options)
            except grpc.RpcError as error:
                return str(error.code().name)
        return "OK"

    def post(self, model: str, body: bytes, headers: Mapping[str, str] | None = None) -> str:
        """The status of one request over HTTP."""
        with closing(http.client.HTTPConnection(self.http, timeout=WAIT_S)) as connection:
            try:
                connection.request("POST", f"/v2/models/{model}/infer", body, dict(headers or {}))
                answer = connection.getresponse()
                answer.read()
                return str(answer.status)
            except (BrokenPipeError, ConnectionResetError):
                return "closed"


def request(model: str, datatype: str, shape: list[int], raw: bytes) -> bytes:
    """A serialised ModelInferRequest with one raw input, ``x``."""
    message = service_pb2.ModelInferRequest(model_name=model)
    message.inputs.add(name="x", datatype=datatype, shape=shape)
    message.raw_input_contents.append(raw)
    return bytes(message.SerializeToString())
