"""Message classes of the Open Inference Protocol, kept apart from everybody else's.

Triton's client and KServe register the same names in protobuf's default pool, where a second
definition is an error. Ours live in a pool of their own, so that all can share a process.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = "inference.GRPCInferenceService"


def _private_pool() -> descriptor_pool.DescriptorPool:
    serialized = files("surplus.engine.serving").joinpath("open_inference.binpb").read_bytes()
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(serialized).file:
        pool.Add(file)
    return pool


_POOL = _private_pool()


def message_type(name: str) -> Any:
    """Class of the message ``name``, without its package.

    Raises
    ------
    KeyError
        If the protocol has no such message.
    """
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"inference.{name}"))


def request_types() -> dict[str, Any]:
    """Request class of every RPC of the service, by the RPC's name."""
    service = _POOL.FindServiceByName(SERVICE)
    return {
        method.name: message_factory.GetMessageClass(method.input_type)
        for method in service.methods
    }
