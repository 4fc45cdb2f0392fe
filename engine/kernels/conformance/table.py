"""A library's conformance table: what it computes as ONNX says, of one version on one processor."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from surplus.engine.cache.private import private_folder, read_private, write_private
from surplus.engine.cache_folder import cache_folder
from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.instruction_set import instruction_set

EDITION = 1
"""Of the cases and of how they are compared: a table of another edition is none."""

SHIPPED = Path(__file__).parent / "tables"
_FOLDER = "kernels"


@dataclass(frozen=True)
class ConformanceTable:
    """What held, by operator, types and kind.

    Parameters
    ----------
    library, version, instructions : str
        Whose table it is, and where it was measured.
    operators : mapping
        ``{"Relu": {"float32->float32": ["finite", "made"]}}``.
    """

    library: str
    version: str
    instructions: str
    operators: Mapping[str, Mapping[str, list[str]]]

    def holds(self, operator: str, types: str, kind: Aspect) -> bool:
        """Whether an operator of these types was seen to hold."""
        return kind in self.operators.get(operator, {}).get(types, ())

    @cached_property
    def digest(self) -> str:
        """Of all of it, short: plans that were made by another table are other plans."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:8]

    def to_json(self) -> str:
        """As a file holds it."""
        return json.dumps(
            {
                "edition": EDITION,
                "library": self.library,
                "version": self.version,
                "instructions": self.instructions,
                "operators": self.operators,
            },
            sort_keys=True,
        )

    @staticmethod
    def from_json(text: str) -> ConformanceTable | None:
        """What ``to_json`` wrote; None of what is damaged, or of another edition."""
        try:
            found: dict[str, Any] = json.loads(text)
            if found.pop("edition") != EDITION:
                return None
            return ConformanceTable(**found)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


def file_name(library: str, version: str, instructions: str) -> str:
    """Of a table."""
    return f"{library}-{version}-{instructions}.json"


@functools.cache
def _shipped(library: str, version: str, instructions: str) -> ConformanceTable | None:
    file = SHIPPED / file_name(library, version, instructions)
    return ConformanceTable.from_json(file.read_text()) if file.is_file() else None


def made_file(library: str, version: str) -> Path:
    """Where a table that was made on this machine lies."""
    return cache_folder() / _FOLDER / file_name(library, version, instruction_set())


def find_table(library: str, version: str) -> ConformanceTable | None:
    """The table of a version on this processor: that of the package, or one that was made here."""
    shipped = _shipped(library, version, instruction_set())
    return shipped if shipped is not None else _made(made_file(library, version))


def _made(file: Path) -> ConformanceTable | None:
    try:
        return ConformanceTable.from_json(read_private(file).decode())
    except (OSError, ValueError):
        return None


def keep_table(table: ConformanceTable) -> Path:
    """Store a table that was made here.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    file = made_file(table.library, table.version)
    private_folder(file.parent)
    write_private(file, table.to_json().encode())
    return file
