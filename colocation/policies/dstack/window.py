"""The batch of a run: the planned one if any window of the queue allows it.

References
----------
D-STACK (TCC'24), section 6.A.2, says only that the batch can complete within the slice. Early drop
as in Nexus (SOSP'19), section 6.3: queries before the first window that can end in time with the
planned batch are passed over, since a batch cut to the head's last moment wastes the device. They
are not dropped: a later run may still be short enough for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from surplus.colocation.frame.query import Query

TookNs = Callable[[int, int], int]
"""Items and longest sequence -> predicted time."""


def planned_window(
    queries: Sequence[Query],
    planned_items: int,
    most_items: int,
    last_ns: int,
    now_ns: int,
    took_ns: TookNs,
) -> tuple[tuple[Query, ...], int] | None:
    """First run of queries that ends in time and is as large as planned, then as large as can be.

    Parameters
    ----------
    queries : sequence of Query
        Most urgent first.
    planned_items, most_items : int
        What is aimed at, and what there may be; fewer are enough at the end of the queue.
    last_ns : int
        When the share is needed by others.
    now_ns : int
    took_ns : callable

    Returns
    -------
    tuple of Query, and int
        The batch and its predicted time; None if not even one query fits.
    """
    for first in range(len(queries)):
        end_ns = min(last_ns, queries[first].deadline_ns)
        items = sequence = taken = 0
        fits_ns = None
        for query in queries[first:]:
            if items + query.items > most_items:
                break
            longest = max(sequence, query.sequence)
            predicted_ns = took_ns(items + query.items, longest)
            if now_ns + predicted_ns > end_ns:
                break
            items, sequence, taken, fits_ns = items + query.items, longest, taken + 1, predicted_ns
        reached = items >= planned_items or first + taken == len(queries)
        if fits_ns is not None and reached:
            return tuple(queries[first : first + taken]), fits_ns
    return None
