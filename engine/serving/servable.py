"""What a model must offer to be served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from surplus.engine._core import QueryLink, Route
from surplus.engine.repository.model_config import ModelConfig

Array = npt.NDArray[Any]
"""A tensor; BYTES tensors are object arrays of ``bytes`` (``str`` is accepted in outputs)."""


@dataclass(frozen=True)
class TensorSpec:
    """The signature of one input or output.

    Parameters
    ----------
    name : str
        Name in the model.
    dtype : str
        Datatype of the Open Inference Protocol: "FP32", "INT64", "BYTES", ...
    shape : tuple of int, or None
        -1 stands for any size; None means that not even the rank is known.
    optional : bool
        Whether a query may leave this input out.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    optional: bool = False


class Servable(Protocol):
    """Runs queries of one model, any number of them at a time, on one event loop."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Signature of the inputs; constant."""
        ...

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Signature of the outputs; constant."""
        ...

    @property
    def config(self) -> ModelConfig | None:
        """As it is configured, completed; None of what nobody configured. Constant."""
        ...

    @property
    def queued_ns(self) -> int:
        """What the queries answered so far waited, in all, before their first operator began.

        For statistics: never falls, and may be estimated.
        """
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
        """Of that, lanes that are held by what does not return; nothing else says it in the log."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """What is to be told of it, by name: whose kernels it runs with, say."""
        ...

    @property
    def failure(self) -> str:
        """Why no query can be answered any more; empty as long as some can."""
        ...

    @property
    def route(self) -> Route | None:
        """Leads queries that come without Python; None if Python has to look at each. Constant."""
        ...

    @property
    def worker(self) -> QueryLink | None:
        """Leads to who runs it elsewhere, so that queries need not come here. Constant."""
        ...

    def foresee(self, deadline_ns: int | None, priority: int = 0) -> None:
        """Ask before a query's inputs are decoded whether it would be refused; as ``infer``.

        Raises
        ------
        RefusedError
            If it cannot be in time, or would wait for too long.
        """
        ...

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, Array]:
        """Run one query. Cancelling the awaiting task cancels the run.

        Parameters
        ----------
        inputs : mapping of str to array
            Validated against ``inputs``, C-contiguous and aligned, **read-only**; they may share
            memory with the request.
        outputs : sequence of str, or None
            Distinct names of ``outputs``; None means all.
        deadline_ns : int or None
            On the clock of ``time.monotonic_ns``.
        priority : int
            0 is the model's default; 1 is the most urgent, larger numbers are less so.

        Returns
        -------
        dict of str to array
            At least the requested outputs; they are not changed after they are returned.

        Raises
        ------
        InputError, QueueFullError, RefusedError, DeadlineError, CancelledError, ExecutionError
        """
        ...

    def close(self) -> None:
        """Free the model. No query is in flight. May block."""
        ...
