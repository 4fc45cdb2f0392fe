"""Message classes of the Open Inference Protocol, kept apart from everybody else's.

Triton's client and KServe register the same names in protobuf's default pool, where a second
definition is an error. Ours live in a pool of their own, so that all can share a process.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool

from surplus.engine.repository.config_message import POOL

SERVICE = "inference.GRPCInferenceService"
TAILS = "surplus.Tails"
"""Our own, of tails.proto."""
HEALTH = "grpc.health.v1.Health"

DESCRIPTORS = ("open_inference", "tails", "health", "reflection_v1", "reflection_v1alpha")
"""Files of descriptors, each of a .proto beside it."""


def _described() -> Iterator[descriptor_pb2.FileDescriptorProto]:
    for name in DESCRIPTORS:
        serialized = files("surplus.engine.serving").joinpath(f"{name}.binpb").read_bytes()
        yield from descriptor_pb2.FileDescriptorSet.FromString(serialized).file


_POOL = POOL
_SERVICES: list[str] = []
for _file in _described():
    _POOL.Add(_file)
    _SERVICES += [f"{_file.package}.{_service.name}" for _service in _file.service]


def descriptor_pool() -> DescriptorPool:
    """What holds the descriptors of all messages and services; not to be added to."""
    return _POOL


def services() -> list[str]:
    """Full names of all services that the server speaks."""
    return list(_SERVICES)


def message_type(name: str, package: str = "inference") -> Any:
    """Class of the message ``name``, without its package.

    Raises
    ------
    KeyError
        If the protocol has no such message.
    """
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{package}.{name}"))


def request_types() -> dict[str, Any]:
    """Request class of every RPC of the service, by the RPC's name."""
    service = _POOL.FindServiceByName(SERVICE)
    return {
        method.name: message_factory.GetMessageClass(method.input_type)
        for method in service.methods
    }
