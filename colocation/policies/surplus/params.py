"""How prices and urgency are weighed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from surplus.colocation.frame.service import Service
from surplus.colocation.policies.surplus.market import ATTAINABLE


@dataclass(frozen=True)
class PricedParams:
    """Of the dispatcher ``priced``.

    Parameters
    ----------
    patience : float
        Of the rule of apparent tardiness: a batch with slack of so many mean batch times counts
        for a third; small values serve the most urgent first, large ones the cheapest.
    width : float
        What a batch is worth on a share is its queries over ``share^width x time``: 1 takes the
        share that holds least, 0 the one that is fastest.
    fill : float
        Part of its slack that a batch that is not full waits for more; 0 starts what can start.
    thrift : float
        A batch whose queries hold more than so many times what they hold in a good one waits as
        long as it can; 0 for no limit.
    blocking : float
        How much what a batch makes late of those who come while it runs counts; 0 for nothing.
    groups : bool
        Whether models run side by side in a group on whole devices, where that was seen to save.
    together : bool
        Whether a batch that is not full starts beside another one of its service although it could
        wait for that one's end, and be larger then.
    sure : float
        Quantile of the learnt times within which a batch must end in time.
    priced : bool
        Whether what is not worth its price waits for what is.
    attainable : float
        Part of the devices that can be filled, > 0: with more to do time has a price. Little where
        shares and batches do not fit together, so that much of a device stays empty.
    skip : bool
        Whether first queries of a queue are given up for a larger batch, where that is worth more.
    regroup : float
        A service that gives up more than this part of its queries takes the best windows of its
        queue wherever there is room, not what its first query still fits into: first queries that
        have waited long leave time for small batches only, which hold so much that the next ones
        wait long, too. 0 to 1; 1 for never, and without ``skip``.
    reserve : bool
        Whether a batch keeps away from a share that another one, which is worth more and has not
        got room yet, needs to be in time.
    look_ahead : bool
        Whether a more urgent batch goes first, or is waited for, where fewer are late that way.
    weights : dict of str to float
        Value of a query by service, 1 where it is not given; > 0.
    guarantee : float
        Share of its queries that each service is to be answered in time, if it can be; 0 for none.
    native : bool
        Whether the core chooses, or its twin in Python, which decides the same and takes longer.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    patience: float = 2.0
    width: float = 0.7
    fill: float = 0.0
    thrift: float = 0.0
    blocking: float = 0.0
    groups: bool = True
    together: bool = False
    sure: float = 0.9
    priced: bool = True
    attainable: float = ATTAINABLE
    skip: bool = True
    regroup: float = 0.05
    reserve: bool = True
    look_ahead: bool = True
    weights: dict[str, float] = field(default_factory=dict)
    guarantee: float = 0.0
    native: bool = True

    def __post_init__(self) -> None:
        if not self.patience > 0 or not 0 < self.sure < 1:
            text = f"got {self.patience} and {self.sure}"
            raise ValueError(f"patience must be > 0, sure between 0 and 1, {text}")
        if not 0 < self.attainable <= 1:
            raise ValueError(f"attainable must be above 0 and at most 1, got {self.attainable}")
        if not min(self.thrift, self.blocking) >= 0:
            text = f"got {self.thrift} and {self.blocking}"
            raise ValueError(f"thrift and blocking must be >= 0, {text}")
        parts = (self.width, self.fill, self.regroup, self.guarantee)
        if not all(0 <= part <= 1 for part in parts):
            raise ValueError(f"width, fill, regroup and guarantee must be 0 to 1, got {parts}")
        if not all(weight > 0 for weight in self.weights.values()):
            raise ValueError(f"weights must be > 0, got {self.weights}")

    def regroups_above(self) -> float:
        """Part of the queries given up from which on a service regroups; 1 for never."""
        return self.regroup if self.skip else 1.0

    def share_costs(self) -> list[float]:
        """What holding a share counts for, by percent: 0 to 100."""
        return [float(share) ** self.width for share in range(101)]


def check_weights(weights: Mapping[str, float], services: Sequence[Service]) -> None:
    """Raise ValueError if a weight is of no service."""
    unknown = set(weights) - {service.name for service in services}
    if unknown:
        raise ValueError(f"weights: unknown service {min(unknown)!r}")
