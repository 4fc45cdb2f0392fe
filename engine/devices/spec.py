"""A device that the user asked for, and what a kind of device is.

A kind is one file in ``kinds/`` and an entry of the registry (``registry.py``); nothing else asks
for a device's kind by name, but for what its traits say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from surplus.engine import _core
from surplus.engine.devices.registry import KINDS
from surplus.engine.errors import DeviceError

if TYPE_CHECKING:
    from surplus.engine.devices.emulation_params import EmulationParams

HOST_MEMORY = "host"
"""The memory space of the CPU's tensors."""


class Traits(NamedTuple):
    """What all devices of a kind have in common.

    Parameters
    ----------
    is_host : bool
        Whether it computes in the host's memory, on lanes that are threads of ours; segments may
        take several of them. All others have a memory of their own and a submitting thread.
    is_emulated : bool
        Whether its times are derived and charged on a virtual clock, not measured.
    has_own_kernels : bool
        Whether its kernels may round otherwise than the host's.
    copies_in_runs : bool
        Whether each run of a session copies its inputs and outputs, and holds the submitting
        thread until it ends.
    is_lost_for_process : bool
        Whether one that is lost is so for every machine of the process.
    has_slow_first_runs : bool
        Whether a session's first run takes far longer than the others.
    probe : str
        How its operators are measured (``profiling/profiler.py``); empty for the host, whose are
        timed on the calibration walk, and for what is emulated.
    least_captured : int
        Of how many operators a segment must be, at least, to be captured as a graph.
    """

    is_host: bool = False
    is_emulated: bool = False
    has_own_kernels: bool = False
    copies_in_runs: bool = False
    is_lost_for_process: bool = False
    has_slow_first_runs: bool = False
    probe: str = ""
    least_captured: int = 1


@dataclass(frozen=True)
class DeviceSpec:
    """One device that the user asked for.

    Parameters
    ----------
    kind : str
        What computes, a name of the registry; ``plugin`` is a plugin execution provider of ONNX
        Runtime.
    name : str
        Unique among the devices, for example ``cpu``, ``emulated:gpu``, ``cuda:0``,
        ``plugin:webgpu`` or, with options, ``cuda:0[64sm]`` and ``cuda:0[64sm,tf32]``.
    lanes : int
        Segments that it runs at once (CPU workers, GPU streams), >= 1.
    preset : str
        Which GPU an emulated device stands for; empty for the CPU.
    replay : bool
        Whether an emulated device answers from outputs recorded on its first run.
    pageable : bool
        Whether an emulated device copies from and to pageable memory, not a pinned pool.
    captured : bool
        Whether segments that allow it are submitted as one captured graph of operators.
    sms : int
        Streaming multiprocessors of a CUDA device's partition; 0 is the whole GPU.
    share_percent : int
        Of an emulated GPU's processors; 100 is the whole GPU. For derived times only.
    """

    kind: str
    name: str
    lanes: int
    preset: str = ""
    replay: bool = False
    pageable: bool = False
    captured: bool = True
    sms: int = 0
    share_percent: int = 100

    @property
    def traits(self) -> Traits:
        """Of its kind."""
        return kind_named(self.kind).traits

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths worth measuring: powers of two up to all lanes; 1 but on the host."""
        if not self.traits.is_host:
            return (1,)
        powers = (1 << i for i in range(self.lanes.bit_length()))
        return tuple(sorted({*powers, self.lanes}))

    @property
    def memory(self) -> str:
        """The memory space of its tensors; partitions of a GPU share one."""
        return HOST_MEMORY if self.traits.is_host else self.name.partition("[")[0]

    @property
    def options(self) -> tuple[str, ...]:
        """Those that are part of its name, as of ``cuda:0[64sm,tf32]``."""
        return tuple(filter(None, self.name.partition("[")[2].rstrip("]").split(",")))

    @property
    def text(self) -> str:
        """As ``parse_devices`` reads it."""
        return kind_named(self.kind).text(self)

    def check_present(self) -> None:
        """Refuse what this machine or this build cannot drive.

        Raises
        ------
        DeviceError
            Naming the first thing that is missing, what brings it, and what stands in for it.
        """
        kind_named(self.kind).check_present(self)

    def driven_by(self) -> str:
        """What of this machine plans for it depend on, beside the machine itself; or empty."""
        return kind_named(self.kind).driven_by(self)

    def core_options(
        self, emulation: EmulationParams | None, *, reopens: bool
    ) -> _core.DeviceOptions:
        """What the core needs to open it, if it is present."""
        return kind_named(self.kind).options(self, emulation, reopens=reopens)


class Kind(ABC):
    """What is to be known of a kind of device; without state."""

    name: ClassVar[str]
    traits: ClassVar[Traits]

    @abstractmethod
    def parse(self, text: str) -> DeviceSpec:
        """Read one device of this kind; 0 lanes mean that the user named none.

        Raises
        ------
        DeviceError
            Naming the text and what is wrong with it; the caller adds examples.
        """

    def text(self, spec: DeviceSpec) -> str:
        """What ``parse`` reads."""
        return f"{spec.name}:{spec.lanes}"

    def check_together(self, specs: Sequence[DeviceSpec]) -> None:
        """Refuse devices of this kind that cannot be there side by side.

        Raises
        ------
        DeviceError
            Naming one of them; the caller adds the whole list.
        """
        del specs

    def check_present(self, spec: DeviceSpec) -> None:
        """As ``DeviceSpec.check_present``; what is always there needs no check."""
        del spec

    def driven_by(self, spec: DeviceSpec) -> str:
        """As ``DeviceSpec.driven_by``."""
        del spec
        return ""

    def options(
        self, spec: DeviceSpec, emulation: EmulationParams | None, *, reopens: bool
    ) -> _core.DeviceOptions:
        """What the core needs to open it: of any device kind, name and lanes.

        Parameters
        ----------
        emulation : EmulationParams, optional
            How an emulated one departs from its profile.
        reopens : bool
            Whether it is to be opened again after a loss.
        """
        del emulation, reopens
        found = _core.DeviceOptions()
        found.kind, found.name, found.lanes = spec.kind, spec.name, spec.lanes
        return found

    def inventory(self) -> Iterable[dict[str, Any]]:
        """Rows of ``engine devices``: ``device``, ``is``, perhaps ``memory GiB``, ``usable``."""
        return ()


@cache
def kind_named(name: str) -> Kind:
    """A kind of the registry.

    Raises
    ------
    DeviceError
        If there is none of that name.
    """
    if name not in KINDS:
        raise DeviceError(f"unknown kind {name!r}; there are {', '.join(KINDS)}")
    module, _, attribute = KINDS[name].partition(":")
    found: Kind = getattr(import_module(module), attribute)
    return found


def traits_of(device: str) -> Traits:
    """Of a device's kind, which stands first in its name; of a problem's own, none."""
    kind = kind_of(device)
    return kind_named(kind).traits if kind in KINDS else Traits()


def kind_of(device: str) -> str:
    """What stands first in a device's name or text."""
    return device.partition(":")[0].partition("[")[0]
