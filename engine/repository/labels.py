"""Labels of a model's classes: the files that its outputs name, a label a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surplus.engine.errors import ConfigError
from surplus.engine.repository.field_lines import FieldLines

MOST_BYTES = 64 << 20


def read_labels(message: Any, lines: FieldLines) -> dict[str, tuple[str, ...]]:
    """By output; of those that name a file.

    Raises
    ------
    ConfigError
        If a file cannot be read; the message names the field, too.
    """
    found = {}
    for index, output in enumerate(message.output):
        if output.label_filename:
            at = f"output[{index}].label_filename"
            found[output.name] = _labels(lines, at, output.label_filename)
    return found


def _labels(lines: FieldLines, at: str, name: str) -> tuple[str, ...]:
    folder = lines.file.parent
    file = (folder / name).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise lines.wrong(at, f"{name!r} lies outside of the model's folder")
    try:
        return _read(file)
    except OSError as error:
        raise lines.wrong(at, f"{name!r}: {error.strerror}") from error
    except (UnicodeDecodeError, ConfigError) as error:
        raise lines.wrong(at, f"{name!r}: {error}") from error


def _read(file: Path) -> tuple[str, ...]:
    if file.stat().st_size > MOST_BYTES:
        raise ConfigError(f"larger than {MOST_BYTES >> 20} MiB")
    return tuple(file.read_text(encoding="utf-8").splitlines())
