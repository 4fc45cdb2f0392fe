"""Tensors in system shared memory, by the helpers of Triton's clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from tritonclient.utils import shared_memory

from tests.serving.conformance.case import NOT_ASKED, Cases
from tests.serving.conformance.clients import (
    Client,
    Given,
    Part,
    Wanted,
    fresh,
    given,
    said,
    status,
)

cases = Cases("shared memory")

_VALUES = np.array([1.5, -2.0, 3.25, 8.0], np.float32)
_BYTES = 4096
_X = given("x", "FP32", _VALUES)


@contextmanager
def _memory(size_bytes: int = _BYTES) -> Iterator[tuple[str, Any]]:
    """A key of some shared memory, and what Triton's helpers hold of it."""
    name = fresh("memory")
    held = shared_memory.create_shared_memory_region(name, f"/{name}", size_bytes, create_only=True)
    try:
        yield f"/{name}", held
    finally:
        shared_memory.destroy_shared_memory_region(held)


@contextmanager
def _region(client: Client, size_bytes: int = _BYTES) -> Iterator[tuple[str, Any]]:
    """A region that is registered, and what Triton's helpers hold of it."""
    name = fresh("region")
    with _memory(size_bytes) as (key, held):
        client.call("register_system_shared_memory", name, key, size_bytes)
        try:
            yield name, held
        finally:
            client.call("unregister_system_shared_memory", name)


def _at(region: str, size_bytes: int = _VALUES.nbytes, offset: int = 0) -> Given:
    return Given("x", "FP32", (4,), Part(region, size_bytes, offset))


@cases({"y": ("FP32", [4], _VALUES.tolist())})
def an_input(client: Client) -> Any:
    with _region(client) as (name, held):
        shared_memory.set_shared_memory_region(held, [_VALUES])
        return client.answer("identity_FP32", [_at(name)])


@cases({"y": ("FP32", [4], _VALUES.tolist())})
def an_input_at_an_offset(client: Client) -> Any:
    with _region(client) as (name, held):
        shared_memory.set_shared_memory_region(held, [_VALUES], offset=64)
        return client.answer("identity_FP32", [_at(name, offset=64)])


@cases({"sum": ("FP32", [1, 4], [2.5, -1.0, 4.25, 9.0])})
def an_input_beside_one_that_is_sent(client: Client) -> Any:
    ones = given("b", "FP32", np.ones((1, 4), np.float32))
    with _region(client) as (name, held):
        shared_memory.set_shared_memory_region(held, [_VALUES])
        there = Given("a", "FP32", (1, 4), Part(name, _VALUES.nbytes))
        return client.answer("arithmetic", [there, ones], [Wanted("sum")])


@cases(([("y", "FP32", [4])], _VALUES.tolist()))
def an_output(client: Client) -> Any:
    with _region(client) as (name, held):
        wanted = Wanted("y", part=Part(name, _VALUES.nbytes, 16))
        result = client.infer("identity_FP32", [_X], [wanted])
        found = shared_memory.get_contents_as_numpy(held, np.float32, (4,), 16)
        return client.outputs(result), found.tolist()


@cases([b"a", b"bcd"])
def an_output_of_strings(client: Client) -> Any:
    sent = given("x", "BYTES", np.array([b"a", b"bcd"], object))
    with _region(client) as (name, held):
        client.infer("identity_BYTES", [sent], [Wanted("y", part=Part(name, 64))])
        return shared_memory.get_contents_as_numpy(held, np.object_, (2,)).tolist()


@cases(_VALUES.tolist())
def input_and_output_in_one_region(client: Client) -> Any:
    with _region(client) as (name, held):
        shared_memory.set_shared_memory_region(held, [_VALUES])
        wanted = Wanted("y", part=Part(name, _VALUES.nbytes, 2048))
        client.infer("identity_FP32", [_at(name)], [wanted])
        return shared_memory.get_contents_as_numpy(held, np.float32, (4,), 2048).tolist()


@cases([True, True, False])
def status_tells_what_is_registered(client: Client) -> Any:
    def names(region: str = "") -> list[str]:
        document = client.document("get_system_shared_memory_status", region)
        if client.is_http:
            return [row["name"] for row in document]
        return list(document.get("regions", {}))

    with _region(client) as (name, _):
        found = [name in names(), names(name) == [name]]
    return [*found, name in names()]


@cases(("4096", "16"))
def status_tells_offset_and_size(client: Client) -> Any:
    name = fresh("region")
    with _memory(2 * _BYTES) as (key, _):  # Triton's offsets are those of pages
        client.call("register_system_shared_memory", name, key, 16, offset=_BYTES)
        document = client.document("get_system_shared_memory_status", name)
        client.call("unregister_system_shared_memory", name)
    row = document[0] if client.is_http else document["regions"][name]
    return str(row["offset"]), str(row["byte_size"])


@cases("NOT_FOUND")
def status_of_an_unknown_region(client: Client) -> Any:
    return status(client.call, "get_system_shared_memory_status", fresh("region"))


@cases("OK")
def unregistering_what_is_not_there(client: Client) -> Any:
    return status(client.call, "unregister_system_shared_memory", fresh("region"))


@cases((True, "shared memory region 'R' already in manager"))
def a_name_twice(client: Client) -> Any:
    with _region(client) as (name, held):
        again = "register_system_shared_memory", name, held._shm_key, _BYTES
        found = status(client.call, *again), said(client.call, *again).replace(name, "R")
    return found[0] == ("INVALID_ARGUMENT" if client.is_http else "ALREADY_EXISTS"), found[1]


@cases("INVALID_ARGUMENT")
def more_than_there_is(client: Client) -> Any:
    with _memory() as (key, _):
        return status(
            client.call, "register_system_shared_memory", fresh("region"), key, _BYTES + 1
        )


@cases("INTERNAL")
def memory_that_is_not_there(client: Client) -> Any:
    name = fresh("region")
    return status(client.call, "register_system_shared_memory", name, f"/{name}", 16)


@cases("NOT_FOUND")
def an_input_in_an_unknown_region(client: Client) -> Any:
    return status(client.infer, "identity_FP32", [_at(fresh("region"))])


@cases("NOT_FOUND")
def an_output_in_an_unknown_region(client: Client) -> Any:
    wanted = Wanted("y", part=Part(fresh("region"), 16))
    return status(client.infer, "identity_FP32", [_X], [wanted])


@cases("INVALID_ARGUMENT")
def an_input_behind_the_end(client: Client) -> Any:
    with _region(client) as (name, _):
        return status(client.infer, "identity_FP32", [_at(name, offset=_BYTES)])


@cases("INVALID_ARGUMENT")
def an_input_over_the_end(client: Client) -> Any:
    with _region(client) as (name, _):
        return status(client.infer, "identity_FP32", [_at(name, offset=_BYTES - 4)])


@cases("INVALID_ARGUMENT")
def an_input_of_another_size(client: Client) -> Any:
    with _region(client) as (name, _):
        return status(client.infer, "identity_FP32", [_at(name, size_bytes=12)])


@cases("INTERNAL")
def an_output_without_room(client: Client) -> Any:
    with _region(client) as (name, _):
        wanted = Wanted("y", part=Part(name, 12))
        return status(client.infer, "identity_FP32", [_X], [wanted])


@cases("INVALID_ARGUMENT")
def cuda_memory_cannot_be_registered(client: Client) -> Any:
    return status(client.call, "register_cuda_shared_memory", fresh("region"), b"Zm9v", 0, 16)


@cases([])
def no_cuda_memory_is_registered(client: Client) -> Any:
    document = client.document("get_cuda_shared_memory_status")
    return document if client.is_http else list(document.get("regions", {}))


@cases({"y": ("FP32", [0], [])}, ("http_json",), triton=NOT_ASKED)  # refused there
def an_input_of_no_bytes(client: Client) -> Any:
    with _region(client) as (name, _):
        return client.answer("identity_FP32", [Given("x", "FP32", (0,), Part(name, 0))])


@cases("INVALID_ARGUMENT")
def a_region_of_no_bytes(client: Client) -> Any:
    with _memory() as (key, _):
        return status(client.call, "register_system_shared_memory", fresh("region"), key, 0)


@cases("INVALID_ARGUMENT")
def a_part_that_begins_behind_the_memory(client: Client) -> Any:
    register = "register_system_shared_memory"
    with _memory() as (key, _):
        return status(client.call, register, fresh("region"), key, 16, offset=4 * _BYTES)


@cases([])
def all_are_unregistered_at_once(client: Client) -> Any:
    with _memory() as (one, _), _memory() as (other, _):
        for key in (one, other):
            client.call("register_system_shared_memory", fresh("region"), key, _BYTES)
        client.call("unregister_system_shared_memory")
    document = client.document("get_system_shared_memory_status")
    return document if client.is_http else list(document.get("regions", {}))


@cases(True, triton=NOT_ASKED)  # the second finds a closed file there
def several_names_for_the_same_memory(client: Client) -> Any:
    one, other = fresh("region"), fresh("region")
    with _memory() as (key, held):
        shared_memory.set_shared_memory_region(held, [_VALUES])
        for name in (one, other):
            client.call("register_system_shared_memory", name, key, _BYTES)
        client.call("unregister_system_shared_memory", one)
        answer = client.answer("identity_FP32", [_at(other)])
        client.call("unregister_system_shared_memory", other)
    return answer["y"][2] == _VALUES.tolist()
