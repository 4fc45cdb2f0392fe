"""ONNX Runtime's own Python package on the GPU, as a user runs it without us; TF32 is off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"

_OPTIONS: dict[str, list[tuple[str, dict[str, str]]]] = {
    CPU: [(CPU, {})],
    CUDA: [(CUDA, {"use_tf32": "0"}), (CPU, {})],
    TENSORRT: [(TENSORRT, {}), (CUDA, {"use_tf32": "0"}), (CPU, {})],
}


def has(provider: str) -> bool:
    """Whether the installed package was built with a provider."""
    try:
        import onnxruntime
    except ImportError:
        return False
    return provider in onnxruntime.get_available_providers()


def session(path: Path, provider: str = CUDA, **options: str) -> Any:
    """A session whose first provider is the wanted one.

    Raises
    ------
    RuntimeError
        If the package lacks it, or fell back to another one, which it does without an error.
    """
    if not has(provider):
        raise RuntimeError(f"the installed onnxruntime has no {provider}")
    import onnxruntime

    wanted = [(name, {**given}) for name, given in _OPTIONS[provider]]
    wanted[0][1].update(options)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    made = onnxruntime.InferenceSession(str(path), settings, providers=wanted)
    if made.get_providers()[0] != provider:
        raise RuntimeError(f"ONNX Runtime fell back to {made.get_providers()[0]} for {provider}")
    return made


def runner(
    path: Path, inputs: Mapping[str, Array], provider: str = CUDA
) -> Callable[[], dict[str, Array]]:
    """``InferenceSession.run`` on arrays."""
    made, feed = session(path, provider), dict(inputs)
    names = [output.name for output in made.get_outputs()]
    return lambda: dict(zip(names, made.run(None, feed), strict=True))


def captured_runner(
    path: Path, inputs: Mapping[str, Array], provider: str = CUDA, device: str = "cuda"
) -> Callable[[], dict[str, Array]]:
    """The same through a CUDA graph: fixed buffers, filled and read with each query.

    Parameters
    ----------
    provider, device : str
        The CPU's stand in for a GPU in tests of the buffers; they capture nothing.
    """
    import onnxruntime

    def buffers(arrays: Mapping[str, Array]) -> dict[str, Any]:
        make = onnxruntime.OrtValue.ortvalue_from_numpy
        return {name: make(array, device, 0) for name, array in arrays.items()}

    given, taken = buffers(inputs), buffers(runner(path, inputs, provider)())
    made = session(path, provider, **({"enable_cuda_graph": "1"} if provider == CUDA else {}))
    binding = made.io_binding()
    for name, value in given.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in taken.items():
        binding.bind_ortvalue_output(name, value)

    def run() -> dict[str, Array]:
        for name, value in given.items():
            value.update_inplace(inputs[name])
        made.run_with_iobinding(binding)
        return {name: value.numpy() for name, value in taken.items()}

    return run
