"""Message classes of the Open Inference Protocol, kept apart from everybody else's.

Triton's client and KServe register the same names in protobuf's default pool, where a second
definition is an error. Ours live in a pool of their own, so that all can share a process.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = "inference.GRPCInferenceService"
TAILS = "surplus.Tails"
"""Our own, of tails.proto."""


def _private_pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    for name in ("open_inference.binpb", "tails.binpb"):
        serialized = files("surplus.engine.serving").joinpath(name).read_bytes()
        for file in descriptor_pb2.FileDescriptorSet.FromString(serialized).file:
            pool.Add(file)
    return pool


_POOL = _private_pool()


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
