"""Which sequence a query belongs to, as its parameters say, beside its tensors.

It goes with the task that runs the query, not through every executor in between: most models know
nothing of it, and a step of an ensemble has the sequence of the ensemble's query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from surplus.engine.errors import InputError

ID = "sequence_id"
START = "sequence_start"
END = "sequence_end"


@dataclass(frozen=True)
class SequenceStep:
    """A query's place in a sequence.

    Parameters
    ----------
    id : int or str
        The sequence's; not 0, and not empty.
    starts, ends : bool
        Whether it is the first one, and the last one.
    """

    id: int | str
    starts: bool = False
    ends: bool = False


_asked: ContextVar[SequenceStep | None] = ContextVar("sequence step", default=None)


def step_of(parameters: Mapping[str, Any]) -> SequenceStep | None:
    """What a query's parameters say; None of one that is of no sequence.

    Raises
    ------
    InputError
        Naming the parameter that is of a wrong type.
    """
    if ID not in parameters:
        return None
    found = parameters[ID]
    if type(found) is not int and type(found) is not str:
        raise InputError(f"parameter {ID!r}: expected an integer or a string")
    starts, ends = _flag(parameters, START), _flag(parameters, END)
    return SequenceStep(found, starts, ends) if found else None


@contextmanager
def asked(step: SequenceStep | None) -> Iterator[None]:
    """The query that this task runs until the end of the block is this one."""
    token = _asked.set(step)
    try:
        yield
    finally:
        _asked.reset(token)


def asked_step() -> SequenceStep | None:
    """Of the query that this task runs."""
    return _asked.get()


def _flag(parameters: Mapping[str, Any], name: str) -> bool:
    value = parameters.get(name, False)
    if type(value) is not bool:
        raise InputError(f"parameter {name!r}: expected true or false")
    return value
