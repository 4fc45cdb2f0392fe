"""The enumerations of ONNX Runtime that session options use."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class _Named(IntEnum):
    """Written as ONNX Runtime writes its own, and equal to it."""

    def __eq__(self, other: object) -> bool:
        return bool(int(self) == _number(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


def _number(member: _Named, other: Any) -> Any:
    """The number of a member of ONNX Runtime's enumeration of the same name; else ``other``."""
    return int(other) if type(other).__name__ == type(member).__name__ else other


class GraphOptimizationLevel(_Named):
    """How far a model's graph is optimised before it runs."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(_Named):
    """Whether branches may run side by side; here they may in either."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(_Named):
    """In which order operators run that wait for nothing; here it is the plan's."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


LEVEL_NAMES = {
    GraphOptimizationLevel.ORT_DISABLE_ALL: "disable_all",
    GraphOptimizationLevel.ORT_ENABLE_BASIC: "basic",
    GraphOptimizationLevel.ORT_ENABLE_EXTENDED: "extended",
    GraphOptimizationLevel.ORT_ENABLE_LAYOUT: "layout",
    GraphOptimizationLevel.ORT_ENABLE_ALL: "all",
}
"""The core's names of them."""
