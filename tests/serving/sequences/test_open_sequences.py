"""Whose turn it is among the queries of sequences."""

from __future__ import annotations

import asyncio

import pytest

from surplus.engine.errors import ExecutionError, InputError
from surplus.engine.serving.sequences.open_sequences import OpenSequences
from surplus.engine.serving.sequences.sequence_step import SequenceStep
from tests.serving.fakes import WAIT_S

HOUR_S = 3600.0


def made(idle_s=HOUR_S, most=100):
    return OpenSequences(idle_s, most, lambda: {"sum": 0})


def run(check):
    asyncio.run(asyncio.wait_for(check(), WAIT_S))


async def add(sequences, name, more=1, gate=None, **flags):
    async with sequences.turn(SequenceStep(name, **flags)) as sequence:
        if gate is not None:
            await gate.wait()
        sequence.state = {"sum": sequence.state["sum"] + more}
        return sequence.state["sum"]


def test_queries_wait_for_those_before_them():
    async def check():
        sequences, gate = made(), asyncio.Event()
        first = asyncio.create_task(add(sequences, 1, gate=gate, starts=True))
        rest = [asyncio.create_task(add(sequences, 1, 10**n)) for n in (1, 2, 3)]
        other = await add(sequences, 2, starts=True)
        assert other == 1, "another sequence goes on"
        assert not any(task.done() for task in (first, *rest))
        gate.set()
        assert await first == 1
        assert [await task for task in rest] == [11, 111, 1111]

    run(check)


def test_a_sequence_whose_first_query_fails_has_not_begun():
    async def check():
        sequences, gate = made(most=1), asyncio.Event()

        async def fail():
            async with sequences.turn(SequenceStep(1, starts=True)):
                await gate.wait()
                raise ExecutionError("no")

        first = asyncio.create_task(fail())
        await asyncio.sleep(0)
        second = asyncio.create_task(add(sequences, 1))
        await asyncio.sleep(0)
        gate.set()
        with pytest.raises(ExecutionError):
            await first
        with pytest.raises(InputError, match="has not begun"):
            await second
        assert len(sequences) == 0
        assert await add(sequences, 2, starts=True) == 1, "its place is free"

    run(check)


def test_a_later_query_that_fails_changes_nothing():
    async def check():
        sequences = made()
        await add(sequences, 1, starts=True)
        with pytest.raises(ExecutionError):
            async with sequences.turn(SequenceStep(1)):
                raise ExecutionError("no")
        assert await add(sequences, 1) == 2

    run(check)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_sequence_waits_for_a_place(is_cancelled):
    async def check():
        sequences = made(most=1)
        await add(sequences, 1, starts=True)
        waits = asyncio.create_task(add(sequences, 2, starts=True))
        then = asyncio.create_task(add(sequences, 2))
        await asyncio.sleep(0)
        assert not waits.done()
        if is_cancelled:
            waits.cancel()
            with pytest.raises(InputError, match="has not begun"):
                await then
        assert await add(sequences, 1, ends=True) == 2
        if not is_cancelled:
            assert (await waits, await then) == (1, 2)
        assert len(sequences) == (not is_cancelled)

    run(check)


def test_one_that_begins_anew_waits_behind_others_for_a_place():
    async def check():
        sequences = made(most=1)
        await add(sequences, 1, starts=True)
        waits = asyncio.create_task(add(sequences, 2, starts=True))
        await asyncio.sleep(0)
        anew = asyncio.create_task(add(sequences, 1, starts=True))
        assert await waits == 1
        assert not anew.done()
        assert await add(sequences, 2, ends=True) == 2
        assert await anew == 1

    run(check)


def test_one_without_queries_ends_and_gives_its_place_away():
    async def check():
        sequences = made(idle_s=0.001, most=1)
        await add(sequences, 1, starts=True)
        assert await add(sequences, 2, starts=True) == 1
        with pytest.raises(InputError, match="sequence 1 has not begun, or has ended"):
            await add(sequences, 1)

    run(check)


def test_one_that_is_in_flight_is_not_idle():
    async def check():
        sequences, gate = made(idle_s=0.0), asyncio.Event()
        first = asyncio.create_task(add(sequences, 1, gate=gate, starts=True))
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(sequences) == 1
        gate.set()
        assert await first == 1

    run(check)
