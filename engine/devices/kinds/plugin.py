"""Devices that a plugin execution provider of ONNX Runtime drives: ``plugin:webgpu``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.kinds.grammar import parts
from surplus.engine.devices.plugins import PREFIX, listed_plugins, read_plugin
from surplus.engine.devices.spec import DeviceSpec, Kind, Traits
from surplus.engine.errors import DeviceError


class Plugin(Kind):
    """A provider by its name; one lane, which is the provider's one thread."""

    name = "plugin"
    traits = Traits(has_own_kernels=True, copies_in_runs=True, probe="plugin")

    def parse(self, text: str) -> DeviceSpec:
        """As of ``Kind``."""
        name, options, lanes = parts(text)
        if name is None:
            raise DeviceError(f"device {text!r} needs a name, as in plugin:webgpu")
        if options is not None or lanes > 1:
            raise DeviceError(f"device {text!r}: a plugin provider has no options and one lane")
        return DeviceSpec(self.name, f"{PREFIX}{name}", 1, captured=False)

    def check_present(self, spec: DeviceSpec) -> None:
        """Registers the provider, unless that was done."""
        try:
            read_plugin(spec.name.removeprefix(PREFIX))
        except DeviceError as error:
            stand_in = "emulated:gpu stands in for a GPU"
            raise DeviceError(f"device {spec.name!r}: {error}; {stand_in}") from error

    def driven_by(self, spec: DeviceSpec) -> str:
        """The processor and the provider's version: operators and times depend on them."""
        self.check_present(spec)
        return read_plugin(spec.name.removeprefix(PREFIX)).title

    def options(
        self, spec: DeviceSpec, emulation: EmulationParams | None, *, reopens: bool
    ) -> _core.DeviceOptions:
        """As of ``Kind``, and which provider."""
        found = super().options(spec, emulation, reopens=reopens)
        found.provider = spec.name.removeprefix(PREFIX)
        return found

    def inventory(self) -> Iterator[dict[str, Any]]:
        """Providers that are installed, and WebGPU's."""
        for name in listed_plugins():
            row = {"device": f"{PREFIX}{name}", "is": "a plugin provider of ONNX Runtime"}
            try:
                yield {**row, "is": read_plugin(name).title, "usable": "yes"}
            except DeviceError as error:
                yield {**row, "usable": f"no: {error}"}


PLUGIN = Plugin()
