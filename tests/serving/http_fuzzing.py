"""Malformed HTTP requests, each made by a random generator, as the bytes that are sent."""

from __future__ import annotations

import gzip
import json
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Headers = dict[str, str]

NUMBERS: Sequence[Any] = (
    0, -1, 1, 3, 2**31, 2**62, 2**63, -(2**63), 2**64, 10**400, 0.5, 1e308, True, None, "1", [], {},
)  # fmt: skip
TEXTS = ("", "x", "a", "FP32", "BYTES", "BF16", "FP99", "\0", "ü" * 5000, "\ud800", "%s{0}", "../x")
LENGTHS = ("", "0", "-1", "+5", "1e3", "7 7", "0x10", "²", "1" * 5000, "99999999999999999999")
PATHS = (
    "/v2", "/v2/models/identity/infer", "/v2/models//infer", "/v2/models/%00/infer",
    "/v2/models/..%2f..%2fetc/infer", "/v2/../../etc/passwd",
    "/v2/models/identity/versions/9/infer", "/v2/models/" + "n" * 9000, "/v2/repository/index",
    "/v2/models/stats", "*", "//",
    "http://[::1", "/v2/models/ü/config", "/v2/health/live?" + "q=1&" * 500,
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW", "G\0T", "")


def head(headers: Mapping[str, str], method: str = "POST", path: str = PATHS[1]) -> bytes:
    """A request's first lines."""
    lines = [f"{method} {path} HTTP/1.1", "Host: fuzz", *map(": ".join, headers.items()), "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogatepass")


def request(document: Any, raw: bytes = b"", **options: str) -> bytes:
    """A whole one; with bytes of tensors behind the document, if there are any."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    headers = {"Content-Length": str(len(body) + len(raw))}
    if raw:
        headers["Inference-Header-Content-Length"] = str(len(body))
    return head(headers, **options) + body + raw


def query(values: Sequence[float], text: str = "1") -> dict[str, Any]:
    """What model "identity" answers with these values."""
    tensor = {"name": "x", "datatype": "FP32", "shape": [len(values)], "data": list(values)}
    return {"id": text, "inputs": [tensor]}


def _binary(rng: random.Random) -> bytes:
    values = [float(rng.randrange(100)) for _ in range(rng.randrange(1, 50))]
    document = query(values)
    del document["inputs"][0]["data"]
    document["inputs"][0]["parameters"] = {"binary_data_size": 4 * len(values)}
    return request(document, struct.pack(f"<{len(values)}f", *values))


def _valid(rng: random.Random) -> bytes:
    return rng.choice((request(query([1.5, -2.0])), _binary(rng)))


def flipped(rng: random.Random) -> bytes:
    """Some bytes of a whole request are other ones, too many, or missing."""
    data = bytearray(_valid(rng))
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(4))
    return bytes(data)


def cut(rng: random.Random) -> bytes:
    """It ends early, in its head or its body."""
    data = _valid(rng)
    return data[: rng.randrange(len(data))]


def odd_fields(rng: random.Random) -> bytes:
    """JSON whose members are of other types and sizes, or there twice."""
    document: dict[str, Any] = query([1.0, 2.0])
    tensor = document["inputs"][0]
    tensor["parameters"] = parameters = {}
    for _ in range(rng.randrange(1, 4)):
        target = rng.choice((document, tensor, parameters))
        keys = ("id", "inputs", "outputs", "parameters", "name", "datatype", "shape", "data")
        keys += ("binary_data_size", "timeout", "priority", "binary_data_output", "classification")
        keys += ("shared_memory_region", "shared_memory_byte_size", "shared_memory_offset")
        target[rng.choice(keys)] = _odd(rng)
    if rng.random() < 0.3:
        document["inputs"] = [tensor] * rng.randrange(4)
    text = json.dumps(document)
    if rng.random() < 0.2:
        text = text.replace('"shape"', '"shape": [1], "shape"', 1)
    return request(text.encode("utf-8", "surrogatepass"))


def _odd(rng: random.Random) -> Any:
    match rng.randrange(4):
        case 0:
            return rng.choice(NUMBERS)
        case 1:
            return rng.choice(TEXTS)
        case 2:
            return [rng.choice(NUMBERS) for _ in range(rng.randrange(70))]
        case _:
            names = ("binary_data", "classification", "shared_memory_region")
            return [
                {"name": rng.choice(TEXTS), "parameters": {rng.choice(names): rng.choice(NUMBERS)}}
            ]


def wrong_lengths(rng: random.Random) -> bytes:
    """Headers that say other lengths than the body has, or several."""
    body = json.dumps(query([1.0])).encode()
    right = str(len(body))
    names = ("Content-Length", "Inference-Header-Content-Length")
    headers = {
        name: rng.choice((right, right, *LENGTHS, str(rng.randrange(200)))) for name in names
    }
    lines = head(headers)
    if rng.random() < 0.2:
        lines = lines[:-2] + b"Content-Length: " + rng.choice(LENGTHS).encode() + b"\r\n\r\n"
    return lines + body


def wrong_bytes(rng: random.Random) -> bytes:
    """Sizes of the tensors' bytes that are not there."""
    document = query([])
    tensor = document["inputs"][0]
    del tensor["data"]
    tensor["datatype"] = rng.choice(("FP32", "BYTES", "BOOL", "INT64", "FP16"))
    tensor["shape"] = [rng.choice((0, 1, 4, -1, 2**62, 2**40)) for _ in range(rng.randrange(40))]
    tensor["parameters"] = {"binary_data_size": rng.choice((0, 4, 16, 2**31, 2**63, -4))}
    model = rng.choice(("identity", "texts", "arithmetic"))
    return request(document, rng.randbytes(rng.randrange(1, 64)), path=f"/v2/models/{model}/infer")


def deep(rng: random.Random) -> bytes:
    """Lists or objects within each other."""
    depth = rng.choice((2, 33, 70, 900, 5_000, 100_000))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"inputs":', b"}")))
    data = opening * depth + b"1" + closing * (depth if rng.random() < 0.7 else 0)
    before = b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":'
    return request(rng.choice((data, before + data + b"}]}")))


def odd_values(rng: random.Random) -> bytes:
    """Values that JSON has, or nearly has, and a tensor does not."""
    odd = ("NaN", "-Infinity", "1e999", "9" * 6_000, f'"{"a" * 200_000}"', "[1]", "tru", "1", "0.5")
    values = [rng.choice(("1", "-0.0", '""'))] * rng.choice((1, 3, 5_000))
    values[rng.randrange(len(values))] = rng.choice(odd)
    datatype = rng.choice(("FP32", "INT8", "UINT64", "BYTES", "BOOL", "FP16"))
    body = f'{{"inputs":[{{"name":"x","datatype":"{datatype}","shape":[{len(values)}],"data":['
    model = rng.choice(("identity", "texts"))
    return request(
        body.encode() + ",".join(values).encode() + b"]}]}", path=f"/v2/models/{model}/infer"
    )


def not_utf8(rng: random.Random) -> bytes:
    """A body of other bytes, or of another encoding."""
    text = json.dumps(query([1.0]))
    encodings = ("utf-16", "utf-32", "utf-8-sig", "utf-7")
    bodies = [text.encode(encoding) for encoding in encodings]
    bodies.append(text.replace("FP32", "F\N{BOM}32").encode().replace(b"32", b"\xc3\x28\xff"))
    return request(rng.choice((*bodies, rng.randbytes(300))))


def chunked(rng: random.Random) -> bytes:
    """A body in chunks, some of which have wrong sizes."""
    body = json.dumps(query([1.0])).encode()
    size = rng.choice(
        (f"{len(body):x}", "0", "-1", "fffffffff", "g", "", "1" * 40, f"{len(body):x};a=b")
    )
    headers = {
        "Transfer-Encoding": rng.choice(("chunked", "chunked, chunked", "gzip, chunked", "x"))
    }
    if rng.random() < 0.2:
        headers["Content-Length"] = str(len(body))
    return (
        head(headers) + size.encode() + b"\r\n" + body + rng.choice((b"\r\n0\r\n\r\n", b"0", b""))
    )


def packed(rng: random.Random) -> bytes:
    """A body said to be compressed, which is broken, or unpacks to more than may be sent."""
    body = gzip.compress(rng.choice((json.dumps(query([1.0])).encode(), b" " * (4 << 20))))
    body = body[: rng.choice((len(body), len(body) // 2))] + rng.randbytes(rng.randrange(3))
    coding = rng.choice(("gzip", "deflate", "br", "zstd", "gzip, gzip", "identity"))
    return head({"Content-Encoding": coding, "Content-Length": str(len(body))}) + body


def odd_heads(rng: random.Random) -> bytes:
    """First lines and headers of many kinds."""
    headers = {f"X-{n}": rng.choice(TEXTS) for n in range(rng.choice((0, 3, 200)))}
    headers |= {"Expect": rng.choice(("100-continue", "x"))} if rng.random() < 0.3 else {}
    headers |= {"Upgrade": "websocket", "Connection": "Upgrade"} if rng.random() < 0.2 else {}
    headers |= {"X-Long": "y" * 70_000} if rng.random() < 0.1 else {}
    return head(headers, rng.choice(METHODS), rng.choice(PATHS))


def too_large(rng: random.Random) -> bytes:
    """More than the server takes."""
    return request(b" " * (1 << 20) + json.dumps(query([1.0])).encode())


MALFORMED: Sequence[Callable[[random.Random], bytes]] = (
    flipped, cut, odd_fields, wrong_lengths, wrong_bytes, deep, odd_values, not_utf8, chunked,
    packed, odd_heads, too_large,
)  # fmt: skip
