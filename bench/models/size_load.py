"""One load in a process that has imported nothing else: ``python -m bench size_load LOAD PATH``.

It prints the seconds that the call takes, and ends when standard input does.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

Load = Callable[[Path, Path], object]
"""From a file and a folder for the cache to what answers."""


def _onnxruntime() -> Load:
    """A session of ONNX Runtime's own package with all of its defaults."""
    from onnxruntime import InferenceSession

    return lambda path, cache: InferenceSession(str(path), providers=["CPUExecutionProvider"])


def _default() -> Load:
    """``surplus.load`` as a new user has it; bench/__init__.py asks for plans at once."""
    import surplus

    return lambda path, cache: surplus.load(path, cache=cache, tune="background")


def _planned() -> Load:
    """The same, until a plan was chosen by measurement."""
    import surplus

    return lambda path, cache: surplus.load(path, cache=cache, tune="now")


LOADS: Mapping[str, Callable[[], Load]] = MappingProxyType(
    {"ONNX Runtime": _onnxruntime, "load": _default, "tune now": _planned}
)
"""By name, what imports what it needs."""


def main() -> None:
    """Load once."""
    load, path = LOADS[sys.argv[1]](), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as cache:
        began = time.perf_counter()
        loaded = load(path, Path(cache))
        print(time.perf_counter() - began, flush=True)
        sys.stdin.read()
        del loaded


if __name__ == "__main__":
    main()
