"""Which batch starts next, chosen by the core: the fast path of ``priced``.

The same rule as ``weighed_starts.py``, to the bit, some tens of times as fast. It is told what was
learnt and priced when that changes, and reads the queues where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.colocation._chooser import Chooser
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.predictor import Predictor
from surplus.colocation.frame.state import State
from surplus.colocation.policies.surplus.blocking import Blocking
from surplus.colocation.policies.surplus.choice import Column, Hopeless
from surplus.colocation.policies.surplus.learnt import TimeRatios
from surplus.colocation.policies.surplus.lookahead import WaitingBatch
from surplus.colocation.policies.surplus.market import Market
from surplus.colocation.policies.surplus.params import PricedParams
from surplus.colocation.policies.surplus.rooms import DeviceRoom, HeldShare, SharePlace
from surplus.colocation.policies.surplus.start_choice import Starting

_ColumnRow = tuple[float, int, int, float, int, int, int, int, int, int]


class NativeStarts:
    """The rule, compiled.

    Parameters
    ----------
    params : PricedParams
    predictor : Predictor
    ratios, market
        What is learnt, and worth.
    """

    def __init__(
        self,
        params: PricedParams,
        predictor: Predictor,
        ratios: TimeRatios,
        market: Market,
    ) -> None:
        self._ratios = ratios
        self._market = market
        self._event: Event | None = None
        self._chooser = Chooser(
            list(market.values),
            predictor.alone_ns,
            params.share_costs(),
            patience=params.patience,
            fill=params.fill,
            thrift=params.thrift,
            blocking=params.blocking,
            together=params.together,
            skip=params.skip,
            regroups_above=params.regroups_above(),
            reserve=params.reserve,
            look_ahead=params.look_ahead,
            grouped=params.groups,
        )
        market.solve = self._chooser.price_of

    def next(self, state: State, event: Event) -> Starting | Hopeless | None:
        """See ``StartChoice``."""
        device = came = None
        if event.group is not None:
            device = state.deployment.partitions[event.group.partition].device
        elif event.query is not None:
            came = event.query.service
        again = event is self._event
        self._event = event
        found = self._chooser.next(state.waiting, state.now_ns, device, came, again)
        if found is None:
            return None
        if len(found) == 2:
            service, end_ns = found
            return Hopeless(state.waiting[service].urgent, end_ns)
        place, best, rows = found
        columns = [_column(row) for row in rows]
        return Starting(place, columns[best], columns)

    def wake_ns(self, now_ns: int) -> int | None:
        """See ``StartChoice``."""
        return self._chooser.wake_ns(now_ns)

    def moved(self, rooms: Mapping[int, DeviceRoom]) -> None:
        """See ``StartChoice``."""
        self._chooser.set_rooms(
            [
                (
                    device,
                    room.on_demand,
                    room.partitions,
                    room.least_percent,
                    [
                        (service, [(p.share_percent, p.batch, p.partitions) for p in places])
                        for service, places in room.places.items()
                    ],
                    [(partition, *held) for partition, held in room.running.items()],
                )
                for device, room in rooms.items()
            ]
        )

    def adopt(self, blocking: Blocking) -> None:
        """See ``StartChoice``."""
        self._chooser.set_patiences(blocking.patiences, blocking.slots)
        self._chooser.set_works(self._market.works)

    def expects(self, service: int, items: int, places: Sequence[SharePlace]) -> None:
        """Ask the predictor beforehand: it may take long."""
        for place in places:
            self._chooser.warm(service, items, place.share_percent, place.batch)

    def started(self, device: int, partition: int, held: HeldShare, took_ns: int) -> None:
        """See ``StartChoice``."""
        self._chooser.started(device, partition, *held, took_ns)

    def ended(self, partition: int) -> None:
        """See ``StartChoice``."""
        self._chooser.ended(partition)

    def learnt(self, service: int) -> None:
        """See ``StartChoice``."""
        ratios = self._ratios
        self._chooser.set_ratios(service, ratios.mean[service], ratios.bound[service])

    def priced(self) -> None:
        """See ``StartChoice``."""
        self._chooser.set_prices(self._market.price.per_work, self._market.per_ns)

    def departed(self, service: int) -> None:
        """See ``StartChoice``."""
        self._chooser.set_given_up(service, self._market.given_up[service])

    def valued(self, service: int) -> None:
        """See ``StartChoice``."""
        self._chooser.set_value(service, self._market.values[service])


def _column(row: _ColumnRow) -> Column:
    score, service, deadline_ns, value, share, took_ns, *place = row
    return Column(score, service, WaitingBatch(deadline_ns, value, share, took_ns), *place)
