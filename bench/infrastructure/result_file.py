"""Results as JSON with what is needed to read them: machine, commit, configuration."""

from __future__ import annotations

import datetime
import gzip
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.infrastructure.columns import text, to_columns, to_rows
from surplus.engine.atomic_file import write_atomic
from surplus.engine.native import load_runtime

RESULTS = Path(__file__).parents[1] / "results"
LONG_BYTES = 8192
"""Tables of more are stored as columns."""

PACKED_BYTES = 24_576
"""Tables whose text is longer are packed by gzip: nobody reads them but through the docs."""


def machine() -> dict[str, Any]:
    """The machine and the software that a figure depends on."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
        "onnxruntime": load_runtime(),
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def path_of(name: str) -> Path:
    """Where the rows of a table are stored, packed or not."""
    plain, packed = _paths(name)
    return packed if packed.exists() else plain


def _paths(name: str) -> tuple[Path, Path]:
    return RESULTS / f"{name}.json", RESULTS / f"{name}.json.gz"


def read_document(path: Path) -> dict[str, Any]:
    """A stored table with what is said of it."""
    data = path.read_bytes()
    found: dict[str, Any] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return found


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a stored table."""
    return rows_of(read_document(path))


def rows_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table, in whichever of the two forms it is stored."""
    if "columns" in document:
        return to_rows(document["columns"])
    rows: list[dict[str, Any]] = document["rows"]
    return rows


def write(
    name: str,
    config: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    where: Mapping[str, Any] | None = None,
) -> Path:
    """Store the rows of one table, whole or not at all.

    Parameters
    ----------
    where : mapping, optional
        As ``machine()``, which it is by default.
    """
    RESULTS.mkdir(exist_ok=True)
    document = {
        "bench": name.removesuffix(".part"),
        "machine": dict(where or machine()),
        "config": dict(config),
    }
    plain, packed = _paths(name)
    data = _text(document, rows).encode()
    if len(data) <= PACKED_BYTES or name.endswith(".part"):
        write_atomic(plain, data)
        packed.unlink(missing_ok=True)
        return plain
    write_atomic(packed, gzip.compress(data, mtime=0))  # equal tables are equal files
    plain.unlink(missing_ok=True)
    return packed


def _text(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """JSON with a line a row, or a line a column where the table is long."""
    head = json.dumps(document, indent=1).removesuffix("\n}")
    lines = [text(row) for row in rows]
    if sum(map(len, lines)) > LONG_BYTES and (columns := to_columns(rows)):
        lines = [f"{text(key)}:{text(column)}" for key, column in columns.items()]
        return f'{head},\n "columns": {{\n  {_joined(lines)}\n }}\n}}\n'
    return f'{head},\n "rows": [\n  {_joined(lines)}\n ]\n}}\n'


def _joined(lines: Sequence[str]) -> str:
    return ",\n  ".join(lines)


def show(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a Markdown table, as docs/PERFORMANCE.md has them."""
    print(f"\n### {name}\n")
    print(markdown(rows))


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table; empty where a row lacks what another has."""
    if not rows:
        return "(no rows)"
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(keys) + " |", "|" + "---|" * len(keys)]
    lines += ["| " + " | ".join(_cell(row.get(key, "")) for key in keys) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def uncommitted(root: Path = RESULTS.parents[1]) -> list[str]:
    """Tracked files that were changed since the last commit; results themselves do not count."""
    others = (".", ":!bench/results")
    return _git(root, "diff", "--name-only", "HEAD", "--", *others).splitlines()


def _commit(root: Path = RESULTS.parents[1]) -> str:
    commit = _git(root, "describe", "--always").strip() or "unknown"
    return f"{commit}-dirty" if uncommitted(root) else commit


def _git(root: Path, *words: str) -> str:
    command = ["git", *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
