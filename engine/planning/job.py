"""What a plan is made for: all that the stages of planning hand from one to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from surplus.engine import _core
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import has_lost, machine_of, recovery_of
from surplus.engine.planning.plan_question import PlanQuestion, question_of
from surplus.engine.planning.progress import ProgressCallback, no_progress
from surplus.engine.planning.stored_plan import plan_path
from surplus.engine.runtime.device_loss import Recovery


@dataclass(frozen=True)
class PlanJob:
    """A graph, and how it is to be planned.

    Parameters
    ----------
    inputs : mapping of str to array
        Example inputs to measure with; to open what is stored, their sizes are enough.
    """

    graph: Graph
    params: LoadParams
    inputs: Mapping[str, Any]
    progress: ProgressCallback = no_progress

    @property
    def machine(self) -> _core.Machine:
        """Its devices, opened on first use."""
        return machine_of(self.params)

    @property
    def recovery(self) -> Recovery | None:
        """How its model goes on after a loss of a device."""
        return recovery_of(self.params)

    @property
    def has_lost(self) -> bool:
        """Whether one of the devices was lost."""
        return has_lost(self.params)

    @cached_property
    def question(self) -> PlanQuestion:
        """What is asked of a plan."""
        return question_of(*self._asked)

    @cached_property
    def stored_at(self) -> Path:
        """Where the plan for this question lies, if it is stored."""
        return plan_path(*self._asked)

    @property
    def _asked(
        self,
    ) -> tuple[Graph, Sequence[DeviceSpec], str, Mapping[str, Any], Mapping[str, Any]]:
        params = self.params
        return (
            self.graph,
            params.specs(),
            params.placement_policy,
            params.plan_options(),
            self.inputs,
        )
