"""OpenVINO's kernels, as the wheel ``openvino`` brings them: used by its C functions."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
from pathlib import Path

from surplus.engine.kernels.library import Installed, KernelLibrary
from surplus.engine.native import newest

LIBRARY_VARIABLE = "SURPLUS_OPENVINO_LIBRARY"
"""Environment variable that names a ``libopenvino_c.so`` to load instead of the wheel's."""

_PATTERN = "libopenvino_c.so*"

_ROUNDS_OTHERWISE = ("DynamicQuantize", "QLinear", "MatMulInteger", "ConvInteger")
"""Parts of the names of operators on quantised numbers, which it moves and rounds otherwise. Of
QuantizeLinear and DequantizeLinear, and what lies between, answers move by the model's own steps,
which the comparison with ONNX Runtime's allows for."""

_RANDOM = ("Random", "Bernoulli", "Multinomial")


def _find() -> Installed | None:
    return _found(os.environ.get(LIBRARY_VARIABLE, ""))


@functools.cache
def _found(named: str) -> Installed | None:
    """Looked for once: a load asks several times."""
    if named:
        path = Path(named)
        return Installed(path, str(path.stat().st_mtime_ns)) if path.is_file() else None
    if platform.machine() not in ("x86_64", "AMD64"):
        return None  # its kernels for others were never measured
    spec = importlib.util.find_spec("openvino")
    for folder in map(Path, (spec.submodule_search_locations or ()) if spec else ()):
        found = newest((folder / "libs").glob(_PATTERN))
        if found is not None:
            return Installed(found.resolve(), _version(folder.parent) or found.name)
    return None


def _version(packages: Path) -> str:
    """The wheel's, from the name of the folder of its metadata: reading that takes milliseconds."""
    names = sorted(folder.name for folder in packages.glob("openvino-*.dist-info"))
    return names[-1].removeprefix("openvino-").removesuffix(".dist-info") if names else ""


def _refuses_op(op_type: str) -> bool:
    return any(part in op_type for part in (*_ROUNDS_OTHERWISE, *_RANDOM))


_INSTRUCTIONS = {"bf16": {"avx512_bf16", "amx_bf16"}, "f16": {"avx512_fp16", "amx_fp16"}}


@functools.cache
def _computes_in(precision: str) -> bool:
    """As the kernel names the processor's instructions; without, precisions are emulated."""
    text = Path("/proc/cpuinfo").read_text(errors="replace")
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return precision == "f32" or not _INSTRUCTIONS.get(precision, set()).isdisjoint(flags.split())


LIBRARY = KernelLibrary(
    name="openvino",
    title="OpenVINO",
    install="pip install 'surplus-engine[openvino]'",
    kinds=frozenset({"cpu"}),
    find=_find,
    refuses_op=_refuses_op,
    computes_in=_computes_in,
)
