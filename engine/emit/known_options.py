"""Which session options the installed ONNX Runtime knows: its library names them."""

from __future__ import annotations

import mmap
from functools import cache
from pathlib import Path

from surplus.engine.native import find_library

NAME_RULES = "session.name_based_layer_assignment"
"""Devices by parts of nodes' names."""

ANNOTATION_RULES = "session.layer_assignment_settings"
"""Devices by annotations of nodes."""

STREAMS_FILE = "session.node_partition_config_file"
"""Which nodes run one after another."""


def knows_option(name: str) -> bool:
    """Whether the installed library has a session option of this name.

    Raises
    ------
    RuntimeLibraryError
        If ONNX Runtime is not installed.
    """
    return _contains(find_library(), name)


@cache
def _contains(library: Path, name: str) -> bool:
    with (
        library.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content.find(name.encode() + b"\0") >= 0
