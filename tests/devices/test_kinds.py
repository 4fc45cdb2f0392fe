"""A kind of device is a file and an entry of the registry: nothing else knows this one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surplus
from surplus import models
from surplus.engine import _core
from surplus.engine.devices import registry
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.inventory import inventory
from surplus.engine.devices.kinds.grammar import parts
from surplus.engine.devices.machines import close_machines
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.devices.spec import DeviceSpec, Kind, Traits, kind_named
from surplus.engine.errors import DeviceError


# --8<-- [start:toy]
class Toy(Kind):
    """``toy:NAME:LANES``: a T4 that the core emulates."""

    name = "toy"
    traits = Traits(is_emulated=True, has_own_kernels=True)

    def parse(self, text: str) -> DeviceSpec:
        """As of ``Kind``."""
        name, _, lanes = parts(text)
        if name is None:
            raise DeviceError(f"device {text!r} needs a name, as every toy")
        return DeviceSpec(self.name, f"toy:{name}", lanes, preset="t4")

    def check_present(self, spec: DeviceSpec) -> None:
        """As of ``Kind``."""
        if spec.name == "toy:lost":
            raise DeviceError(f"device {spec.name!r} lies under the sofa")

    def driven_by(self, spec: DeviceSpec) -> str:
        """As of ``Kind``."""
        return f"{spec.name} of wood"

    def options(
        self, spec: DeviceSpec, emulation: EmulationParams, *, reopens: bool
    ) -> _core.DeviceOptions:
        """As of ``Kind``."""
        found = super().options(spec, emulation, reopens=reopens)
        found.kind = "emulated"
        return found

    def inventory(self) -> Iterator[dict[str, Any]]:
        """As of ``Kind``."""
        yield {"device": "toy:a", "is": "a toy", "usable": "yes"}


TOY = Toy()
# --8<-- [end:toy]


@pytest.fixture
def _toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(registry.KINDS, "toy", f"{__name__}:TOY")
    yield
    close_machines()  # those with a toy: nobody could name it any more
    kind_named.cache_clear()


pytestmark = pytest.mark.usefixtures("_toys")


def test_a_toy_is_parsed_and_written_as_any_device() -> None:
    host, toy = parse_devices("toy:a:2,cpu:1")
    assert (host.kind, toy) == ("cpu", DeviceSpec("toy", "toy:a", 2, preset="t4"))
    assert (toy.text, toy.memory, toy.widths) == ("toy:a:2", "toy:a", (1,))
    with pytest.raises(DeviceError, match=r"needs a name, as every toy.*examples"):
        parse_devices("toy")


def test_a_toy_computes_what_plans_place_on_it(tmp_path: Path) -> None:
    path = models.save(models.build("fork_join", branches=2, depth=2, size=64), tmp_path / "m.onnx")
    alone = surplus.load(path, devices="cpu:1", cache=tmp_path / "cache", tune="now")
    beside = surplus.load(
        path,
        devices="cpu:1,toy:a",
        placement_policy="single",
        cache=tmp_path / "cache",
        tune="now",
    )
    assert {beside.plan.devices[s.device] for s in beside.plan.segments} == {"toy:a"}
    inputs = {spec.name: np.ones(spec.shape, np.float32) for spec in alone.inputs}
    want = alone.run(inputs)
    for name, found in beside.run(inputs).items():
        np.testing.assert_array_equal(found, want[name])


def test_a_toy_that_is_missing_says_so(tmp_path: Path) -> None:
    path = models.save(models.build("fork_join", branches=2, depth=1, size=4), tmp_path / "m.onnx")
    with pytest.raises(DeviceError, match="under the sofa"):
        surplus.load(path, devices="cpu:1,toy:lost", cache=tmp_path / "cache")


def test_a_toy_is_listed_among_the_devices() -> None:
    assert {"device": "toy:a", "is": "a toy", "usable": "yes"} in inventory()["devices"]
