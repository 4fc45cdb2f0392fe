"""Clients that do not wait for their answers, take them byte by byte, or never come to an end."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import Counter
from contextlib import ExitStack, suppress

from bench.safety.http2_attacks import CANCEL
from bench.safety.raw_http2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    RawConnection,
    frame,
    headers,
)
from bench.safety.target import METHOD, WAIT_S, Outcomes, Target, request

CLIENTS, CALLS_EACH = 10_000, 64
CANCELLED, CANCELLED_EACH = 100_000, 1000
_WRITERS, _WRITING_S = 200, 8
_NARROW_CALLS = 64
_AT_ONCE = struct.pack("ii", 1, 0)  # of SO_LINGER: the connection is reset


def _call(stream: int, message: bytes) -> bytes:
    body = struct.pack(">BI", 0, len(message)) + message
    return frame(HEADERS, END_HEADERS, stream, headers()) + frame(DATA, END_STREAM, stream, body)


def _zeros(count: int) -> bytes:
    return request("zeros", "INT64", [1], struct.pack("<q", count))


def vanishing(target: Target, clients: int = CLIENTS) -> Outcomes:
    """10,000 clients that go away with 64 calls in flight, whose answers are of 1 MB; each other
    one by a reset.
    """
    host, port = target.grpc.split(":")
    said = PREFACE + frame(SETTINGS, 0, 0)
    said += b"".join(_call(1 + 2 * call, _zeros(250_000)) for call in range(CALLS_EACH))
    found: Outcomes = Counter()
    for number in range(clients):
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as client:
            client.sendall(said)
            answered = select.select([client], [], [], WAIT_S)[0]
            found["gone" if answered and client.recv(1 << 16) else "not heard"] += 1
            if number % 2:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    return found


def vanishing_uploads(target: Target) -> Outcomes:
    """200 clients of gRPC that go away with 64 calls of 600 kB in flight."""
    data = request("identity", "FP32", [150_528], bytes(602_112))
    for _ in range(200):
        channel = target.channel()
        call = channel.unary_unary(METHOD)
        for _ in range(CALLS_EACH):
            call.future(data, timeout=WAIT_S)
        channel.close()
    return Counter(["gone"] * 200)


def cancelled_calls(target: Target, calls: int = CANCELLED) -> Outcomes:
    """100,000 whole calls, 1,000 a connection, each cancelled as soon as it is sent."""
    found: Outcomes = Counter()
    message = _zeros(250_000)
    for _ in range(0, calls, CANCELLED_EACH):
        with RawConnection(target.grpc) as connection:
            for stream in range(1, 2 * CANCELLED_EACH, 2):
                connection.send(_call(stream, message) + frame(RST_STREAM, 0, stream, CANCEL))
                if stream % 100 == 1:
                    while connection.hear(0):
                        pass
            found["ended" if 0 in connection.ended else "taken"] += CANCELLED_EACH
    return found


def slow_writers(target: Target, seconds: float = _WRITING_S) -> Outcomes:
    """200 clients, half over HTTP, that write their query byte by byte."""
    body = bytes(4096)
    queries = {
        target.grpc: PREFACE + frame(SETTINGS, 0, 0) + _call(1, body),
        target.http: b"POST /v2/models/identity/infer HTTP/1.1\r\nHost: x\r\n"
        b"Content-Length: 4096\r\n\r\n" + body,
    }
    found: Outcomes = Counter()
    with ExitStack() as opened:
        writers = []
        for address, query in queries.items():
            host, port = address.split(":")
            for _ in range(_WRITERS // 2):
                client = socket.create_connection((host, int(port)), timeout=WAIT_S)
                writers.append((opened.enter_context(client), query))
        end_s, at = time.monotonic() + seconds, 0
        while time.monotonic() < end_s:
            for client, query in writers:
                with suppress(OSError):
                    client.send(query[at : at + 1])
            at += 1
            time.sleep(0.02)
        for client, _ in writers:
            found["ended" if _has_ended(client) else "held"] += 1
    return found


def _has_ended(client: socket.socket) -> bool:
    client.settimeout(0)
    try:
        while client.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def window_of_one(target: Target) -> Outcomes:
    """64 calls with answers of 1 MB of which the client takes a byte at a time."""
    with RawConnection(target.grpc) as connection:
        connection.send(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1)))
        for call in range(_NARROW_CALLS):
            connection.send(_call(1 + 2 * call, _zeros(250_000)))
        for _ in range(200):
            for call in range(_NARROW_CALLS):
                connection.send(frame(WINDOW_UPDATE, 0, 1 + 2 * call, struct.pack(">I", 1)))
            connection.hear(0.01)
        ended = 0 in connection.ended
        answered = len(connection.ended - {0})
    return Counter({"connection ended" if ended else "connection held": 1, "ended": answered})
