"""The devices of this process. Models that name the same devices share their lanes."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from surplus.engine import _core
from surplus.engine.devices import after_fork
from surplus.engine.devices.opened_plugins import close_plugins
from surplus.engine.devices.shared_cores import share_cores
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.errors import DeviceError, DeviceLostError
from surplus.engine.native import load_runtime

if TYPE_CHECKING:
    from surplus.engine.devices.emulation_params import EmulationParams

    _Key = tuple[tuple[DeviceSpec, ...], EmulationParams | None, bool]

_log = logging.getLogger(__name__)


_LAST_CALLS_S = 5.0
"""How long the end of the process waits for calls of daemon threads when all runs have ended."""
_LAST_RUNS_NS = 5_000_000_000
"""How long it waits before for runs to end that it cancelled."""


class _Machines:
    """Those that models share, and by GPU the one opened last, perhaps to be measured."""

    def __init__(self) -> None:
        self.left: tuple[_core.Machine, ...] = ()
        self._begin()

    def _begin(self) -> None:
        self.by_key: dict[_Key, _core.Machine] = {}
        self.last_on: dict[str, _core.Machine] = {}
        self.lock = threading.Lock()

    def leave_behind(self) -> None:
        """Begin anew in a forked child (after_fork.py)."""
        self.left = (*self.left, *self.by_key.values(), *self.last_on.values())
        self._begin()

    def losses(self, key: _Key) -> dict[str, str]:
        """Why memories of the devices are lost; CUDA loses a GPU for all machines of a process."""
        found = (self.by_key[other] for other in self.sharing(key))
        last = (self.last_on[gpu] for gpu in _gpus(key[0]) if gpu in self.last_on)
        memories = {spec.memory for spec in key[0]}
        lost: dict[str, str] = {}
        for machine in (*found, *last):
            for name, why in device_losses(machine).items():
                if (memory := name.partition("[")[0]) in memories:
                    lost.setdefault(memory, why)
        return lost

    def close_lost(self, key: _Key, *, reopens: bool) -> None:
        """Before these devices are opened: close what lost one of them, or refuse."""
        lost = self.losses(key)
        if lost and not reopens:
            raise DeviceLostError("; ".join(lost.values()))
        for other in self.sharing(key) if lost else ():
            self.by_key.pop(other).close(drains=True)

    def sharing(self, key: _Key) -> list[_Key]:
        """The machine itself and those with the same GPU; those that lost it come last."""
        gpus = _gpus(key[0])
        found = [other for other in self.by_key if other == key or gpus & _gpus(other[0])]
        return sorted(found, key=lambda other: self.by_key[other].is_lost)


# Hooks at exit run in the reverse order: providers end after the machines that use them.
atexit.unregister(close_plugins)
atexit.register(close_plugins)

_MACHINES = _Machines()
after_fork.watch(_MACHINES)


def machine_for(
    specs: Sequence[DeviceSpec],
    emulation: EmulationParams | None = None,
    *,
    reopens: bool = False,
) -> _core.Machine:
    """The process's machine with these devices, started on first use.

    Parameters
    ----------
    reopens : bool
        Whether devices are opened again where one was lost. The machine that lost it is closed
        when its queries have ended: a GPU cannot be opened beside what is left, but only after
        closing has reset CUDA. Answers are copied out of pinned memory then, which a reset frees.

    Raises
    ------
    DeviceLostError
        If one was lost, and none is to be opened again.
    DeviceError
        As ``open_machine``.
    """
    key = _key(specs, emulation, reopens)
    with _MACHINES.lock:
        known = _MACHINES.by_key.get(key)
        if known is None or known.is_lost:
            _MACHINES.close_lost(key, reopens=reopens)
            known = _MACHINES.by_key[key] = open_machine(specs, emulation, reopens=reopens)
        return known


def open_machines() -> list[_core.Machine]:
    """Those of the process that models share, in the order in which they were opened."""
    with _MACHINES.lock:
        return list(_MACHINES.by_key.values())


def device_losses(machine: _core.Machine) -> dict[str, str]:
    """Its devices that are lost, and why."""
    rows = machine.stats()["devices"]
    return {row["name"]: " ".join(row["failure"].split()) for row in rows if "failure" in row}


def loss_of(machine: _core.Machine, names: Collection[str] | None = None) -> str:
    """Which of its devices, or of those named, are lost and why; empty if none is."""
    lost = device_losses(machine).items()
    return "; ".join(dict.fromkeys(why for name, why in lost if names is None or name in names))


def has_lost(
    specs: Sequence[DeviceSpec], emulation: EmulationParams | None = None, *, reopens: bool = False
) -> bool:
    """Whether one of the devices was lost, so that ``machine_for`` opens them again or refuses."""
    return bool(lost_memories(specs, emulation, reopens=reopens))


def lost_memories(
    specs: Sequence[DeviceSpec], emulation: EmulationParams | None = None, *, reopens: bool = False
) -> set[str]:
    """Those of the devices that were lost."""
    with _MACHINES.lock:
        return set(_MACHINES.losses(_key(specs, emulation, reopens)))


def close_lost(
    specs: Sequence[DeviceSpec], emulation: EmulationParams | None = None, *, reopens: bool = False
) -> None:
    """Close what has lost one of the devices, so that they can be opened again, to be measured say.

    Raises
    ------
    DeviceLostError
        If one was lost, and none is to be opened again.
    """
    with _MACHINES.lock:
        _MACHINES.close_lost(_key(specs, emulation, reopens), reopens=reopens)


def _key(specs: Sequence[DeviceSpec], emulation: EmulationParams | None, reopens: bool) -> _Key:
    return tuple(specs), _departures(specs, emulation), reopens and bool(_gpus(specs))


def _departures(
    specs: Sequence[DeviceSpec], emulation: EmulationParams | None
) -> EmulationParams | None:
    """How emulated devices depart; None where nothing is emulated."""
    if not any(spec.traits.is_emulated for spec in specs):
        return None
    from surplus.engine.devices.emulation_params import EmulationParams  # a CPU is none

    return emulation or EmulationParams()


def _gpus(specs: Sequence[DeviceSpec]) -> set[str]:
    return {spec.memory for spec in specs if spec.traits.is_lost_for_process}


def open_machine(
    specs: Sequence[DeviceSpec],
    emulation: EmulationParams | None = None,
    *,
    reopens: bool = False,
) -> _core.Machine:
    """A machine of its own, which the caller closes; ``reopens`` as of ``machine_for``.

    Raises
    ------
    DeviceError
        Naming what is missing to drive a device, or why it does not start.
    """
    load_runtime()
    options = core_options(specs, _departures(specs, emulation), reopens=reopens)
    share_cores()
    try:
        machine = _core.Machine(options)
    except (RuntimeError, ValueError) as error:
        names = ", ".join(spec.text for spec in specs)
        raise DeviceError(f"devices {names}: {error}") from error
    _MACHINES.last_on.update(dict.fromkeys(_gpus(specs), machine))
    _warn(machine)
    return machine


def _warn(machine: _core.Machine) -> None:
    """Say once of each machine what is not as it was asked for."""
    for text in {row["warning"] for row in machine.stats()["devices"] if "warning" in row}:
        _log.warning("%s", text)


def close_machines() -> None:
    """Stop all lanes; runs in flight end as cancelled."""
    with _MACHINES.lock:
        for machine in _MACHINES.by_key.values():
            machine.close()
        _MACHINES.by_key.clear()
        _MACHINES.last_on.clear()


@atexit.register
def _end() -> None:
    """At exit, before plugin providers end: daemon threads may be about to call, or to return."""
    _core.refuse_calls()
    with _MACHINES.lock:
        for machine in _MACHINES.by_key.values():
            if not machine.close(limit_ns=_LAST_RUNS_NS):
                after_fork.leave_for_ever(machine)  # an operator of it does not return
        _MACHINES.by_key.clear()
        _MACHINES.last_on.clear()
    _core.await_calls(_LAST_CALLS_S)


def core_options(
    specs: Sequence[DeviceSpec], emulation: EmulationParams | None, *, reopens: bool
) -> list[_core.DeviceOptions]:
    """What the core needs to open the devices of one machine, once all of it is there.

    Raises
    ------
    DeviceError
        Naming what is missing to drive one of them.
    """
    for spec in specs:
        spec.check_present()
    return [spec.core_options(emulation, reopens=reopens) for spec in specs]
