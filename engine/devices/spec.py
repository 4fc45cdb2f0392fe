"""Device strings: ``cpu:2``, ``emulated:gpu[h200]:4``, ``cuda:0:2``, ``plugin:webgpu``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from surplus.engine import _core
from surplus.engine.devices.links import DEFAULT_PRESET, HOST_MEMORY, LINKS
from surplus.engine.errors import DeviceError

_EXAMPLES = (
    "examples: cpu:2; cpu:1,emulated:gpu; cpu,emulated:gpu[h200]:4; cpu,emulated:gpu[replay];"
    " cuda:0; cuda:0:4; cuda:0[64sm]:2; cuda:0[tf32]; cpu:1,plugin:webgpu"
)
_FLAGS = ("replay", "pageable", "uncaptured")

_DEVICE = re.compile(
    r"(?P<kind>[a-z]+)(?::(?P<name>[a-z][a-z0-9_-]*))?(?:\[(?P<options>[^\[\]]*)\])?"
    r"(?::(?P<lanes>[0-9]+))?"
)
_CUDA = re.compile(
    r"cuda:(?P<index>[0-9]{1,3})(?:\[(?P<options>[^\[\]]*)\])?(?::(?P<lanes>[0-9]+))?"
)
_SMS = re.compile(r"(?P<count>[0-9]{1,4})sm")
_TF32 = "tf32"
_MAX_LANES = 1024


@dataclass(frozen=True)
class DeviceSpec:
    """One device that the user asked for.

    Parameters
    ----------
    kind : {"cpu", "emulated", "cuda", "plugin"}
        What computes; ``plugin`` is a plugin execution provider of ONNX Runtime.
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

    kind: Literal["cpu", "emulated", "cuda", "plugin"]
    name: str
    lanes: int
    preset: str = ""
    replay: bool = False
    pageable: bool = False
    captured: bool = True
    sms: int = 0
    share_percent: int = 100

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths worth measuring: powers of two up to all lanes; 1 on a GPU."""
        if self.kind != "cpu":
            return (1,)
        powers = (1 << i for i in range(self.lanes.bit_length()))
        return tuple(sorted({*powers, self.lanes}))

    @property
    def memory(self) -> str:
        """The memory space of its tensors; partitions of a GPU share one."""
        return HOST_MEMORY if self.kind == "cpu" else self.name.partition("[")[0]

    @property
    def allows_tf32(self) -> bool:
        """Whether a CUDA device may multiply float32 in TF32: faster, with 10 bits of fraction."""
        return self.kind == "cuda" and _TF32 in _words(self.name.partition("[")[2].rstrip("]"))

    @property
    def text(self) -> str:
        """As ``parse_devices`` reads it."""
        if self.kind == "plugin":
            return f"{self.name}:{self.lanes}"
        words = [self.preset] * bool(self.preset) + ["replay"] * self.replay
        words += ["pageable"] * self.pageable + ["uncaptured"] * (not self.captured)
        return f"{self.name}{'[' + ','.join(words) + ']' if words else ''}:{self.lanes}"


def device_kind(name: str) -> str:
    """What stands first in a device's name: ``cuda`` of ``cuda:0[64sm]``."""
    return re.split(r"[:\[]", name, maxsplit=1)[0]


def parse_devices(text: str) -> tuple[DeviceSpec, ...]:
    """Read a list of devices, the host's CPU first.

    The CPU's lanes default to the cores that this process may use, less one for the submitting
    thread of each GPU; a GPU's to 1. Partitions of a
    GPU are devices of their own, as in ``cuda:0[64sm],cuda:0[32sm]``; a GPU is named whole or by
    partitions. Whether a GPU is there is asked when a model is loaded onto it.
    Where no CPU is named it is added: the host takes part in every plan.

    Raises
    ------
    DeviceError
        Naming what is wrong, with examples.
    """
    specs = [_device(part.strip()) for part in re.split(r",(?![^\[]*\])", text)]
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise DeviceError(f"devices {text!r}: {name!r} appears twice ({_EXAMPLES})")
    _check_partitions(text, specs)
    if "cpu" not in names:
        specs.append(DeviceSpec("cpu", "cpu", 0))
    gpus = {spec.memory for spec in specs if spec.kind != "cpu"}
    lanes = max(1, available_cores() - len(gpus))  # of a CPU that was named without a number
    specs = [replace(spec, lanes=spec.lanes or lanes) for spec in specs]
    return tuple(sorted(specs, key=lambda spec: spec.kind != "cpu"))


def available_cores() -> int:
    """Cores that this process may use: affinity, and the container's quota rounded up."""
    return _core.available_cores()


def _device(text: str) -> DeviceSpec:
    if re.match(r"cuda\b", text):
        return _cuda(text)
    match = _DEVICE.fullmatch(text)
    if match is None:
        raise DeviceError(f"device {text!r} is not understood ({_EXAMPLES})")
    lanes = _lanes(text, match["lanes"])
    if match["kind"] == "cpu":
        if match["name"] or match["options"] is not None:
            raise DeviceError(f"device {text!r}: a cpu has no name and no options ({_EXAMPLES})")
        return DeviceSpec("cpu", "cpu", lanes or 0)
    if match["kind"] == "emulated":
        return _emulated(text, match["name"], match["options"] or "", lanes or 1)
    if match["kind"] == "plugin":
        return _plugin(text, match["name"], match["options"], lanes or 1)
    raise DeviceError(f"device {text!r}: unknown kind {match['kind']!r} ({_EXAMPLES})")


def _emulated(text: str, name: str | None, options: str, lanes: int) -> DeviceSpec:
    if name is None:
        raise DeviceError(f"device {text!r} needs a name, as in emulated:gpu ({_EXAMPLES})")
    words = _words(options)
    presets = [word for word in words if word in LINKS]
    unknown = [word for word in words if word not in _FLAGS and word not in LINKS]
    if unknown or len(presets) > 1:
        flags, known = ", ".join(_FLAGS), ", ".join(sorted(LINKS))
        raise DeviceError(f"device {text!r}: options are {flags} and one of {known} ({_EXAMPLES})")
    return DeviceSpec(
        "emulated",
        f"emulated:{name}",
        lanes,
        preset=presets[0] if presets else DEFAULT_PRESET,
        replay="replay" in words,
        pageable="pageable" in words,
        captured="uncaptured" not in words,
    )


def _plugin(text: str, name: str | None, options: str | None, lanes: int) -> DeviceSpec:
    if name is None:
        raise DeviceError(f"device {text!r} needs a name, as in plugin:webgpu ({_EXAMPLES})")
    if options is not None or lanes != 1:
        raise DeviceError(
            f"device {text!r}: a plugin provider has no options and one lane ({_EXAMPLES})"
        )
    return DeviceSpec("plugin", f"plugin:{name}", 1, captured=False)


def _cuda(text: str) -> DeviceSpec:
    match = _CUDA.fullmatch(text)
    if match is None:
        raise DeviceError(
            f"device {text!r} is not understood: a CUDA device is a number, perhaps options and"
            f" lanes ({_EXAMPLES})"
        )
    lanes, words = _lanes(text, match["lanes"]) or 1, _words(match["options"] or "")
    partitions = [int(found["count"]) for word in words if (found := _SMS.fullmatch(word))]
    if len(partitions) > 1 or len(partitions) + (_TF32 in words) < len(words):
        raise DeviceError(
            f"device {text!r}: options are the SMs of a partition, as in 64sm, and {_TF32}"
            f" ({_EXAMPLES})"
        )
    if 0 in partitions:
        raise DeviceError(f"device {text!r}: a partition has at least one SM ({_EXAMPLES})")
    options = ",".join([f"{sms}sm" for sms in partitions] + [_TF32] * (_TF32 in words))
    name = f"cuda:{int(match['index'])}" + (f"[{options}]" if options else "")
    return DeviceSpec("cuda", name, lanes, sms=sum(partitions))


def _words(options: str) -> list[str]:
    return [word.strip() for word in re.split("[,;]", options) if word.strip()]


def _check_partitions(text: str, specs: list[DeviceSpec]) -> None:
    cuda = [spec for spec in specs if spec.kind == "cuda"]
    whole = {spec.memory for spec in cuda if not spec.sms}
    for spec in cuda:
        if len({other.allows_tf32 for other in cuda if other.memory == spec.memory}) > 1:
            raise DeviceError(
                f"devices {text!r}: {spec.memory!r} is named with and without {_TF32} ({_EXAMPLES})"
            )
        if spec.sms and spec.memory in whole:
            raise DeviceError(
                f"devices {text!r}: {spec.memory!r} is named whole and by partitions ({_EXAMPLES})"
            )


def _lanes(text: str, digits: str | None) -> int | None:
    lanes = None if digits is None else int(digits)
    if lanes is not None and not 1 <= lanes <= _MAX_LANES:
        raise DeviceError(f"device {text!r}: lanes must be 1 to {_MAX_LANES} ({_EXAMPLES})")
    return lanes
