"""What a model does when a device that it uses is lost: an illegal access, a GPU off the bus.

The queries that were on it end with an error that says so. The next one does what the user chose.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from surplus.engine import _core
from surplus.engine.devices.machines import device_losses, loss_of
from surplus.engine.errors import DeviceError, EngineError

if TYPE_CHECKING:
    from surplus.engine.segmentation.plan import Plan

_log = logging.getLogger(__name__)

_ALL = (1 << 64) - 1


class OnDeviceLoss(StrEnum):
    """``FAIL`` every query, open the device again (``RECREATE``), or go on without it (``CPU``):
    with another one of its kind that the model may use, else with the CPU.

    CUDA promises to none but a new process that it can use a GPU again, so ``RECREATE`` is an
    attempt. Where a device cannot be opened again, ``RECREATE`` goes on without it, too.
    """

    FAIL = "fail"
    RECREATE = "recreate"
    CPU = "cpu"


class Recovery(NamedTuple):
    """How a model goes on.

    Parameters
    ----------
    choice : OnDeviceLoss
        What the user chose.
    opened : callable
        A machine with the devices of these names, opened again where one was lost.
    kinds : mapping of str to hashable
        As of ``moved_plan``.
    """

    choice: OnDeviceLoss
    opened: Callable[[Sequence[str]], _core.Machine]
    kinds: Mapping[str, Hashable]

    def ways(self, plan: Plan, lost: Collection[str]) -> Iterator[tuple[Plan, _core.Machine]]:
        """Plans to go on with and their machines, the best first: a later one if one fails.

        Parameters
        ----------
        lost : collection of str
            Devices that are lost; empty if that is not known of any.

        Raises
        ------
        DeviceError
            If the user chose to fail.
        """
        if self.choice is OnDeviceLoss.FAIL:
            raise DeviceError(f"a device of {', '.join(plan.devices)} is lost")
        cpu = plan.devices[:1]
        left = tuple(name for name in plan.devices if name not in lost) if lost else cpu
        again = [plan.devices] if self.choice is OnDeviceLoss.RECREATE else []
        for names in dict.fromkeys((*again, left, cpu)):
            try:
                machine = self.opened(names)
            except (EngineError, RuntimeError) as error:
                if names == cpu:
                    raise
                _log.warning("%s cannot be opened again: %s", ", ".join(names), error)
                continue
            if names == plan.devices:
                yield plan, machine
                continue
            from surplus.engine.runtime.moved_plan import moved_plan

            lanes = {row["name"]: row["lanes"] for row in machine.stats()["devices"]}
            yield moved_plan(plan, lanes, self.kinds), machine


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
        self._devices = _ALL
        self.warning = ""

    @property
    def is_due(self) -> bool:
        """Whether a query submitted now could only fail; costs well below a microsecond."""
        return self._machine.has_lost(self._devices)

    def watch(self, devices: Iterable[int]) -> None:
        """Of which devices a loss matters from now on, a bit each: what its plans use."""
        self._devices = reduce(or_, devices, 0)

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
        for following, machine in self._recovery.ways(plan, device_losses(self._machine)):
            try:
                adopt(following, machine)
                return following, machine
            except EngineError as error:
                _log.warning("%s cannot be gone on with: %s", ", ".join(following.devices), error)
                refused = error
        raise refused or DeviceError("nothing is left to go on with")
