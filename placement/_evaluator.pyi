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
        homes: Sequence[int] = [],
    ) -> None:
        """
        Read a problem; ValueError says what is out of range.

        Rows have the fields of placement/problem.py: devices name, lanes, memory, submit_ns,
        slowdown; links source, target, latency_ns, bytes_per_s, occupancy_ns, staging_bytes,
        pageable; tasks name, service_ns, widths, launch_ns; tensors producer, consumers,
        size_bytes, is_output. Memories are numbers.

        A place is a device, or one once more for tasks that may take more of its lanes; homes has
        the devices of the latter. Tasks have numbers for each place, placements are of places.
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
        holds: Annotated[
            NDArray[numpy.int64],
            {"shape": (None, None), "order": "C", "device": "cpu", "writable": False},
        ]
        | None = None,
    ) -> int:
        """
        End of one query of a placement: arrays of int64, by task.

        Holds are rows of a tensor that is waited for, who waits, and a memory: the waiter is a task
        where that is -1, else a tensor whose copy to that memory waits. ValueError names the task
        that cannot run where it was placed, or is never ready.
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
        holds: Annotated[
            NDArray[numpy.int64],
            {"shape": (None, None), "order": "C", "device": "cpu", "writable": False},
        ]
        | None = None,
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

    def mean_upward_ranks(self) -> Annotated[NDArray[numpy.float64], {"shape": (None,)}]:
        """Way to the end of the query from each task, ns, in mean service and copy times."""

    def upward_ranks_ns(
        self,
        device_of: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
    ) -> Annotated[NDArray[numpy.int64], {"shape": (None,)}]:
        """
        Longest time from each task's start to the end of the query, queueing left out.

        ValueError names the task that cannot run where it was placed.
        """

    def services_ns(self) -> Annotated[NDArray[numpy.int64], {"shape": (None, None)}]:
        """Service times by task and device; -1 where a task cannot run."""

    def ways_home_ns(self) -> Annotated[NDArray[numpy.int64], {"shape": (None, None)}]:
        """How long outputs take to the host, by task and device; -1 where a task cannot run."""

    def optimistic_costs_ns(self) -> Annotated[NDArray[numpy.int64], {"shape": (None, None)}]:
        """Least time to the end of the query after each task, as ways_home_ns."""

    def least_times_ns(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], {"shape": (None, None)}],
        Annotated[NDArray[numpy.int64], {"shape": (None, None)}],
    ]:
        """
        What bounds may count on of tasks, by task and device, as services_ns.

        The least service and the least lane-nanoseconds of a task at any width, however lanes slow
        each other.
        """

    def least_paths_ns(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], {"shape": (None, None)}],
        Annotated[NDArray[numpy.int64], {"shape": (None, None)}],
    ]:
        """
        What bounds may count on of paths, by task and device, as services_ns.

        By the least services, when a task can end at the earliest, and how much follows it.
        """

    def comm_sd(
        self,
        default_device: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        alpha_ns: int,
        most_passes: int = 10,
    ) -> Annotated[NDArray[numpy.int64], {"shape": (None,)}]:
        """Devices that Comm+SD chooses, by task; compare="default" of placement/comm_sd.py."""

    def hoft_tables(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], {"shape": (None, None)}],
        Annotated[NDArray[numpy.float64], {"shape": (None,)}],
        Annotated[NDArray[numpy.int64], {"shape": (None, None)}],
    ]:
        """
        HOFT's optimistic finishes, ranks, and what readers need from each device.

        The first and the last are in ns, by task and device, as ways_home_ns.
        """

    def list_schedule(
        self,
        ranks: Annotated[
            NDArray[numpy.float64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        ahead_ns: Annotated[
            NDArray[numpy.int64],
            {"shape": (None, None), "order": "C", "device": "cpu", "writable": False},
        ],
        choice: str = "least",
        has_links: bool = False,
        is_narrow: bool = False,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], {"shape": (None,)}],
        Annotated[NDArray[numpy.int64], {"shape": (None,)}],
    ]:
        """
        Places and planned starts of a list schedule, by task.

        Of tasks that are ready the highest rank is next. Which place it gets: with choice "least"
        that with the least end plus ahead_ns (by task and device; below 0 bars it), with "fastest"
        one of that where it ends first and the one that is fastest, with "readers" the one after
        which its readers end first. has_links: copies over one link wait for each other, which goes
        with the first two. is_narrow: each task has only its narrowest width.
        """

    def search(
        self,
        placements: Sequence[
            tuple[
                Annotated[
                    NDArray[numpy.int64],
                    {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
                ],
                Annotated[
                    NDArray[numpy.int64],
                    {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
                ],
            ]
        ],
        descent: int,
        drift: int = 0,
        seed: int = 0,
        annealing: int = 0,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], {"shape": (None,)}],
        Annotated[NDArray[numpy.int64], {"shape": (None,)}],
        int,
    ]:
        """
        Devices, priorities and makespan of the best of placements, improved.

        Placements are pairs of arrays, devices and priorities; parts of a query that run one after
        another may come from several. Then so many evaluations of random changes, and so many of
        changes of devices, of tasks and chains, one by one; at last so many small ones, annealed.
        """

class Annealing:
    """Searches for shorter plans in threads of its own, from its making on; placement/anneal.py."""

    def __init__(
        self,
        evaluator: Evaluator,
        device_of: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        priority: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        constants: tuple[Sequence[int], Sequence[int], Sequence[Sequence[int]], Sequence[int]],
        seed: int,
        evaluations: int,
        time_ns: int,
        threads: int,
        target_ns: int,
    ) -> None:
        """
        Begin at a plan; ValueError says what is wrong with it.

        constants: capacity by memory (negative: unlimited; empty: none is limited), own bytes by
        task, blobs by task, bytes by blob. evaluations (of each thread) and time_ns: 0 is no
        limit. A plan of target_ns ends the search.
        """

    def wait(self, most_ns: int) -> bool:
        """Block until it is done, or so long; whether it is."""

    def cancel(self) -> None:
        """End it soon, without waiting for that."""

    def best(self) -> tuple[list[int], list[int]]:
        """Devices and ranks of the best plan so far, by task."""

    @property
    def best_ns(self) -> int:
        """Its makespan."""

    @property
    def evaluations(self) -> int:
        """Plans that were looked at."""

class Room:
    """What the memories of a problem hold; placement/room.py."""

    def __init__(
        self,
        evaluator: Evaluator,
        constants: tuple[Sequence[int], Sequence[int], Sequence[Sequence[int]], Sequence[int]],
    ) -> None:
        """
        ValueError if a list has another length than it must.

        constants: capacity by memory (negative: unlimited; empty: none is limited), own bytes by
        task, blobs by task, bytes by blob.
        """

    def holds(
        self,
        device_of: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        priority: Annotated[
            NDArray[numpy.int64],
            {"shape": (None,), "order": "C", "device": "cpu", "writable": False},
        ],
        held: Annotated[
            NDArray[numpy.int64],
            {"shape": (None, None), "order": "C", "device": "cpu", "writable": False},
        ]
        | None = None,
    ) -> bool:
        """Whether one query of a placement fits; what is held, and ValueError: as makespan_ns."""
