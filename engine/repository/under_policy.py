"""What a policy for several models makes of configurations; what it does not, it says by name."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from surplus.engine.errors import ConfigError

if TYPE_CHECKING:
    from surplus.engine.repository.layout import RepositoryEntry
    from surplus.engine.repository.model_config import ModelConfig

_log = logging.getLogger(__name__)

OVERRULED: Mapping[str, str] = {
    "dynamic_batching": "it says itself which queries run together, and when",
    "instance_group": "it divides the server's devices among all models",
}
"""Fields that a model served by itself honours, and why nothing comes of them under a policy."""


def require_servable(entries: Iterable[RepositoryEntry], policy: str) -> None:
    """Refuse what a policy for several models cannot plan for.

    Raises
    ------
    ConfigError
        Naming file and field, or why a model cannot be served in any way.
    """
    for entry in entries:
        if entry.error:
            raise ConfigError(entry.error)
        if entry.config is not None and entry.config.is_ensemble:
            raise entry.config.lines.wrong(
                "ensemble_scheduling",
                f"--policy {policy} serves models of one file each: serve ensembles without it",
            )


def warn_of_overruled(entries: Iterable[RepositoryEntry], policy: str) -> None:
    """Log, once a model, what is written and comes to nothing under a policy.

    Parameters
    ----------
    entries : iterable of RepositoryEntry
        Every version, oldest first.
    """
    versions: dict[str, list[RepositoryEntry]] = {}
    for entry in entries:
        versions.setdefault(entry.name, []).append(entry)
    for found in versions.values():
        for line in () if found[-1].config is None else _lines(found, found[-1].config, policy):
            _log.warning("%s", line)


def row_limits(configs: Mapping[str, ModelConfig | None]) -> dict[str, int]:
    """By model the ``max_batch_size`` that is written: rows of a batch at most; 0 is no batch."""
    return {
        name: config.message.max_batch_size
        for name, config in configs.items()
        if config is not None and "max_batch_size" in config.lines.lines
    }


def _lines(found: list[RepositoryEntry], config: ModelConfig, policy: str) -> Iterator[str]:
    """Of the versions of one model."""
    for field, why in OVERRULED.items():
        if field in {descriptor.name for descriptor, _ in config.message.ListFields()}:
            place = config.lines.place(field)
            yield f"{place} is not honoured under --policy {policy}: {why}"
    if older := ", ".join(entry.version for entry in found[:-1]):
        place = config.lines.place("version_policy")
        yield (
            f"{place} is not honoured under --policy {policy}: it serves the newest version,"
            f" {found[-1].version}, and not {older}"
        )
