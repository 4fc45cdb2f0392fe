"""Whether a green context's stream confines the kernels of cuBLAS and cuDNN to its SMs."""

from __future__ import annotations

from bench.gpu_check.figures import Bar, Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.small_segments import convolution, product
from surplus.engine.devices.cuda_driver import read_driver
from surplus.engine.devices.machines import open_machine
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.native import load_runtime
from surplus.engine.profiling.segment_probe import ProbeParams, SegmentProbe

_PARTITION_SMS = 32
_WARM_UP = 5


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Work that is limited by arithmetic, on the whole GPU and on a quarter of it or so."""
    gpu, sms = setting.gpu_name, read_driver().gpus[setting.ordinal].sms
    load_runtime()
    segments = {"a product of matrices": product(4096), "a convolution": convolution(256, 128)}
    params = ProbeParams(_WARM_UP, 5, 50, round(setting.budget_s * 1e9 / 4))
    times, warnings = {}, []
    for devices in (f"cpu:1,{gpu}:1", f"cpu:1,{gpu}[{_PARTITION_SMS}sm]:1"):
        machine = open_machine(parse_devices(devices))
        probe = SegmentProbe(machine, 1, params)
        times[devices] = {name: probe.times(s).service.ns for name, s in segments.items()}
        warnings.append(machine.stats()["devices"][1].get("warning", ""))
        machine.close()
    whole, part = times.values()
    ideal = sms / _PARTITION_SMS
    confined = Bar(f">= {0.7 * ideal:.2f}", least=0.7 * ideal)
    rows = [
        figure(f"{name}: {_PARTITION_SMS} SMs / all {sms}", part[name] / whole[name], confined)
        for name in segments
    ]
    divided = figure(
        "the GPU was divided", float(not any(warnings)), note="; ".join(filter(None, warnings))
    )
    return Found((divided, *rows), {"ns": times, "SMs": sms})
