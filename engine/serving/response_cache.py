"""Answers that are kept, for queries that ask for the same of the same tensors."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine.serving.codec import encode_raw
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.servable import Array

_ENTRY_BYTES = 1 << 10
"""What an entry takes beside its values, generously."""

Answer = dict[str, Array]


class ResponseCache:
    """The answers that were asked for last, as many as there is room for. On one event loop.

    Parameters
    ----------
    most_bytes : int
        What all of them may take.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[bytes, tuple[Answer, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        """How many answers there are."""
        return len(self._kept)

    @property
    def held_bytes(self) -> int:
        """What they take."""
        return self._bytes

    def find(self, key: bytes) -> Answer | None:
        """The answer to that query, which counts as asked for now; None if it is not there."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def keep(self, key: bytes, answer: Mapping[str, Array]) -> None:
        """Keep a copy; those go for it that were not asked for longest.

        One that there could not be room for is not kept.
        """
        size = _ENTRY_BYTES + sum(map(_size, answer.values()))
        if key in self._kept or size > self._most_bytes:
            return
        while self._bytes + size > self._most_bytes:
            _, (_, freed) = self._kept.popitem(last=False)
            self._bytes -= freed
        self._kept[key] = {name: _copy(array) for name, array in answer.items()}, size
        self._bytes += size


def key_of(load: int, inputs: Mapping[str, Array], outputs: Sequence[str]) -> bytes:
    """What two queries have in common that have the same answer.

    Parameters
    ----------
    load : int
        Of the model that answers: another one each time that a model is loaded.
    outputs : sequence of str
        Which are asked for.
    """
    known = hashlib.sha256()
    head: list[object] = [load, *sorted(outputs)]
    for name, array in sorted(inputs.items()):
        encoded: Any = encode_raw(array)
        raw = memoryview(encoded)
        head.append((name, datatype_of(array), array.shape, raw.nbytes))
        known.update(raw)
    known.update(repr(head).encode())
    return known.digest()


def _copy(array: Array) -> Array:
    copied = np.array(array)
    copied.flags.writeable = False
    return copied


def _size(array: Array) -> int:
    texts = sum(map(len, array.flat)) if array.dtype == np.object_ else 0
    return array.nbytes + texts
