"""One GPU as several devices of a machine, a submitting thread each: what that lets through."""

from __future__ import annotations

from dataclasses import replace

from bench.gpu_check.figures import Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.two_ways import two_ways

INSTANCES = 4


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """As many lanes in all either way; an emulated GPU is opened once only."""
    what = f"peak throughput: opened {INSTANCES} times, a lane each / once"
    if setting.is_emulated:
        return Found((figure(what, None, note="an emulated GPU is opened once"),), {})
    devices = opened(setting)
    found = two_ways(spec, setting, devices, setting.budget_s / 2)
    rows = (
        figure(what, found.ratio),
        found.same_outputs("opened several times against once"),
    )
    details = {
        "devices": devices,
        "peak per s, in flight": found.peaks,
        "throughput plan": found.throughput_plan,
    }
    return Found(rows, details)


def opened(setting: Setting) -> tuple[str, str]:
    """The check's devices with the GPU on four lanes, and with it four times."""
    cpu, gpu = setting.specs[0], setting.specs[setting.gpu]
    names = [gpu.memory, *(f"{gpu.memory}.{number}" for number in range(1, INSTANCES))]
    several = [replace(gpu, name=gpu.name.replace(gpu.memory, n, 1), lanes=1) for n in names]
    return (
        f"{cpu.text},{replace(gpu, lanes=INSTANCES).text}",
        ",".join(spec.text for spec in (cpu, *several)),
    )
