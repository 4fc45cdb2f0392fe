"""NVIDIA's GPUs: ``cuda:0:4``, ``cuda:0.1``, ``cuda:0[64sm]:2``, ``cuda:0[tf32,tensorrt]``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from surplus.engine import _core
from surplus.engine.cache_folder import cache_folder
from surplus.engine.cuda_libraries import preload
from surplus.engine.devices import cuda_parts
from surplus.engine.devices.cuda_driver import GpuFacts, read_driver
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.kinds.grammar import parts, words
from surplus.engine.devices.spec import DeviceSpec, Kind, Traits
from surplus.engine.devices.staging import STAGING_BYTES
from surplus.engine.errors import DeviceError
from surplus.engine.kernels import tensorrt
from surplus.engine.native import find_cuda_library, wants_lane_threads

_CUDA = re.compile(
    r"cuda:(?P<name>[0-9]{1,3}(?:\.[1-9][0-9]?)?)(?:\[(?P<options>[^\[\]]*)\])?(?::(?P<lanes>[0-9]+))?"
)
_LEAST_CAPTURED = 4
"""Launches of fewer operators take no longer than the copies of what a graph takes and hands on.

Its session is a second one, too: some 16 MiB of an H100 and 20 ms of a load.
"""

_SMS = re.compile(r"(?P<count>[0-9]{1,4})sm")
_TF32 = "tf32"
_TENSORRT = "tensorrt"
_AGREED = (_TF32, _TENSORRT)
"""What all partitions of a GPU have, or none."""
_GIB = 1 << 30

DIVIDES = hasattr(_core.CudaOptions, "sms")
"""Whether the core makes partitions of a GPU."""


class Cuda(Kind):
    """A GPU by CUDA's number of it; lanes are streams.

    ``cuda:0.1`` beside ``cuda:0`` is the same GPU once more: a device with threads, streams and
    memory of its own.
    """

    name = "cuda"
    traits = Traits(
        has_own_kernels=True,
        is_lost_for_process=True,
        has_slow_first_runs=True,
        probe="gpu",
        least_captured=_LEAST_CAPTURED,
    )

    def parse(self, text: str) -> DeviceSpec:
        """As of ``Kind``; options: SMs of a partition, TF32 is allowed, TensorRT comes first."""
        if _CUDA.fullmatch(text) is None:
            raise DeviceError(
                f"device {text!r} is not understood: a CUDA device is a number, perhaps options and"
                " lanes"
            )
        index, options, lanes = parts(text, _CUDA)
        asked = words(options)
        counts = [int(found["count"]) for word in asked if (found := _SMS.fullmatch(word))]
        agreed = [word for word in _AGREED if word in asked]
        if len(counts) > 1 or len(counts) + len(agreed) < len(asked):
            raise DeviceError(
                f"device {text!r}: options are the SMs of a partition, as in 64sm, {_TF32} and"
                f" {_TENSORRT}"
            )
        if 0 in counts:
            raise DeviceError(f"device {text!r}: a partition has at least one SM")
        known = ",".join([f"{sms}sm" for sms in counts] + agreed)
        number, dot, instance = (index or "0").partition(".")
        name = f"{self.name}:{int(number)}{dot}{instance}" + (f"[{known}]" if known else "")
        return DeviceSpec(self.name, name, lanes, sms=sum(counts))

    def check_together(self, specs: Sequence[DeviceSpec]) -> None:
        """A GPU is named whole or by partitions, which have the same of ``_AGREED``."""
        whole = {spec.memory for spec in specs if not spec.sms}
        twice = {ordinal(spec) for spec in specs if instance(spec)}
        divided = next((spec for spec in specs if spec.sms and ordinal(spec) in twice), None)
        if divided is not None:
            raise DeviceError(f"{divided.memory!r} is named several times and by partitions")
        for spec in specs:
            for word in _AGREED:
                same = [other for other in specs if other.memory == spec.memory]
                if len({word in other.options for other in same}) > 1:
                    raise DeviceError(f"{spec.memory!r} is named with and without {word}")
            if spec.sms and spec.memory in whole:
                raise DeviceError(f"{spec.memory!r} is named whole and by partitions")

    def check_present(self, spec: DeviceSpec) -> None:
        """Looks for the driver, CUDA, its provider and the GPU, in the order of installing them."""
        for part in cuda_parts.cuda_parts(tensorrt=_TENSORRT in spec.options):
            if part.missing:
                raise _refusal(spec, part.missing)
        gpus = read_driver().gpus
        if ordinal(spec) >= len(gpus):
            raise _refusal(spec, f"the driver sees {len(gpus)} GPUs, numbered from 0")
        if spec.sms and not DIVIDES:
            raise _refusal(spec, "this build cannot divide a GPU into partitions")

    def options(
        self, spec: DeviceSpec, emulation: EmulationParams | None, *, reopens: bool
    ) -> _core.DeviceOptions:
        """Which GPU or part of it; loads CUDA's libraries before ONNX Runtime looks for them."""
        preload(runtime=find_cuda_library())
        found = super().options(spec, emulation, reopens=reopens)
        cuda = found.cuda
        cuda.ordinal = ordinal(spec)
        cuda.instance = instance(spec)
        cuda.sms = spec.sms
        cuda.allows_tf32 = allows_tf32(spec)
        if _TENSORRT in spec.options:
            cuda.tensorrt = True
        if cuda.tensorrt or tensorrt.LIBRARY.find() is not None:
            cuda.engines = _engines_folder()
        cuda.library = find_cuda_library()
        cuda.staging_bytes = STAGING_BYTES
        cuda.lane_threads = wants_lane_threads()
        cuda.resets_when_lost = reopens
        return found

    def inventory(self) -> Iterator[dict[str, Any]]:
        """The GPUs that the driver sees."""
        try:
            gpus = read_driver().gpus
        except DeviceError:
            return
        for gpu in gpus:
            yield self._row(gpu)

    def _row(self, gpu: GpuFacts) -> dict[str, Any]:
        spec = DeviceSpec(self.name, f"{self.name}:{gpu.index}", 1)
        try:
            self.check_present(spec)
            usable = "yes"
        except DeviceError as error:
            usable = f"no: {error}"
        return {
            "device": spec.name,
            "is": f"{gpu.name}, {gpu.sms} SMs, compute capability {gpu.capability}",
            "memory GiB": gpu.memory_bytes / _GIB,
            "usable": usable,
        }


CUDA = Cuda()


def ordinal(spec: DeviceSpec) -> int:
    """CUDA's number of the GPU."""
    return int(spec.memory.partition(":")[2].partition(".")[0])


def instance(spec: DeviceSpec) -> int:
    """Which of several devices that are the same GPU."""
    return int(spec.memory.partition(".")[2] or 0)


def allows_tf32(spec: DeviceSpec) -> bool:
    """Whether float32 may be multiplied in TF32: faster, with 10 bits of fraction."""
    return _TF32 in spec.options


def _engines_folder() -> str:
    """Where TensorRT keeps what it compiled; nowhere if nothing can be kept."""
    folder = cache_folder() / _TENSORRT
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder)


def _refusal(spec: DeviceSpec, reason: str) -> DeviceError:
    return DeviceError(f"device {spec.name!r}: {reason}; emulated:gpu stands in for a GPU")
