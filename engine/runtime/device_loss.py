"""What a model does when a device that it uses is lost: an illegal access, a GPU off the bus.

The queries that were on it end with an error that says so. The next one does what the user chose.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from surplus.engine import _core
from surplus.engine.devices.machines import loss_of
from surplus.engine.errors import DeviceError, EngineError
from surplus.engine.segmentation.plan import Plan
from surplus.placement.timeline import Timeline

_log = logging.getLogger(__name__)


class OnDeviceLoss(StrEnum):
    """``FAIL`` every query, open the device again (``RECREATE``), or go on without it (``CPU``).

    CUDA promises to none but a new process that it can use a GPU again, so ``RECREATE`` is an
    attempt. Where a device cannot be opened again, ``RECREATE`` goes on without it, too.
    """

    FAIL = "fail"
    RECREATE = "recreate"
    CPU = "cpu"


@dataclass(frozen=True)
class Recovery:
    """How a model goes on.

    Parameters
    ----------
    choice : OnDeviceLoss
        What the user chose.
    recreate : callable
        A machine with the same devices, opened again.
    without : callable
        A machine with the CPU's lanes alone.
    """

    choice: OnDeviceLoss
    recreate: Callable[[], _core.Machine]
    without: Callable[[], _core.Machine]

    def ways(self, plan: Plan) -> Iterator[tuple[Plan, _core.Machine]]:
        """Plans to go on with and their machines, the best first: a later one if one fails.

        Raises
        ------
        DeviceError
            If the user chose to fail.
        """
        if self.choice is OnDeviceLoss.FAIL:
            raise DeviceError(f"a device of {', '.join(plan.devices)} is lost")
        if self.choice is OnDeviceLoss.RECREATE:
            try:
                yield plan, self.recreate()
            except (EngineError, RuntimeError) as error:
                _log.warning("the lost device cannot be opened again: %s", error)
        machine = self.without()
        yield on_cpu(plan, machine.stats()["devices"][0]["lanes"]), machine


class LossGuard:
    """Replaces a model's plan, once for each loss, before its next query. Thread-safe.

    Attributes
    ----------
    warning : str
        Which device is gone for good, why, and what is used instead; empty if none is.
    """

    def __init__(self, machine: _core.Machine, recovery: Recovery, name: str = "model") -> None:
        self._machine = machine
        self._recovery = recovery
        self._name = name
        self._lock = threading.Lock()
        self.warning = ""

    @property
    def is_due(self) -> bool:
        """Whether a query submitted now could only fail; costs well below a microsecond."""
        return self._machine.is_lost

    def recover(self, plan: Plan, adopt: Callable[[Plan, _core.Machine], None]) -> None:
        """Hand the model what to go on with. Takes as long as its sessions take to open.

        The guard holds no model: one that holds itself would keep its sessions until the garbage
        is collected.

        Raises
        ------
        EngineError
            If there is nothing to go on with.
        """
        with self._lock:
            if not self.is_due:
                return  # another query was first
            why = loss_of(self._machine) or f"the machine of {', '.join(plan.devices)} was closed"
            following, self._machine = self._adopted(plan, adopt)
            told = f"{why}; queries go on with {', '.join(following.devices)}"
            self.warning = told if len(following.devices) < len(plan.devices) else ""
            _log.warning("%s: %s", self._name, told)

    def _adopted(
        self, plan: Plan, adopt: Callable[[Plan, _core.Machine], None]
    ) -> tuple[Plan, _core.Machine]:
        refused: EngineError | None = None
        for following, machine in self._recovery.ways(plan):
            try:
                adopt(following, machine)
                return following, machine
            except EngineError as error:
                _log.warning("%s cannot be gone on with: %s", ", ".join(following.devices), error)
                refused = error
        raise refused or DeviceError("nothing is left to go on with")


def on_cpu(plan: Plan, lanes: int) -> Plan:
    """The same segments on the CPU alone; a plan of one segment on all of its lanes.

    What was predicted no longer holds, so nothing is.
    """
    width = lanes if len(plan.segments) == 1 else None
    moved = (
        replace(
            segment,
            device=0,
            width=width or segment.width,
            captured=False,
            not_captured="",
            launch_ns=0,
        )
        for segment in plan.segments
    )
    return replace(
        plan,
        name=f"{plan.name} on cpu",
        devices=plan.devices[:1],
        memories=plan.memories[:1],
        segments=tuple(moved),
        copies=(),
        predicted=Timeline((), plan.predicted.origin),
        bound_ns=0,
    )
