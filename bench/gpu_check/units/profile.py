"""A profile of this machine as a file: what a laptop needs to place the model for it."""

from __future__ import annotations

from dataclasses import replace

from bench.gpu_check.figures import Found
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.subject import Subject


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Write the profile beside the results, without the name of this host."""
    subject = Subject(spec, setting)
    profile = subject.profile
    profile = replace(profile, model=spec.name, machine=replace(profile.machine, host=""))
    path = setting.results / f"{spec.name}.profile.json.gz"
    setting.results.mkdir(parents=True, exist_ok=True)
    profile.save(path)
    return Found((), {"file": path.name, "origins": [d.origin for d in profile.devices]})
