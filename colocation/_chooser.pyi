"""Chooses the batch that starts next; policies/surplus/native_starts.py asks it."""

from collections.abc import Callable, Sequence

class Chooser:
    """One thread asks it. Times of batches are remembered."""

    def __init__(
        self,
        values: Sequence[float],
        alone_ns: Callable[[int, int, int, int], int],
        costs: Sequence[float],
        *,
        patience: float,
        fill: float,
        thrift: float,
        blocking: float,
        together: bool,
        skip: bool,
        regroups_above: float,
        reserve: bool,
        look_ahead: bool,
        grouped: bool,
    ) -> None:
        """
        Options as of PricedParams; values of queries by service, costs of shares by percent.

        alone_ns takes service, items, sequence and share, and is asked once for each four. grouped
        says whether all columns of a device that is not divided are wanted.
        """

    def set_rooms(
        self,
        rooms: Sequence[
            tuple[
                int,
                bool,
                int,
                int,
                Sequence[tuple[int, Sequence[tuple[int, int, Sequence[int]]]]],
                Sequence[tuple[int, int, int, int]],
            ]
        ],
    ) -> None:
        """
        Serve on these devices; what they wished is forgotten.

        Rows of device, on_demand, partitions, least_percent, places and what runs: places are rows
        of service, and of share, batch and partitions; what runs of partition, share, end and
        service.
        """

    def set_patiences(self, patiences: Sequence[tuple[float, int, int]], slots: int) -> None:
        """As of Blocking; rows of wait, service and share, sorted."""

    def set_works(self, works: Sequence[float]) -> None: ...
    def set_prices(self, per_work: float, per_ns: Sequence[float]) -> None: ...
    def price_of(
        self,
        waiting: object,
        rates_per_s: Sequence[float],
        works: Sequence[float],
        values: Sequence[float],
        horizon_s: float,
        capacity: float,
    ) -> tuple[float, float]:
        """As price_of_waiting of policies/surplus/prices.py: per_work and most."""

    def set_ratios(self, service: int, mean: float, bound: float) -> None: ...
    def set_given_up(self, service: int, part: float) -> None: ...
    def set_value(self, service: int, value: float) -> None: ...
    def warm(self, service: int, items: int, share_percent: int, most_items: int) -> None:
        """Ask for the times of batches beforehand."""

    def next(
        self, waiting: object, now_ns: int, device: int | None, came: int | None, again: bool
    ) -> (
        tuple[int, int, list[tuple[float, int, int, float, int, int, int, int, int, int]]]
        | tuple[int, int]
        | None
    ):
        """
        What to do now: nothing, give a query up, or start a batch.

        device says where a group has ended, came of which service a query came; waiting is of the
        state. again says that nothing has changed since the last answer but by that. Who is given
        up is a row of service and end. Who starts is a row of device, place among columns, and
        columns: rows of score, service, deadline, value, share, time, partition, skipped, size and
        full.
        """

    def started(
        self,
        device: int,
        partition: int,
        share_percent: int,
        end_ns: int,
        service: int,
        took_ns: int,
    ) -> None: ...
    def ended(self, partition: int) -> None: ...
    def wake_ns(self, now_ns: int) -> int | None:
        """When to ask again, if nothing happens before; None if never."""
