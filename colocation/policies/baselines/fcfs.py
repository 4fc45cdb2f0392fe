"""First come, first served, one whole query at a time.

References
----------
Baseline of Abacus (SC'21), section 7. The release serves in rounds, a head of each service at
once; this is the textbook's order over all services.
"""

from __future__ import annotations

from surplus.colocation.frame.decision import Decision
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.policies.serial_choice import SerialChoice


@DISPATCHERS.register("fcfs")
class Fcfs:
    """The oldest query of all services is next.

    Parameters
    ----------
    drop : bool
        Drop a query, when its turn comes, that is predicted to miss its deadline.
    expired : bool
        Drop a waiting query once its deadline has passed (Abacus, SC'21, section 7.1).
    """

    def __init__(self, context: Context, drop: bool = False, expired: bool = False) -> None:
        self._choice = SerialChoice(
            context,
            candidates=lambda waiting: (waiting.oldest,),
            key=lambda query, took_ns: (query.arrival_ns,),
            drop=drop,
            expired=expired,
        )

    def decide(self, state: State, event: Event) -> Decision:
        """Start or drop the oldest query."""
        return self._choice.decide(state)
