"""What a decision of ``priced`` takes: 50 services on 8 devices, by the core and by its twin.

``python -m bench colocation_decisions [--queries 10000] [--loads 0.7 1.0 1.3] [--repeats 5]``

Simulated arrivals and groups, real decisions: wall times of single decisions, and of all those that
an event leads to (a start or a query that is given up is a decision, and so is that nothing is to
be done). Loads are of what the devices hold in large batches. The first tenth warms up. Each run is
repeated, decision by decision the same, and the least time of each decision counts: what the
machine's other work costs is left out, what a hard decision costs is not.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from numpy.typing import NDArray

from bench.colocation.many_services import many_services
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Row
from surplus.colocation import policy_spec
from surplus.colocation.frame.controller import Controller
from surplus.colocation.frame.decision import Decision
from surplus.colocation.frame.dispatcher import Dispatcher
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.state import State
from surplus.colocation.policies.names import with_options
from surplus.colocation.policies.setup import set_up
from surplus.colocation.simulation.virtual_executor import VirtualExecutor

SERVICES, DEVICES = 50, 8
ITEMS = (1, 2, 4)
BAR_US = 50.0
NS_PER_US = 1e3


class Timed:
    """A dispatcher whose decisions are timed.

    Attributes
    ----------
    decisions_ns, events_ns : list of int
        Wall times of decisions, and of all decisions about an event.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._event: Event | None = None
        self.decisions_ns: list[int] = []
        self.events_ns: list[int] = []

    def decide(self, state: State, event: Event) -> Decision:
        """Decide, and write down how long it took."""
        began_ns = time.perf_counter_ns()
        decision = self._dispatcher.decide(state, event)
        took_ns = time.perf_counter_ns() - began_ns
        self.decisions_ns.append(took_ns)
        if event is self._event:
            self.events_ns[-1] += took_ns
        else:
            self._event = event
            self.events_ns.append(took_ns)
        return decision


def measured(load: float, native: bool, queries: int, repeats: int) -> Row:
    """Serve such a load some times, and read the clock."""
    runs = [served(load, native, queries) for _ in range(repeats)]
    decisions_ns = np.min([run.decisions_ns for run in runs], axis=0)
    return {
        "load": load,
        "choice": "core" if native else "Python",
        "decisions": len(decisions_ns),
        **_figures("decision", decisions_ns),
        **_figures("event", np.min([run.events_ns for run in runs], axis=0)),
        "bar p99 us": BAR_US,
    }


def served(load: float, native: bool, queries: int) -> Timed:
    """Serve it once."""
    setting = many_services(SERVICES, DEVICES, load, queries, ITEMS).setting()
    demand = setting.demand
    spec = with_options(policy_spec("priced"), {"native": native})
    _, deployment, dispatcher = set_up(demand, spec)
    timed = Timed(dispatcher)
    executor = VirtualExecutor(setting.load, deployment.partitions, setting.truth)
    record = Record(len(setting.load))
    Controller(demand.services, deployment, timed, executor, record).run()
    return timed


def _figures(of: str, times_ns: NDArray[np.int64]) -> dict[str, float]:
    warm = times_ns[len(times_ns) // 10 :] / NS_PER_US
    median, high = np.percentile(warm, [50, 99])
    return {f"{of} p50 us": round(float(median), 1), f"{of} p99 us": round(float(high), 1)}


def main() -> int:
    """Show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000, metavar="N", help="on the mean")
    parser.add_argument("--loads", type=float, nargs="+", default=[0.7, 1.0, 1.3])
    parser.add_argument("--repeats", type=int, default=5, metavar="N")
    args = parser.parse_args()
    rows = [
        measured(load, native, args.queries, args.repeats)
        for load in args.loads
        for native in (True, False)
    ]
    result_file.show("colocation_decisions", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
