"""All GPUs that there are in one machine: copies between them, and a model on all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from bench.gpu_check.figures import Bar, Figure, Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.two_ways import two_ways
from surplus.engine.devices.cuda_driver import read_driver
from surplus.engine.devices.machines import open_machine
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.profiling.peer_links import peer_links
from surplus.placement.problem import Link

REHEARSED = 2
"""Emulated GPUs, where no real one takes part."""

_OF_EACH = 0.95
"""Share of its own throughput that each GPU must add."""

_SIZE = 8 << 20


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """With one GPU there is nothing to measure."""
    specs = all_gpus(setting)
    count = len(specs) - 1
    if count < 2:
        return Found((figure("GPUs", count, note="several are needed for more"),), {})
    links = [] if setting.is_emulated else list(peer_links(specs[1:], open_machine))
    everywhere = ",".join(device.text for device in specs)
    found = two_ways(spec, setting, (setting.devices, everywhere), setting.budget_s / 3)
    bar = Bar(f">= {_OF_EACH * count:.3g}", least=_OF_EACH * count)
    rows = (
        figure(f"peak throughput: {count} GPUs / one", found.ratio, bar),
        found.same_outputs("several GPUs against one"),
        *_copies(links),
    )
    details = {
        "devices": everywhere,
        "peak per s, in flight": found.peaks,
        "throughput plan": found.throughput_plan,
        "links": [asdict(link) for link in links],
    }
    return Found(rows, details)


def all_gpus(setting: Setting) -> tuple[DeviceSpec, ...]:
    """The CPU, and all GPUs of the machine as the check's one is, that first."""
    cpu, gpu = setting.specs[0], setting.specs[setting.gpu]
    kind, _, _ = setting.gpu_name.partition(":")
    if setting.is_emulated:
        names = [f"{setting.gpu_name}{number}" for number in range(1, REHEARSED)]
    else:
        there = range(len(read_driver().gpus))
        names = [f"{kind}:{ordinal}" for ordinal in there if ordinal != setting.ordinal]
    named = (gpu.name.replace(setting.gpu_name, name, 1) for name in names)
    return cpu, gpu, *(replace(gpu, name=name) for name in named)


def _copies(links: Sequence[Link]) -> Iterator[Figure]:
    for link in links:
        rate = _SIZE / link.copy_ns(_SIZE)
        yield figure(f"{link.name}, {_SIZE >> 20} MiB: GB/s", rate)
        yield figure(f"{link.name}, 4 KiB: us", link.copy_ns(4096) / 1e3)
