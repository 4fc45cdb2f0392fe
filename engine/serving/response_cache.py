"""Answers that are kept, for queries that ask for the same of the same tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from surplus.engine import _core
from surplus.engine.serving.codec import decode_raw, encode_raw
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.servable import Array

Answer = dict[str, Array]


class ResponseCache:
    """The answers that were asked for last, of all models, as many as there is room for.

    They are the core's, which the native front end finds and keeps there, too.

    Parameters
    ----------
    most_bytes : int
        What all of them may take.

    Attributes
    ----------
    core : _core.AnswerCache
        What has them.
    """

    def __init__(self, most_bytes: int) -> None:
        self.core = _core.AnswerCache(most_bytes)

    def __len__(self) -> int:
        """How many answers there are."""
        return len(self.core)

    @property
    def held_bytes(self) -> int:
        """What they take, the queries' inputs among it."""
        return self.core.held_bytes

    def begin(self, load: int) -> None:
        """Keep answers of that load of a model from now on."""
        self.core.begin(load)

    def end(self, load: int) -> None:
        """Forget them, and keep no further one."""
        self.core.end(load)

    def find(self, key: _core.AnswerKey) -> Answer | None:
        """The answer to that query, which counts as asked for now; None if it is not there."""
        found = self.core.find(key)
        if found is None:
            return None
        return {
            name: decode_raw(name, datatype, shape, content.data)
            for name, datatype, shape, content in found
        }

    def keep(self, key: _core.AnswerKey, answer: Mapping[str, Array]) -> None:
        """Keep a copy of all outputs that the key is of.

        Those go for it that were not asked for longest. One that there could not be room for is
        not kept.
        """
        self.core.keep(key, _encoded(answer.items()))


def key_of(load: int, inputs: Mapping[str, Array], outputs: Sequence[str]) -> _core.AnswerKey:
    """What two queries have in common that have the same answer: all of it, not a hash.

    Parameters
    ----------
    load : int
        Of the model that answers: another one each time that a model is loaded.
    outputs : sequence of str
        Which are asked for.
    """
    return _core.AnswerKey(load, _encoded(inputs.items()), outputs)


def _encoded(
    tensors: Iterable[tuple[str, Array]],
) -> list[tuple[str, str, tuple[int, ...], Any]]:
    return [(name, datatype_of(array), array.shape, encode_raw(array)) for name, array in tensors]
