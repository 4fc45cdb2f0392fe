"""The devices of this process. Models that name the same devices share their lanes."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine import _core
from engine.cuda_libraries import preload
from engine.errors import DeviceError
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


_Key = tuple[tuple[DeviceSpec, ...], EmulationParams, bool]


@dataclass(eq=False)
class _Machines:
    by_key: dict[_Key, _core.Machine] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    left: tuple[_core.Machine, ...] = ()

    def leave_behind(self) -> None:
        """Begin anew in a forked child (after_fork.py)."""
        self.left, self.by_key, self.lock = tuple(self.by_key.values()), {}, threading.Lock()


_MACHINES = _Machines()
after_fork.watch(_MACHINES)


def machine_for(
    specs: Sequence[DeviceSpec],
    emulation: EmulationParams | None = None,
    *,
    reopens: bool = False,
) -> _core.Machine:
    """The process's machine with these devices, started on first use, and anew if one was lost.

    A machine that has lost a device is closed then: a GPU cannot be opened beside what is left.

    Parameters
    ----------
    reopens : bool
        Whether closing a lost GPU resets CUDA, without which it cannot be opened again. Answers
        are copied out of pinned memory then, which a reset frees.
    """
    key = _key(specs, emulation, reopens)
    with _MACHINES.lock:
        if key in _MACHINES.by_key and _MACHINES.by_key[key].is_lost:
            _MACHINES.by_key.pop(key).close()
        if key not in _MACHINES.by_key:
            _MACHINES.by_key[key] = open_machine(specs, emulation, reopens=reopens)
        return _MACHINES.by_key[key]


def has_lost(
    specs: Sequence[DeviceSpec], emulation: EmulationParams | None = None, *, reopens: bool = False
) -> bool:
    """Whether ``machine_for`` would open these devices again, since one of them was lost."""
    with _MACHINES.lock:
        known = _MACHINES.by_key.get(_key(specs, emulation, reopens))
    return known is not None and known.is_lost


def _key(specs: Sequence[DeviceSpec], emulation: EmulationParams | None, reopens: bool) -> _Key:
    reopens = reopens and any(spec.kind == "cuda" for spec in specs)
    return tuple(specs), emulation or EmulationParams(), reopens


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
    if any(spec.kind == "cuda" for spec in specs):
        preload()
    options = [_options(spec, emulation or EmulationParams(), reopens) for spec in specs]
    try:
        machine = _core.Machine(options)
    except (RuntimeError, ValueError) as error:
        names = ", ".join(spec.text for spec in specs)
        raise DeviceError(f"devices {names}: {error}") from error
    _warn(machine)
    return machine


def _warn(machine: _core.Machine) -> None:
    """Say once of each machine what is not as it was asked for."""
    for text in {row["warning"] for row in machine.stats()["devices"] if "warning" in row}:
        _log.warning("%s", text)


@atexit.register
def close_machines() -> None:
    """Stop all lanes; runs in flight end as cancelled. At exit, before plugin providers end."""
    with _MACHINES.lock:
        for machine in _MACHINES.by_key.values():
            machine.close()
        _MACHINES.by_key.clear()


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
