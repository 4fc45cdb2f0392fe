"""What hostile clients send to a server: small requests that would cost much, and many of them.

Long because each attack is a few lines, and whoever reads one wants to see what others there are.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

import grpc
import numpy as np
from tritonclient.grpc import service_pb2

from bench.safety import call_attacks, http2_attacks, value_attacks
from bench.safety.raw_http2 import RawConnection
from bench.safety.target import METHOD, WAIT_S, Outcomes, Target, request

LARGE_BYTES = 60 << 20
UPLOADS, UPLOAD_BYTES = 24, 50 << 20
CALLS, FLOOD = 20_000, 400


def _document(datatype: str, shape: list[int], data: str) -> bytes:
    head = json.dumps({"name": "x", "datatype": datatype, "shape": shape})[:-1]
    return f'{{"inputs": [{head}, "data": {data}}}]}}'.encode()


def json_text_for_numbers(target: Target) -> Outcomes:
    """One text of 1 MB among a thousand empty ones, for FP32."""
    texts = json.dumps(["a" * 1_000_000, *[""] * 1000])
    return Counter([target.post("identity", _document("FP32", [1001], texts))])


def json_nests(target: Target) -> Outcomes:
    """60 MB of empty lists."""
    body = _document("FP32", [1], "[" + "[]," * (LARGE_BYTES // 3) + "[]]")
    return Counter([target.post("identity", body)])


def json_numbers(target: Target) -> Outcomes:
    """60 MB of digits."""
    count = LARGE_BYTES // 4
    return Counter(
        [target.post("identity", _document("FP32", [count], "[" + "1.5," * (count - 1) + "1]"))]
    )


def protobuf_nests(target: Target) -> Outcomes:
    """60 MB of inputs of two bytes."""
    return Counter([target.infer(b"\x2a\x00" * (LARGE_BYTES // 2))])


def rank(target: Target) -> Outcomes:
    """A shape of 80,000 dimensions."""
    return Counter([target.infer(request("identity", "FP32", [2**62] * 80_000, b""))])


def http_gzip(target: Target) -> Outcomes:
    """1 MB that is 1 GB."""
    body = gzip.compress(bytes(1 << 30), 9)
    return Counter([target.post("identity", body, {"Content-Encoding": "gzip"})])


def grpc_gzip(target: Target) -> Outcomes:
    """1 MB that is 1 GB, by the protocol's own compression."""
    data = request("identity", "FP32", [1 << 28], bytes(1 << 30))
    return Counter([target.infer(data, compression=grpc.Compression.Gzip)])


def held_uploads(target: Target) -> Outcomes:
    """24 bodies of 50 MB over HTTP that lack their last byte."""
    head = f"POST /v2/models/identity/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {UPLOAD_BYTES}"
    found: Outcomes = Counter()
    with ExitStack() as opened:
        for _ in range(UPLOADS):
            connection = opened.enter_context(_connected(target.http))
            try:
                connection.sendall(head.encode() + b"\r\n\r\n" + bytes(UPLOAD_BYTES - 1))
                found[_first_line(connection)] += 1
            except OSError:
                found[_first_line(connection)] += 1
    return found


def _connected(address: str) -> socket.socket:
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), timeout=2)


def _first_line(connection: socket.socket) -> str:
    try:
        said = connection.recv(64).decode(errors="replace").split(" ")
    except TimeoutError:
        return "held"
    except OSError:
        return "closed"
    return said[1] if len(said) > 1 else "closed"


def held_calls(target: Target) -> Outcomes:
    """24 messages of 50 MB over gRPC that lack their last byte."""
    begun = struct.pack(">BI", 0, UPLOAD_BYTES) + bytes(UPLOAD_BYTES - 1)
    found: Outcomes = Counter()
    with ExitStack() as opened:
        for _ in range(UPLOADS):
            connection = opened.enter_context(RawConnection(target.grpc))
            connection.open(1)
            found["held" if connection.upload(1, begun) else "ended"] += 1
    return found


def calls_at_once(target: Target) -> Outcomes:
    """20,000 calls on one connection."""
    data = request("identity", "FP32", [4], bytes(16))
    with target.channel() as channel:
        call = channel.unary_unary(METHOD)
        running = [call.future(data, timeout=WAIT_S) for _ in range(CALLS)]
        return Counter(str(future.code().name) for future in running)


def silent_connections(target: Target) -> Outcomes:
    """400 connections to each face that say nothing, for two seconds."""
    found: Outcomes = Counter()
    with ExitStack() as opened:
        for address in (target.grpc, target.http):
            for _ in range(FLOOD):
                with suppress(OSError):
                    opened.enter_context(_connected(address))
                    found["connected"] += 1
        threading.Event().wait(2)
    return found


def repeated_errors(target: Target) -> Outcomes:
    """4,000 malformed requests, for the log."""
    with target.channel() as channel:
        call = channel.unary_unary(METHOD)
        running = [call.future(b"\xff\xff", timeout=WAIT_S) for _ in range(4000)]
        return Counter(str(future.code().name) for future in running)


def huge_priority(target: Target) -> Outcomes:
    """Priorities that no 32 bits hold."""
    return Counter(_status_of_priority(target, value) for value in (2**31, 2**63 - 1))


def _status_of_priority(target: Target, value: int) -> str:
    message = service_pb2.ModelInferRequest.FromString(request("identity", "FP32", [4], bytes(16)))
    message.parameters["priority"].int64_param = value
    return target.infer(message.SerializeToString())


def strange_strings(target: Target) -> Outcomes:
    """BYTES that are no UTF-8."""
    raw = b"".join(struct.pack("<I", len(text)) + text for text in (b"\xff\xfe", b"\x00", b"\xc3"))
    return Counter([target.infer(request("texts", "BYTES", [3], raw))])


def least_by_minus_one(target: Target) -> Outcomes:
    """INT64's least divided by -1, and by zero."""
    least = struct.pack("<q", -(2**63))
    found: Outcomes = Counter()
    for divisor in (-1, 0):
        message = service_pb2.ModelInferRequest.FromString(request("quotient", "INT64", [1], least))
        message.inputs.add(name="by", datatype="INT64", shape=[1])
        message.raw_input_contents.append(struct.pack("<q", divisor))
        found[target.infer(message.SerializeToString())] += 1
    return found


def empty_batches(target: Target) -> Outcomes:
    """Nothing, for Einsum, LSTM, GRU and Conv."""
    shapes = {"sum": [0, 4, 8], "lstm": [3, 0, 5], "gru": [3, 0, 5], "filter": [1, 1, 0, 8]}
    return Counter(
        target.infer(request(name, "FP32", shape, b"")) for name, shape in shapes.items()
    )


ATTACKS: Mapping[str, Callable[[Target], Outcomes]] = {
    attack.__name__: attack
    for attack in (
        json_text_for_numbers,
        json_nests,
        json_numbers,
        value_attacks.empty_strings,
        protobuf_nests,
        value_attacks.protobuf_texts,
        value_attacks.protobuf_numbers,
        value_attacks.shared_memory,
        rank,
        http_gzip,
        grpc_gzip,
        value_attacks.large_answers,
        held_uploads,
        held_calls,
        calls_at_once,
        silent_connections,
        repeated_errors,
        huge_priority,
        strange_strings,
        least_by_minus_one,
        empty_batches,
        call_attacks.vanishing,
        call_attacks.vanishing_uploads,
        call_attacks.cancelled_calls,
        call_attacks.slow_writers,
        call_attacks.window_of_one,
        http2_attacks.rapid_reset,
        http2_attacks.endless_headers,
        http2_attacks.settings_flood,
        http2_attacks.ping_flood,
        http2_attacks.empty_frames,
        http2_attacks.window_flood,
        http2_attacks.priority_flood,
        http2_attacks.header_bomb,
        http2_attacks.slow_readers,
    )
}


def models() -> Iterator[tuple[str, Any]]:
    """Names and ONNX models of what the attacks ask."""
    import onnx
    from onnx import helper, numpy_helper

    texts = {
        "identity": "(float[n] x) => (float[n] y) { y = Identity(x) }",
        "texts": "(string[n] x) => (string[n] y) { y = Identity(x) }",
        "integers": "(int64[n] x) => (int64[n] y) { y = Identity(x) }",
        "zeros": "(int64[1] x) => (float[n] y) { y = ConstantOfShape(x) }",
        "quotient": "(int64[n] x, int64[n] by) => (int64[n] y) { y = Div(x, by) }",
        "sum": "(float[b,4,8] x) => (float[b,4,4] y)"
        ' { y = Einsum<equation = "bid,bjd->bij">(x, x) }',
    }
    head = '<ir_version: 8, opset_import: ["" : 17]> g '
    for name, text in texts.items():
        yield name, onnx.parser.parse_model(head + text)
    for name, kind, gates in (("lstm", "LSTM", 4), ("gru", "GRU", 3)):
        weights = {"w": (1, gates * 6, 5), "r": (1, gates * 6, 6)}
        node = helper.make_node(kind, ["x", "w", "r"], ["y"], hidden_size=6)
        yield name, _model(node, ["time", "batch", 5], weights, helper, numpy_helper)
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    yield "filter", _model(node, [1, 1, "h", "w"], {"w": (1, 1, 3, 3)}, helper, numpy_helper)


def _model(node: Any, shape: list[Any], weights: Any, helper: Any, numpy_helper: Any) -> Any:
    value = helper.make_tensor_value_info
    constants = [
        numpy_helper.from_array(np.zeros(size, np.float32), name) for name, size in weights.items()
    ]
    graph = helper.make_graph([node], "g", [value("x", 1, shape)], [value("y", 1, None)], constants)
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)
