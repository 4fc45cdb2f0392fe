"""``python -m bench.profiles [NAME ...]``: profile the detectors here, with an emulated GPU.

The CPU's times are measured on this machine, best while nothing else runs; the GPU's and the
copies' are derived. Each file says so of each device, and from which figures.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from bench.infrastructure.built_models import FOLDER as MODELS
from bench.infrastructure.built_models import built
from bench.profiles import DETECTORS, profile_path
from surplus.engine.devices.links import LINKS, link_figures
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.stages import example_inputs, measure, read_model
from surplus.engine.profiling.device_profile import DeviceProfile
from surplus.engine.profiling.profile import Profile


def main() -> int:
    """Profile each model and write its file."""
    parser = argparse.ArgumentParser(prog="python -m bench.profiles", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(DETECTORS)}")
    parser.add_argument("--gpu", default="titan_rtx", choices=sorted(LINKS))
    args = parser.parse_args()
    for name in args.names or DETECTORS:
        if name not in DETECTORS:
            print(f"no profile {name!r}; there are: {', '.join(DETECTORS)}", file=sys.stderr)
            return 2
        made(name, f"cpu,emulated:gpu[{args.gpu}]").save(profile_path(name))
        print(profile_path(name))
    return 0


def made(name: str, devices: str) -> Profile:
    """The profile of a model, each device's origin in words, without the name of this host."""
    path, _ = built(name)
    cache = MODELS / "cache"
    graph = read_model(path, cache)
    profile = measure(graph, parse_devices(devices), example_inputs(graph, path), cache)
    return replace(
        profile,
        model=name,
        machine=replace(profile.machine, host=""),
        devices=tuple(with_origin(device, profile) for device in profile.devices),
    )


def with_origin(device: DeviceProfile, profile: Profile) -> DeviceProfile:
    """Say on which machine a CPU was measured, and from what a GPU and its copies are derived."""
    machine = profile.machine
    if device.traits.is_host:
        origin = (
            f"measured on {machine.cpu}, {machine.cores} cores, ONNX Runtime"
            f" {machine.runtime_version}, {profile.date[:10]}, median of up to {profile.repeats}"
        )
    else:
        origin = (
            f"{device.origin}; peak and bandwidth from the vendor's data sheet, rule in"
            f" engine/profiling/roofline.py; copies: {link_figures(device.preset).source}"
        )
    return replace(device, origin=origin)


if __name__ == "__main__":
    sys.exit(main())
