"""The devices of this process. Models that name the same devices share their lanes."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from engine import _core
from engine.cuda_libraries import preload
from engine.errors import DeviceError, DeviceLostError
from engine.native import find_cuda_library, load_runtime
from engine.profiling.devices import DeviceSpec
from engine.profiling.links import host_links, link_figures
from engine.profiling.measured_gpu import STAGING_BYTES
from engine.profiling.plugins import PREFIX
from engine.profiling.presence import check_present
from engine.profiling.roofline import GPUS, SLOWDOWN
from engine.runtime import after_fork

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EmulationParams:
    """How the emulated device departs from its profile; for tests and experiments.

    Parameters
    ----------
    submit_ns : int, optional
        What a submission costs the device's submitting thread; by default what its preset says.
    slowdown : tuple of float, optional
        How lanes slow each other; by default what its preset says.
    capture_ns : int
        Extra time of each captured segment's first run.
    fail_capture : bool
        Whether no graph can be captured: all operators are launched one by one.
    first_run_ns : int
        Extra time of each segment's first run.
    memory_bytes : int
        Capacity; 0 is unlimited.
    fail_every : int
        Every n-th execution fails; 0 is never.
    lose_at : int
        The n-th execution loses the device for good; 0 is never.
    fail_prepare : bool
        Whether the device refuses to prepare segments.
    """

    submit_ns: int | None = None
    slowdown: tuple[float, ...] | None = None
    capture_ns: int = 0
    fail_capture: bool = False
    first_run_ns: int = 0
    memory_bytes: int = 0
    fail_every: int = 0
    lose_at: int = 0
    fail_prepare: bool = False


_LAST_CALLS_S = 5.0
"""How long the end of the process waits for calls of daemon threads when all runs have ended."""

_Key = tuple[tuple[DeviceSpec, ...], EmulationParams, bool]


@dataclass(eq=False)
class _Machines:
    """Those that models share, and by GPU the one opened last, perhaps to be measured."""

    by_key: dict[_Key, _core.Machine] = field(default_factory=dict)
    last_on: dict[str, _core.Machine] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    left: tuple[_core.Machine, ...] = ()

    def leave_behind(self) -> None:
        """Begin anew in a forked child (after_fork.py)."""
        self.left = (*self.by_key.values(), *self.last_on.values())
        self.by_key, self.last_on, self.lock = {}, {}, threading.Lock()

    def loss(self, key: _Key) -> str:
        """Why one of the devices is lost; CUDA loses a GPU for all machines of the process."""
        found = (self.by_key[other] for other in self.sharing(key))
        last = (self.last_on[gpu] for gpu in _gpus(key[0]) if gpu in self.last_on)
        return next(filter(None, map(loss_of, (*found, *last))), "")

    def close_lost(self, key: _Key, *, reopens: bool) -> None:
        """Before these devices are opened: close what lost one of them, or refuse."""
        why = self.loss(key)
        if why and not reopens:
            raise DeviceLostError(why)
        for other in self.sharing(key) if why else ():
            self.by_key.pop(other).close(drains=True)

    def sharing(self, key: _Key) -> list[_Key]:
        """The machine itself and those with the same GPU; those that lost it come last."""
        gpus = _gpus(key[0])
        found = [other for other in self.by_key if other == key or gpus & _gpus(other[0])]
        return sorted(found, key=lambda other: self.by_key[other].is_lost)


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


def loss_of(machine: _core.Machine, names: Collection[str] | None = None) -> str:
    """Which of its devices, or of those named, are lost and why; empty if none is."""
    rows = machine.stats()["devices"]
    lost = (row for row in rows if "failure" in row and (names is None or row["name"] in names))
    return "; ".join(dict.fromkeys(" ".join(row["failure"].split()) for row in lost))


def has_lost(
    specs: Sequence[DeviceSpec], emulation: EmulationParams | None = None, *, reopens: bool = False
) -> bool:
    """Whether one of the devices was lost, so that ``machine_for`` opens them again or refuses."""
    with _MACHINES.lock:
        return bool(_MACHINES.loss(_key(specs, emulation, reopens)))


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
    return tuple(specs), emulation or EmulationParams(), reopens and bool(_gpus(specs))


def _gpus(specs: Sequence[DeviceSpec]) -> set[str]:
    return {spec.memory for spec in specs if spec.kind == "cuda"}


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
    for spec in specs:
        check_present(spec)
    load_runtime()
    if _gpus(specs):
        preload(runtime=find_cuda_library())
    options = [_options(spec, emulation or EmulationParams(), reopens) for spec in specs]
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
    close_machines()
    _core.await_calls(_LAST_CALLS_S)


def _options(spec: DeviceSpec, emulation: EmulationParams, reopens: bool) -> _core.DeviceOptions:
    options = _core.DeviceOptions()
    options.kind = spec.kind
    options.name = spec.name
    options.lanes = spec.lanes
    if spec.kind == "cuda":
        cuda = options.cuda
        cuda.ordinal = int(spec.memory.partition(":")[2])
        cuda.sms = spec.sms
        cuda.library = find_cuda_library()
        cuda.staging_bytes = STAGING_BYTES
        cuda.resets_when_lost = reopens
        options.cuda = cuda
    if spec.kind == "plugin":
        options.provider = spec.name.removeprefix(PREFIX)
    if spec.kind == "emulated":
        options.replay = spec.replay
        submit_ns, slowdown = GPUS[spec.preset].submit_ns, SLOWDOWN if spec.lanes > 1 else ()
        options.submit_ns = submit_ns if emulation.submit_ns is None else emulation.submit_ns
        options.slowdown = slowdown if emulation.slowdown is None else emulation.slowdown
        options.capture_ns = emulation.capture_ns
        options.fail_capture = emulation.fail_capture
        options.first_run_ns = emulation.first_run_ns
        options.memory_bytes = emulation.memory_bytes
        options.fail_every = emulation.fail_every
        options.lose_at = emulation.lose_at
        options.fail_prepare = emulation.fail_prepare
        link, _ = host_links(spec.memory, link_figures(spec.preset), pageable=spec.pageable)
        options.h2d_latency_ns = options.d2h_latency_ns = link.latency_ns
        options.h2d_bytes_per_s = options.d2h_bytes_per_s = link.bytes_per_s
        options.h2d_occupancy_ns = options.d2h_occupancy_ns = link.occupancy_ns
        options.staging_bytes = link.staging_bytes or 0
        options.pageable = link.pageable
    return options
