"""A process with a sub-interpreter, whose lanes let go of arrays: ``sub_interpreter.py CACHE``.

Executed by tests/runtime/test_sub_interpreter.py.
"""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from typing import ClassVar

import numpy as np

from tests.runtime.runtime_models import model_of, read_text

NEG = "neg (float[n] x) => (float[n] y) { y = Neg(x) }"
QUERIES = 50


def make_interpreter() -> None:
    """It is kept till the end; its module's name is that of this Python."""
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    importlib.import_module(name).create()


class Memory(bytearray):
    """Says which thread lets go of it."""

    freed_by: ClassVar[list[int]] = []

    def __del__(self) -> None:
        Memory.freed_by.append(threading.get_ident())


def main(cache: Path) -> None:
    """Submit arrays that nobody else holds; print how many went, and how many threads did it."""
    model = model_of(read_text(NEG, cache), "cpu:1")
    make_interpreter()
    for _ in range(QUERIES):
        array = np.frombuffer(Memory(4096), np.float32)
        array.flags.writeable = False
        future = model.submit({"x": array})
        del array
        future.result()
    del future
    model.run({"x": np.zeros(4, np.float32)})  # lets go of what lanes could not
    print(len(Memory.freed_by), set(Memory.freed_by) == {threading.get_ident()})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
