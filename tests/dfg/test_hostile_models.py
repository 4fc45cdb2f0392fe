"""A thousand broken files: each loads or is refused in one line; nothing is left behind."""

import random
from pathlib import Path

import onnx

from engine.dfg.onnx_reader import read
from engine.errors import ModelError

COUNT = 1000


def test_mutated_and_truncated_files(rich: Path, tmp_path: Path) -> None:
    source = rich.read_bytes()
    rng = random.Random(5)
    victim, cache = tmp_path / "victim.onnx", tmp_path / "cache"
    refusals = []
    for index in range(COUNT):
        victim.write_bytes(_MUTATIONS[index % len(_MUTATIONS)](source, rng))
        try:
            read(victim, cache)
        except ModelError as error:
            refusals.append(str(error))
    assert [text for text in refusals if str(victim) not in text or "\n" in text] == []
    assert len(refusals) > COUNT // 4
    assert len(list(cache.iterdir())) <= COUNT - len(refusals)
    assert not list(cache.glob(".new-*"))


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _change_fields(data: bytes, rng: random.Random) -> bytes:
    """A valid protobuf with wrong content."""
    model = onnx.ModelProto.FromString(data)
    messages = list(_messages(model))
    for _ in range(rng.randint(1, 3)):
        message = rng.choice(messages)
        fields = message.ListFields()
        if fields:
            _change(message, *rng.choice(fields), rng)
    return model.SerializeToString()


def _messages(message):
    yield message
    for field, content in message.ListFields():
        if field.message_type:
            for inner in content if field.is_repeated else [content]:
                yield from _messages(inner)


def _change(message, field, content, rng: random.Random) -> None:
    if field.message_type or rng.random() < 0.2:
        message.ClearField(field.name)
        return
    if field.type == field.TYPE_STRING:
        wrong = rng.choice(["", "c", "w", "x", "Conv", "Reshape", "NonZero", "Loop"])
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


_MUTATIONS = (_truncate, _flip, _change_fields)
