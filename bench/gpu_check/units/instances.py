"""One GPU as several devices of a machine, a submitting thread each: what that lets through."""

from __future__ import annotations

from dataclasses import replace

from bench.gpu_check.contender import of_model
from bench.gpu_check.figures import SAME_OUTPUTS, Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.queries import peak_per_s
from bench.gpu_check.relative_error import relative_error
from bench.gpu_check.setting import Setting
from bench.gpu_check.subject import Subject

INSTANCES = 4


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """As many lanes in all either way; an emulated GPU is opened once only."""
    what = f"peak throughput: opened {INSTANCES} times, a lane each / once"
    if setting.is_emulated:
        return Found((figure(what, None, note="an emulated GPU is opened once"),), {})
    once, often = (Subject(spec, replace(setting, devices=text)) for text in opened(setting))
    contenders = [of_model(s.setting.devices, s.engine(), s.inputs) for s in (once, often)]
    peaks = [peak_per_s(contender, setting.budget_s / 2) for contender in contenders]
    same, other = (contender.run() for contender in contenders)
    chosen = often.engine().throughput_plan
    rows = (
        figure(what, peaks[1][0] / peaks[0][0]),
        figure(
            "outputs: opened several times against once", relative_error(other, same), SAME_OUTPUTS
        ),
    )
    details = {
        "peak per s, in flight": dict(zip((c.name for c in contenders), peaks, strict=True)),
        "throughput plan": "" if chosen is None else chosen.text,
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
