"""Loads streams of a mix into one server, each with the library that answers it soonest."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bench.neighbours.mixes import Stream
from bench.neighbours.triton.model_files import TritonModelParams

if TYPE_CHECKING:  # its clients are installed for those who develop alone
    from bench.neighbours.triton.server import TritonServer

Ask = Callable[[int], object]
Load = Callable[[Stream, Path], Ask]
NICE = 19


def in_triton(
    libraries: Mapping[str, Load], alone_ns: Callable[[Ask], float], instances: int
) -> Load:
    """A function that loads a stream; the server starts with the first.

    Parameters
    ----------
    libraries : mapping
        By the name that ``answering.py`` knows, what loads a stream into this process, to see
        which of them answers sooner.
    instances : int
        Of each model; the background's at nice 19.
    """
    servers: list[TritonServer] = []

    def load(stream: Stream, cache: Path) -> Ask:
        from bench.neighbours.triton.server import TritonServer

        if not servers:
            servers.append(TritonServer(cache / f"triton-{os.getpid()}"))
        file, inputs = stream.built()
        library = min(libraries, key=lambda name: alone_ns(libraries[name](stream, cache)))
        nice = 0 if stream.due_ms else NICE
        params = TritonModelParams(file, library, instances, nice)
        return servers[0].load(stream.name.replace(" ", "_"), params, inputs)

    return load
