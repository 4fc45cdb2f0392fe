"""The message of a model's configuration, kept apart from everybody else's.

Triton's client registers the same names in protobuf's default pool, where a second definition is an
error. Ours live in a pool of their own, which the protocol's other messages (engine/serving) join.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool

FULL_NAME = "inference.ModelConfig"


def _filled() -> DescriptorPool:
    pool = DescriptorPool()
    serialized = files("surplus.engine.repository").joinpath("model_config.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(serialized).file:
        pool.Add(file)
    return pool


POOL = _filled()
"""Holds the descriptors; to be added to by engine/serving/messages.py alone."""


def empty_config() -> Any:
    """A new ``ModelConfig`` message, without a field that is set."""
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(FULL_NAME))()


def enum_name(enum: str, number: int) -> str:
    """What a value is called: ``enum_name("DataType", 11)`` is ``"TYPE_FP32"``; else its number.

    Raises
    ------
    KeyError
        If there is no enum of that name, which is written as ``ModelInstanceGroup.Kind``.
    """
    found = POOL.FindEnumTypeByName(f"inference.{enum}").values_by_number.get(number)
    return str(number) if found is None else str(found.name)


def enum_number(enum: str, name: str) -> int:
    """The number of a value: the reverse of :func:`enum_name`."""
    return int(POOL.FindEnumTypeByName(f"inference.{enum}").values_by_name[name].number)
