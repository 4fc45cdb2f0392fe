"""Libraries of operators that a model's configuration names (``model_operations``)."""

from __future__ import annotations

from collections.abc import Iterator

from surplus.engine.custom_operators import EXTENSION_NAMES, add_custom_operators
from surplus.engine.ensembles.in_repository import find_ensemble
from surplus.engine.errors import ConfigError
from surplus.engine.repository.json_config import PARAMETER
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.repository.model_config import ModelConfig


def operator_libraries(entry: RepositoryEntry) -> list[str]:
    """Paths, or names, of what a version of a model needs, and of what it is made of.

    They are the process's from now on.

    Raises
    ------
    ConfigError
        If one is not there, is no such library, or a client has named it, who must not choose what
        the server runs; it names file, line and field.
    """
    if entry.error or entry.config is None:
        return []
    found = list(_own(entry.config))
    if entry.config.is_ensemble:
        for _, model in find_ensemble(entry).steps:
            found += operator_libraries(model)
    return list(dict.fromkeys(found))


def _own(config: ModelConfig) -> Iterator[str]:
    """Of one configuration: a path is relative to the model's folder."""
    for index, name in enumerate(config.message.model_operations.op_library_filename):
        field = f"model_operations.op_library_filename[{index}]"
        if config.lines.file.name == PARAMETER:
            raise config.lines.wrong(field, "is for the repository's files alone")
        library = name if name in EXTENSION_NAMES else str(config.lines.file.parent / name)
        try:
            add_custom_operators([library])
        except ConfigError as error:
            raise config.lines.wrong(field, str(error)) from error
        yield library
