"""Calls of gRPC by hand, frame by frame, as no library would make them."""

from __future__ import annotations

import select
import socket
import struct
from typing import Self

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_HEADERS, END_STREAM, ACK = 4, 1, 1
_WINDOW = 65_535
_FRAME_BYTES = 16_384


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    """One frame."""
    return struct.pack(">I", len(content))[1:] + struct.pack(">BBI", kind, flags, stream) + content


def headers(**members: str) -> bytes:
    """A block of headers without compression; ``_`` in a name stands for ``-``."""
    pairs = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/inference.GRPCInferenceService/ModelInfer",
        ":authority": "x",
        "content-type": "application/grpc",
        "te": "trailers",
        **{name.replace("_", "-"): value for name, value in members.items()},
    }
    return b"".join(b"\x00" + _text(name) + _text(value) for name, value in pairs.items())


def _text(text: str) -> bytes:
    length, encoded = len(text), bytearray()
    if length < 127:
        return bytes([length]) + text.encode()
    encoded.append(127)
    length -= 127
    while length > 127:
        encoded.append(length & 127 | 128)
        length >>= 7
    return bytes(encoded) + bytes([length]) + text.encode()


class RawConnection:
    """A connection that sends what the server's windows allow, and remembers what it said."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=10)
        self._read = b""
        self._initial = _WINDOW
        self._windows = {0: _WINDOW}
        self.ended: set[int] = set()
        """Streams that the server has ended, 0 once all are."""
        self.send(PREFACE + frame(SETTINGS, 0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Send as it is; what cannot be sent ends everything."""
        try:
            self._socket.sendall(data)
        except OSError:
            self.ended.add(0)

    def open(self, stream: int) -> None:
        """Begin a call."""
        self._windows[stream] = self._initial
        self.send(frame(HEADERS, END_HEADERS, stream, headers()))

    def upload(self, stream: int, data: bytes, silence_s: float = 1.0) -> bool:
        """Send part of a call's body; False once the server has ended it, or opens no window."""
        at = 0
        while at < len(data):
            room = min(self._windows[0], self._windows[stream], _FRAME_BYTES)
            if room <= 0 or select.select([self._socket], [], [], 0)[0]:
                if not self.hear(silence_s):
                    return False
            elif stream in self.ended or 0 in self.ended:
                return False
            else:
                part = data[at : at + room]
                self.send(frame(DATA, 0, stream, part))
                self._windows[0] -= len(part)
                self._windows[stream] -= len(part)
                at += len(part)
        return True

    def hear(self, silence_s: float) -> bool:
        """Read what the server says; False if it says nothing."""
        if not select.select([self._socket], [], [], silence_s)[0]:
            return False
        try:
            said = self._socket.recv(1 << 16)
        except OSError:
            said = b""
        if not said:
            self.ended.add(0)
            return False
        self._read += said
        while len(self._read) >= 9:
            size = int.from_bytes(self._read[:3], "big")
            if len(self._read) < 9 + size:
                break
            kind, flags, stream = struct.unpack(">BBI", self._read[3:9])
            self._heard(kind, flags, stream, self._read[9 : 9 + size])
            self._read = self._read[9 + size :]
        return True

    def _heard(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        if kind == WINDOW_UPDATE:
            more = int.from_bytes(content, "big")
            self._windows[stream] = self._windows.get(stream, self._initial) + more
        elif kind == SETTINGS and not flags & ACK:
            for name, value in struct.iter_unpack(">HI", content):
                if name == 4:
                    change, self._initial = value - self._initial, value
                    for other in self._windows:
                        self._windows[other] += change if other else 0
            self.send(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, content))
        elif kind == RST_STREAM or (kind in (HEADERS, DATA) and flags & 1):
            self.ended.add(stream)
