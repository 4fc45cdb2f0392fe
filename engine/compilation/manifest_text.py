"""Writes which block each segment is: what ``scheduling/compiled_file.py`` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surplus.engine.compilation.layer import BlockLayers

_TOLERANCE = 1e-4


@dataclass(frozen=True)
class ManifestEntry:
    """A segment on so many lanes."""

    block: BlockLayers
    version: int
    width: int
    symbol: str


def manifest_text(
    model: str, library: str, entries: Sequence[ManifestEntry], sensitivities: Sequence[float]
) -> str:
    """The file.

    Parameters
    ----------
    model : str
        SHA-256 of the model.
    library : str
        Name of the library, beside the file.
    entries : sequence of ManifestEntry
    sensitivities : sequence of float
        By version, sessions first; empty where they were not measured.
    """
    lines = ['format = "surplus-compiled/1"', f"model = {_text(model)}"]
    if sensitivities:
        lines.append(f"sensitivities = {[round(value, 4) for value in sensitivities]}")
    for entry in entries:
        lines += ["", *_artifact(library, entry)]
    return "\n".join([*lines, ""])


def _artifact(library: str, entry: ManifestEntry) -> Iterator[str]:
    block = entry.block
    yield "[[artifact]]"
    yield f"version = {entry.version}"
    yield f"width = {entry.width}"
    yield f"library = {_text(library)}"
    yield f"symbol = {_text(entry.symbol)}"
    yield f"tolerance = {_TOLERANCE}"
    for key in ("inputs", "constants", "outputs"):
        yield f"{key} = [{', '.join(_text(name) for name in getattr(block, key))}]"


def _text(value: str) -> str:
    """A TOML string; JSON's escapes are those of TOML."""
    return json.dumps(value, ensure_ascii=False)
