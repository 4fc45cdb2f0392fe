"""What the core needs to know of GPUs, emulated ones and those of plugin providers."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.engine import _core
from surplus.engine.cuda_libraries import preload
from surplus.engine.devices.cpu_options import cpu_options
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.links import host_links, link_figures
from surplus.engine.devices.plugins import PREFIX
from surplus.engine.devices.presence import check_present
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.devices.staging import STAGING_BYTES
from surplus.engine.native import find_cuda_library


def device_options(
    specs: Sequence[DeviceSpec], emulation: EmulationParams, *, reopens: bool
) -> list[_core.DeviceOptions]:
    """Options of the devices of one machine, once all that they need is there.

    Parameters
    ----------
    reopens : bool
        As of ``machine_for``.

    Raises
    ------
    DeviceError
        Naming what is missing to drive one of them.
    """
    for spec in specs:
        check_present(spec)
    if any(spec.kind == "cuda" for spec in specs):
        preload(runtime=find_cuda_library())
    return [_options(spec, emulation, reopens) for spec in specs]


def _options(spec: DeviceSpec, emulation: EmulationParams, reopens: bool) -> _core.DeviceOptions:
    options = cpu_options(spec)
    if spec.kind == "cuda":
        cuda = options.cuda
        cuda.ordinal = int(spec.memory.partition(":")[2])
        cuda.sms = spec.sms
        cuda.allows_tf32 = spec.allows_tf32
        cuda.library = find_cuda_library()
        cuda.staging_bytes = STAGING_BYTES
        cuda.resets_when_lost = reopens
        options.cuda = cuda
    if spec.kind == "plugin":
        options.provider = spec.name.removeprefix(PREFIX)
    if spec.kind == "emulated":
        _emulate(options, spec, emulation)
    return options


def _emulate(options: _core.DeviceOptions, spec: DeviceSpec, emulation: EmulationParams) -> None:
    from surplus.engine.devices.presets import GPUS, SLOWDOWN

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
