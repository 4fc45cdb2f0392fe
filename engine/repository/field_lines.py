"""Where in a configuration's file each field stands, so that an error can name its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from surplus.engine.errors import ConfigError


@dataclass(frozen=True)
class FieldLines:
    """The lines of a file's fields.

    Parameters
    ----------
    file : Path
        The file; a model's folder where it has none.
    lines : mapping of str to int
        By the field's path, such as ``input[0].dims``: counted from 1. Fields that were completed
        from the model stand nowhere.
    """

    file: Path
    lines: Mapping[str, int] = field(default_factory=dict)

    def place(self, path: str) -> str:
        """``config.pbtxt:12: input[0].dims``: the file, the line of the field, the field.

        Of a field that is not written, the line is that of what it belongs to.
        """
        outer = path
        while outer and outer not in self.lines:
            outer = outer[: max(outer.rfind("."), outer.rfind("["), 0)]
        line = f":{self.lines[outer]}" if outer else ""
        return f"{self.file}{line}: {path}"

    def wrong(self, path: str, why: str) -> ConfigError:
        """The error to raise for a field."""
        return ConfigError(f"{self.place(path)}: {why}")
