"""``python -m surplus.engine.kernels.conformance.writing LIBRARY``: its table, into the package."""

from __future__ import annotations

import sys
from pathlib import Path

from surplus.engine.kernels.conformance.making import make_table
from surplus.engine.kernels.conformance.table import SHIPPED, file_name
from surplus.engine.kernels.registry import version_of


def main() -> None:
    """Make the table of the version that is installed, on this processor."""
    (library,) = sys.argv[1:]
    table = make_table(library, version_of(library))
    file = SHIPPED / file_name(library, table.version, table.instructions)
    file.write_text(table.to_json() + "\n")
    print(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


if __name__ == "__main__":
    main()
