"""The fake CUDA library of a process that sees a GPU by it (tests/fake_gpu)."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path


class FakeCuda:
    """The library, begun anew: what it found wrong, what is left, and errors to inject."""

    def __init__(self) -> None:
        self.path = Path(os.environ["SURPLUS_CUDA_LIBRARY"])
        self._library = ctypes.CDLL(str(self.path))
        self._library.fakeCudaViolations.restype = ctypes.c_size_t
        self._library.fakeCudaAlive.restype = ctypes.c_size_t
        self._library.fakeCudaReset(ctypes.c_uint64(1))

    def violations(self) -> str:
        """Rules that were broken; empty if none was."""
        text = ctypes.create_string_buffer(4096)
        self._library.fakeCudaViolations(text, ctypes.c_size_t(len(text)))
        return text.value.decode()

    def alive(self) -> int:
        """Streams, events and allocations that are still there."""
        return int(self._library.fakeCudaAlive())

    def inject(self, function: str, nth: int, code: int) -> None:
        """Fail the ``nth`` next call of a CUDA function, or operation of a stream ("execute")."""
        self._library.fakeCudaInject(function.encode(), nth, code)
