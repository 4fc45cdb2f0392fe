"""Shortest job first, one whole query at a time, without preemption.

References
----------
Baseline of Abacus (SC'21), section 7. The release looks at the heads of the queues; this looks
at every waiting query, or at the heads alone where a service's queries are all alike.
"""

from __future__ import annotations

from surplus.colocation.frame.decision import Decision
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State
from surplus.colocation.policies.serial_choice import SerialChoice


@DISPATCHERS.register("sjf")
class Sjf:
    """The query with the shortest predicted time is next.

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
            candidates=lambda waiting: (waiting.oldest,) if waiting.alike else waiting,
            key=lambda query, took_ns: (took_ns,),
            drop=drop,
            expired=expired,
        )

    def decide(self, state: State, event: Event) -> Decision:
        """Start or drop the shortest query."""
        return self._choice.decide(state)
