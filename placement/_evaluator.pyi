"""Evaluates placements of a problem that was read once; placement/evaluator.py asks it."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

class Evaluator:
    """One problem; keeps no Python object, and any threads may ask at once."""

    def __init__(
        self,
        devices: Sequence[tuple[str, int, int, int, Sequence[float]]],
        links: Sequence[tuple[int, int, int, float, int, int | None, bool]],
        tasks: Sequence[tuple[str, Sequence[int | None], Sequence[int], Sequence[int]]],
        tensors: Sequence[tuple[int, Sequence[int], int, bool]],
    ) -> None:
        """
        Read a problem; ValueError says what is out of range.

        Rows have the fields of placement/problem.py: devices name, lanes, memory, submit_ns,
        slowdown; links source, target, latency_ns, bytes_per_s, occupancy_ns, staging_bytes,
        pageable; tasks name, service_ns, widths, launch_ns; tensors producer, consumers,
        size_bytes, is_output. Memories are numbers.
        """

    def makespan_ns(
        self,
        device_of: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        priority: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        is_fifo: bool = False,
    ) -> int:
        """
        End of one query of a placement: arrays of int64, by task.

        ValueError names the task that cannot run where it was placed.
        """

    def schedule(
        self,
        device_of: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        priority: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        is_fifo: bool = False,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], {"shape": (None,)}],
        Annotated[NDArray[numpy.int64], {"shape": (None,)}],
        Annotated[NDArray[numpy.int64], {"shape": (None,)}],
        Annotated[NDArray[numpy.int64], {"shape": (None, None)}],
    ]:
        """
        When tasks are ready, start and end, by task, and the copies.

        A copy is a row of tensor, link, ready_ns, start_ns and end_ns, in the order of their
        starts. ValueError as makespan_ns.
        """
