"""GPU memory that a model takes on an opened device; each contender in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.gpu_check.contender import ENGINE, WHOLE, of_model
from bench.gpu_check.parts import ModelSpec, model_of
from bench.gpu_check.queries import closed_loop
from bench.gpu_check.setting import Setting
from bench.gpu_check.subject import Subject
from surplus.engine.devices.cuda_driver import used_memory_bytes
from surplus.engine.devices.machines import machine_for
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.placement.memory import constant_bytes

_IN_FLIGHT = 4
_LIMIT_S = 120


@dataclass(frozen=True)
class MemoryUsed:
    """What contenders took.

    Parameters
    ----------
    used_bytes : dict of str to int
        By contender.
    note : str
        What was counted.
    """

    used_bytes: dict[str, int]
    note: str

    @property
    def ratio(self) -> float | None:
        """The engine's over ONNX Runtime's; None where that took nothing."""
        whole = self.used_bytes[WHOLE]
        return self.used_bytes[ENGINE] / whole if whole else None


def beside_each_other(spec: ModelSpec, setting: Setting, gpu_memory: str = "") -> MemoryUsed:
    """Measure both; ``gpu_memory`` limits the engine's plan only.

    Raises
    ------
    subprocess.CalledProcessError
        If one of the two fails; what it printed went to our standard error.
    """
    # What plans need is counted; only what a GPU holds needs a process that held nothing before.
    count = used_bytes if setting.is_emulated else _in_a_process
    used = {
        name: count(spec, setting, name, gpu_memory if name == ENGINE else "")
        for name in (ENGINE, WHOLE)
    }
    note = "constants of the plan, EMULATED" if setting.is_emulated else "after queries in parallel"
    return MemoryUsed(used, note)


def _in_a_process(spec: ModelSpec, setting: Setting, name: str, gpu_memory: str) -> int:
    row = {**asdict(setting), "work": str(setting.work), "results": str(setting.results)}
    words = [spec.text, json.dumps(row), name, gpu_memory]
    command = [sys.executable, "-m", "bench.gpu_check.gpu_memory", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=_LIMIT_S)
    return int(done.stdout.split()[-1])


def used_bytes(spec: ModelSpec, setting: Setting, name: str, gpu_memory: str) -> int:
    """Load, answer queries, and see what the device holds that it did not hold before."""
    gpu = setting.specs[setting.gpu]
    subject = Subject(spec, setting, gpu_memory)
    if setting.is_emulated:
        return _planned(subject, _load(subject, name))
    index = int(gpu.memory.partition(":")[2])
    machine_for(setting.specs)
    before = used_memory_bytes(index)
    model = _load(subject, name)
    closed_loop(of_model(name, model, subject.inputs), _IN_FLIGHT, min(3.0, setting.budget_s / 4))
    return used_memory_bytes(index) - before


def _load(subject: Subject, name: str) -> PlannedModel:
    return subject.engine() if name == ENGINE else subject.whole(captured=False)


def _planned(subject: Subject, model: PlannedModel) -> int:
    gpu = subject.setting.gpu
    tasks = [t for s in model.plan.segments if s.device == gpu for t in s.tasks]
    return constant_bytes(subject.costs.problem, tasks)


def main() -> None:
    """Measure one contender and print its bytes."""
    text, row, name, gpu_memory = sys.argv[1:]
    raw = json.loads(row)
    raw |= {"work": Path(raw["work"]), "results": Path(raw["results"])}
    print(used_bytes(model_of(text), Setting(**raw), name, gpu_memory))


if __name__ == "__main__":
    main()
