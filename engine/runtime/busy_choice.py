"""Which plan a model runs while its queries overlap: a companion, a lane a query, or its own."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.engine import _core
from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.busy_plan import BusyPlan, SecondPlan, narrow_plan
from surplus.engine.runtime.companion import Companion
from surplus.engine.runtime.ports import Ports
from surplus.engine.runtime.prepared import Prepared
from surplus.engine.segmentation.plan import Plan


@dataclass(frozen=True)
class BusyChoice:
    """What a model was given for while queries overlap.

    Parameters
    ----------
    allowed : SecondPlan
        Whether it may have a second plan.
    given : Companion, optional
        One that was chosen for that, where there are several devices.
    """

    allowed: SecondPlan
    given: Companion | None

    def companion(self, plan: Plan) -> Companion | None:
        """The one given, if it is allowed and on the devices that the model's plan has now.

        A device that is lost for good takes it along.
        """
        if self.given is None or self.allowed is not SecondPlan.ALWAYS:
            return None
        return self.given if self.given.plan.devices == plan.devices else None

    def busy_plan(
        self, graph: Graph, prepared: Prepared, machine: _core.Machine, ports: Ports
    ) -> BusyPlan | None:
        """The second plan of a model that runs ``prepared``; None if it does best without.

        Takes as long as loading the companion, if there is one.
        """
        plan = prepared.plan
        companion = self.companion(plan)
        if companion is not None:
            crowd = companion.grounds.queries
            found = max(2, crowd - 1)  # a run counts for moments after its answer was taken
            busy = BusyPlan(graph, companion.plan, machine, ports, found=found, callers=crowd)
            busy.prepare()  # not while queries overlap: a GPU opens sessions when it is idle
            return busy
        lanes = prepared.lanes[plan.devices[0]]
        narrow = narrow_plan(graph, plan, lanes, self.allowed)
        if narrow is None:
            return None
        return BusyPlan(graph, narrow, machine, ports, found=lanes, callers=lanes)
