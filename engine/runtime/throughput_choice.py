"""Which plan a model runs while queries overlap: a throughput plan, a lane a query, its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from surplus.engine.runtime.throughput_switch import Departure, ThroughputSwitch, narrow_plan

if TYPE_CHECKING:
    from surplus.engine import _core
    from surplus.engine.dfg.graph import Graph
    from surplus.engine.runtime.ports import Ports
    from surplus.engine.runtime.prepared import Prepared
    from surplus.engine.runtime.throughput_plan import ThroughputPlan
    from surplus.engine.segmentation.plan import Plan


class ThroughputChoice(NamedTuple):
    """What a model was given for while queries overlap.

    Parameters
    ----------
    allowed : Departure
        Whether it may have a second plan.
    given : Throughput plan, optional
        One that was chosen for that, where there are several devices.
    narrow : Plan, optional
        The whole model on one lane, where it was found to give the bits of a plan of several
        segments (engine/planning/narrow_choice.py).
    """

    allowed: Departure
    given: ThroughputPlan | None = None
    narrow: Plan | None = None

    def throughput_plan(self, plan: Plan) -> ThroughputPlan | None:
        """The one given, if it is allowed and on the devices that the model's plan has now.

        A device that is lost for good takes it along, but for replicas that do without.
        """
        given = self.given
        if given is None:
            return None
        if given.plan.devices == plan.devices:
            return given if self._allows(given, plan) else None
        left = given.left_on(plan.devices) if given.replicas else None
        return left if left is not None and self._allows(left, plan) else None

    def _allows(self, given: ThroughputPlan, plan: Plan) -> bool:
        """Any, or of the same bits: the model's plan once more, on GPUs where it gave these."""
        from surplus.engine.runtime.same_bits import same_cuts  # few models have one

        if self.allowed is Departure.SAME_BITS:
            return bool(given.replicas) and same_cuts(given.plan, plan)
        return self.allowed is Departure.ALWAYS

    def switch(
        self, graph: Graph, prepared: Prepared, machine: _core.Machine, ports: Ports
    ) -> ThroughputSwitch | None:
        """The second plan of a model that runs ``prepared``; None if it does best without.

        Takes as long as loading the throughput plan, if there is one.
        """
        plan = prepared.plan
        throughput_plan = self.throughput_plan(plan)
        if throughput_plan is not None:
            grounds = throughput_plan.grounds
            crowd = grounds.queries
            found = max(2, crowd - 1)  # a run counts for moments after its answer was taken
            switch = ThroughputSwitch(
                graph,
                throughput_plan.plan,
                machine,
                ports,
                found=found,
                callers=crowd,
                window=grounds.in_flight,
                replicas=throughput_plan.plans[1:],
            )
            switch.prepare()  # not while queries overlap: a GPU opens sessions when it is idle
            return switch
        lanes = prepared.lanes[plan.devices[0]]
        narrow = self._narrow(plan) or narrow_plan(graph, plan, lanes, self.allowed)
        if narrow is None:
            return None
        return ThroughputSwitch(graph, narrow, machine, ports, found=lanes, callers=lanes)

    def _narrow(self, plan: Plan) -> Plan | None:
        """That plan, while the model's is one of several segments on the same devices."""
        narrow = self.narrow
        if narrow is None or len(plan.segments) < 2 or self.allowed is Departure.SAME_CUTS:
            return None
        return narrow if narrow.devices == plan.devices else None
