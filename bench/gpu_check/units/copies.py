"""Copies: as plans make them, and as the wire could: pinned, pageable, alone, both ways at once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bench.gpu_check.figures import Figure, Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from surplus.engine.devices.cuda_runtime import CudaRuntime
from surplus.engine.devices.machines import open_machine
from surplus.engine.profiling.link_probe import SIZES, LinkProbe
from surplus.engine.profiling.wire_probe import SIZES as WIRE_SIZES
from surplus.engine.profiling.wire_probe import WireTime, wire_times


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """No model takes part; ``spec`` only names the unit."""
    machine = open_machine(setting.specs)
    probe = LinkProbe(machine, setting.gpu)
    in_plans = [asdict(times) for size in SIZES for times in probe.copies(size)]
    machine.close()
    wire = [] if setting.is_emulated else _wire(setting)
    rows = tuple(_row(time) for time in wire if time.size_bytes == WIRE_SIZES[-1])
    return Found(rows, {"in plans, to and from": in_plans, "on the wire": _plain(wire)})


def _wire(setting: Setting) -> list[WireTime]:
    runtime = CudaRuntime(setting.ordinal)
    return [time for size in WIRE_SIZES for time in wire_times(runtime, size)]


def _row(time: WireTime) -> Figure:
    memory = "pinned" if time.pinned else "pageable"
    beside = "both ways at once" if time.overlapped else "alone"
    size = f"{time.size_bytes >> 20} MiB"
    return figure(f"{time.direction}, {memory}, {beside}, {size}: GB/s", time.bytes_per_s / 1e9)


def _plain(times: list[WireTime]) -> list[dict[str, Any]]:
    return [asdict(time) for time in times]
