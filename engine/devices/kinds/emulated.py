"""An EMULATED GPU: real outputs, computed by the host, and derived times on a virtual clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.kinds.grammar import parts, words
from surplus.engine.devices.links import DEFAULT_PRESET, LINKS, host_links, link_figures
from surplus.engine.devices.presets import GPUS, SLOWDOWN
from surplus.engine.devices.spec import DeviceSpec, Kind, Traits
from surplus.engine.errors import DeviceError

_FLAGS = ("replay", "pageable", "uncaptured")
_GIB = 1 << 30


class Emulated(Kind):
    """``emulated:gpu[h200,replay]:4``: a name, the GPU that it stands for, how it departs."""

    name = "emulated"
    traits = Traits(is_emulated=True)

    def parse(self, text: str) -> DeviceSpec:
        """As of ``Kind``."""
        name, options, lanes = parts(text)
        if name is None:
            raise DeviceError(f"device {text!r} needs a name, as in emulated:gpu")
        asked = words(options)
        presets = [word for word in asked if word in LINKS]
        unknown = [word for word in asked if word not in _FLAGS and word not in LINKS]
        if unknown or len(presets) > 1:
            flags, known = ", ".join(_FLAGS), ", ".join(sorted(LINKS))
            raise DeviceError(f"device {text!r}: options are {flags} and one of {known}")
        return DeviceSpec(
            self.name,
            f"{self.name}:{name}",
            lanes,
            preset=presets[0] if presets else DEFAULT_PRESET,
            replay="replay" in asked,
            pageable="pageable" in asked,
            captured="uncaptured" not in asked,
        )

    def text(self, spec: DeviceSpec) -> str:
        """As of ``Kind``."""
        asked = [spec.preset] * bool(spec.preset) + ["replay"] * spec.replay
        asked += ["pageable"] * spec.pageable + ["uncaptured"] * (not spec.captured)
        return f"{spec.name}{'[' + ','.join(asked) + ']' if asked else ''}:{spec.lanes}"

    def options(
        self, spec: DeviceSpec, emulation: EmulationParams | None, *, reopens: bool
    ) -> _core.DeviceOptions:
        """As of ``Kind``; what ``emulation`` leaves open is the preset's."""
        found = super().options(spec, emulation, reopens=reopens)
        if emulation is None or emulation.device not in ("", spec.name):
            emulation = EmulationParams()
        found.memory_bytes = emulation.memory_bytes
        gpu, slowdown = GPUS[spec.preset], SLOWDOWN if spec.lanes > 1 else ()
        own = found.emulated
        own.replay = spec.replay
        own.submit_ns = gpu.submit_ns if emulation.submit_ns is None else emulation.submit_ns
        own.slowdown = slowdown if emulation.slowdown is None else emulation.slowdown
        own.capture_ns = emulation.capture_ns
        own.fail_capture = emulation.fail_capture
        own.first_run_ns = emulation.first_run_ns
        own.fail_every = emulation.fail_every
        own.lose_at = emulation.lose_at
        own.fail_prepare = emulation.fail_prepare
        link, _ = host_links(spec.memory, link_figures(spec.preset), pageable=spec.pageable)
        own.h2d_latency_ns = own.d2h_latency_ns = link.latency_ns
        own.h2d_bytes_per_s = own.d2h_bytes_per_s = link.bytes_per_s
        own.h2d_occupancy_ns = own.d2h_occupancy_ns = link.occupancy_ns
        own.staging_bytes = link.staging_bytes or 0
        own.pageable = link.pageable
        return found

    def inventory(self) -> Iterator[dict[str, Any]]:
        """The GPUs that it can stand for."""
        for preset, gpu in GPUS.items():
            yield {
                "device": f"{self.name}:gpu[{preset}]",
                "is": f"EMULATED {gpu.title}: real outputs, times derived",
                "memory GiB": gpu.memory_bytes / _GIB,
                "usable": "yes",
            }


EMULATED = Emulated()
