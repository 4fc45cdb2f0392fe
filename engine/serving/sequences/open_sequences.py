"""Which sequences a model is in the middle of, and whose turn it is in each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from surplus.engine.errors import InputError
from surplus.engine.serving.sequences.sequence_step import START, SequenceStep
from surplus.engine.serving.sequences.state_tensors import SequenceState


@dataclass(eq=False)
class OpenSequence:
    """One that has begun.

    Attributes
    ----------
    state : SequenceState
        What its next query is given.
    has_begun : bool
        Whether its first query has been answered.
    is_over : bool
        Whether it takes no further query.
    in_flight : int
        Its queries that run, or wait for those before them.
    """

    state: SequenceState
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    has_begun: bool = False
    is_over: bool = False
    in_flight: int = 0
    is_counted: bool = False
    idle: asyncio.TimerHandle | None = None


class OpenSequences:
    """The sequences of a model, by their ids. On one event loop.

    Parameters
    ----------
    idle_s : float
        A sequence without a query for so long ends.
    most : int
        Of sequences at a time; others begin when one has ended, in the order of their coming.
    initial : callable
        Gives the state of a sequence that begins.
    """

    def __init__(self, idle_s: float, most: int, initial: Callable[[], SequenceState]) -> None:
        self._idle_s = idle_s
        self._room = asyncio.Semaphore(most)
        self._initial = initial
        self._open: dict[int | str, OpenSequence] = {}

    def __len__(self) -> int:
        """How many have begun and not ended."""
        return len(self._open)

    @asynccontextmanager
    async def turn(self, step: SequenceStep) -> AsyncIterator[OpenSequence]:
        """Wait for the queries of the sequence that came before; the block runs the next one.

        An error in the block leaves the sequence as it was, or ends it if it has just begun.

        Raises
        ------
        InputError
            If there is no such sequence.
        """
        sequence = self._entered(step)
        try:
            async with sequence.turn:
                await self._check_turn(step, sequence)
                yield sequence
                sequence.has_begun = True
        finally:
            self._left(step, sequence)

    def forget(self) -> None:
        """End all of them."""
        for sequence in self._open.values():
            sequence.is_over, sequence.state = True, {}
            if sequence.idle is not None:
                sequence.idle.cancel()
        self._open.clear()

    def _entered(self, step: SequenceStep) -> OpenSequence:
        """The query's sequence; at once, so that the next query finds it as this one leaves it."""
        if step.starts and (earlier := self._open.pop(step.id, None)) is not None:
            self._end(earlier)
        if step.starts:
            self._open[step.id] = OpenSequence(self._initial())
        sequence = self._open.get(step.id)
        if sequence is None:
            raise _unknown(step)
        sequence.in_flight += 1
        if sequence.idle is not None:
            sequence.idle.cancel()
            sequence.idle = None
        if step.ends:
            sequence.is_over = True
            del self._open[step.id]
        return sequence

    async def _check_turn(self, step: SequenceStep, sequence: OpenSequence) -> None:
        if step.starts:
            await self._room.acquire()
            sequence.is_counted = True
        elif not sequence.has_begun:
            raise _unknown(step)

    def _left(self, step: SequenceStep, sequence: OpenSequence) -> None:
        sequence.in_flight -= 1
        if step.starts and not sequence.has_begun:
            sequence.is_over = True
            if self._open.get(step.id) is sequence:
                del self._open[step.id]
        if sequence.in_flight:
            return
        if sequence.is_over:
            self._end(sequence)
        else:
            loop = asyncio.get_running_loop()
            sequence.idle = loop.call_later(self._idle_s, self._expire, step.id, sequence)

    def _expire(self, name: int | str, sequence: OpenSequence) -> None:
        if self._open.get(name) is sequence:
            del self._open[name]
            self._end(sequence)

    def _end(self, sequence: OpenSequence) -> None:
        """Give its place to another one, once no query of it is in flight."""
        sequence.is_over = True
        if sequence.idle is not None:
            sequence.idle.cancel()
        if not sequence.in_flight and sequence.is_counted:
            sequence.is_counted = False
            self._room.release()


def _unknown(step: SequenceStep) -> InputError:
    return InputError(
        f"sequence {step.id!r} has not begun, or has ended: its first query needs {START!r}"
    )
