"""Queries of a run, in columns: generated once, so that every policy gets the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surplus.colocation.frame.query import Query

Column = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Load:
    """All queries, by arrival; at the same time, by service.

    Parameters
    ----------
    service, number, arrival_ns, deadline_ns, items, sequence : array of int64, (queries,)
        As in ``Query``.
    duration_ns : int
        When arrivals end; no query comes at it or later.
    """

    service: Column
    number: Column
    arrival_ns: Column
    deadline_ns: Column
    items: Column
    sequence: Column
    duration_ns: int

    def __len__(self) -> int:
        return len(self.service)

    def queries(self) -> Iterator[Query]:
        """Make the queries one by one, in order of arrival."""
        order = (self.service, self.number, self.arrival_ns)
        columns = (*order, self.deadline_ns, self.items, self.sequence)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for index, row in enumerate(rows):
            yield Query(index, *row)


@dataclass(frozen=True)
class Stream:
    """The queries of one service; arrays of one length, arrivals ascending."""

    arrival_ns: Column
    items: Column
    sequence: Column


def merge(streams: Sequence[Stream], slos_ns: Sequence[int], duration_ns: int) -> Load:
    """Merge the services' streams; ties go to the service that was named first."""
    lengths = [len(stream.arrival_ns) for stream in streams]
    service = np.repeat(np.arange(len(streams)), lengths).astype(np.int64)
    number = np.concatenate([np.arange(n) for n in lengths]).astype(np.int64)
    arrival_ns = np.concatenate([stream.arrival_ns for stream in streams])
    order = np.argsort(arrival_ns, kind="stable")
    slo_ns = np.asarray(slos_ns, np.int64)[service]
    return Load(
        service=service[order],
        number=number[order],
        arrival_ns=arrival_ns[order],
        deadline_ns=(arrival_ns + slo_ns)[order],
        items=np.concatenate([stream.items for stream in streams])[order],
        sequence=np.concatenate([stream.sequence for stream in streams])[order],
        duration_ns=duration_ns,
    )
