"""Ways to break an ONNX file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import onnx


def truncate(data: bytes, rng: random.Random) -> bytes:
    """Cut the end off."""
    return data[: rng.randrange(len(data))]


def flip(data: bytes, rng: random.Random) -> bytes:
    """Overwrite a few bytes."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def change_fields(data: bytes, rng: random.Random) -> bytes:
    """A valid protobuf with wrong content."""
    model = onnx.ModelProto.FromString(data)
    messages = list(_messages(model))
    for _ in range(rng.randint(1, 3)):
        message = rng.choice(messages)
        fields = message.ListFields()
        if fields:
            _change(message, *rng.choice(fields), rng)
    return model.SerializeToString()


MUTATIONS = (truncate, flip, change_fields)


def _messages(message: Any) -> Iterator[Any]:
    yield message
    for field, content in message.ListFields():
        if field.message_type:
            for inner in content if field.is_repeated else [content]:
                yield from _messages(inner)


def _change(message: Any, field: Any, content: Any, rng: random.Random) -> None:
    if field.message_type or rng.random() < 0.2:
        message.ClearField(field.name)
        return
    if field.type == field.TYPE_STRING:
        wrong: Any = rng.choice(["", "c", "w", "x", "Conv", "Reshape", "NonZero", "Loop"])
    elif field.type == field.TYPE_BYTES:
        wrong = rng.choice([b"", b"c", b"w" * 7])
    elif field.type == field.TYPE_ENUM:
        wrong = rng.choice([1, 2, 3, 4])
    else:
        wrong = rng.choice([0, 1, 2, 7, 10**6, -1, 2**31 - 1])
    if field.is_repeated:
        content[rng.randrange(len(content))] = wrong
    else:
        setattr(message, field.name, wrong)
