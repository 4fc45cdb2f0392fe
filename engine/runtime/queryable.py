"""What answers the queries of a served model, in whatever order: the core's own, or a policy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from surplus.engine._core import Route
from surplus.engine.runtime.inputs import Array, IoSpec


class Queryable(Protocol):
    """A model on an event loop, any number of queries at a time."""

    @property
    def inputs(self) -> tuple[IoSpec, ...]:
        """Constant."""
        ...

    @property
    def outputs(self) -> tuple[IoSpec, ...]:
        """Constant."""
        ...

    @property
    def queued_ns(self) -> int:
        """What queries answered so far waited before their first segment; may be estimated."""
        ...

    @property
    def joined(self) -> int:
        """Queries so far that no call of the model was made for: another's answered them, too."""
        ...

    @property
    def batches(self) -> Mapping[int, tuple[int, int]]:
        """By how many queries a call answered, of two and more: such calls, and their time, ns."""
        ...

    @property
    def warning(self) -> str:
        """What it goes on without, such as a device that was lost; empty if nothing."""
        ...

    @property
    def held(self) -> str:
        """Which of its segments hold lanes although their queries have ended; or empty."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """What is to be told of it, by name."""
        ...

    @property
    def failure(self) -> str:
        """Why no query can be answered any more; empty as long as some can."""
        ...

    @property
    def route(self) -> Route | None:
        """Leads queries that come without Python; None if Python has to look at each. Constant."""
        ...

    def foresee(self, deadline_ns: int | None, priority: int | None) -> None:
        """Ask before a query's inputs are at hand whether it would be refused; as ``infer``.

        Raises
        ------
        RefusedError
            If it would be.
        """
        ...

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int | None,
    ) -> dict[str, Array]:
        """Run one query; cancelling the awaiting task cancels it.

        Parameters
        ----------
        inputs : mapping of str to array
            Read in place until it returns.
        outputs : sequence of str, or None
            Which to return; None is all.
        deadline_ns : int or None
            On the clock of ``time.monotonic_ns``.
        priority : int or None
            Larger is more urgent; None is as the model's queries are.

        Raises
        ------
        EngineError
            Saying why there is no answer.
        """
        ...

    def unload(self) -> None:
        """Let the model go; no query is in flight."""
        ...
