"""What a scenario's file says of its live run; read without its profiles, to measure these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from surplus.colocation.files.toml_file import read_toml
from surplus.colocation.scenarios.scenario import LiveSettings
from surplus.colocation.scenarios.tables import ScenarioTables


@dataclass(frozen=True)
class ToMeasure:
    """What to measure for a scenario.

    Parameters
    ----------
    live : LiveSettings
    names : tuple of str
        Of the services.
    operators : tuple of int
        By service: groups of its model.
    items, most_items : tuple of int
        By service: of its largest query, and of its largest batch.
    batches : tuple of tuple of int
        By service: items of the batches to measure, ascending.
    lanes : tuple of int
        By device.
    path : Path or None
        The profile that the scenario reads, if it is one of ours.
    """

    live: LiveSettings
    names: tuple[str, ...]
    operators: tuple[int, ...]
    items: tuple[int, ...]
    most_items: tuple[int, ...]
    batches: tuple[tuple[int, ...], ...]
    lanes: tuple[int, ...]
    path: Path | None


def live_settings(tables: ScenarioTables, path: Path) -> LiveSettings | None:
    """What the table ``[live]`` says; None if there is none.

    Raises
    ------
    ValueError
        If it names an unknown service, a service has no model, or shares are no percentages up
        to 100.
    """
    live = tables.live
    if live is None:
        return None
    names = tables.service_names
    for key, known in (("models", live.models), ("compiled", live.compiled)):
        unknown = sorted(set(known) - set(names))
        if unknown:
            raise ValueError(f"live.{key}: there is no service {unknown[0]!r}")
    missing = [name for name in names if name not in live.models]
    if missing:
        raise ValueError(f"live.models: service {missing[0]!r} has no model")
    files = [live.compiled.get(name, "") for name in names] if live.compiled else []
    return LiveSettings(
        live.devices,
        tuple(_model(live.models[name], path) for name in names),
        checked_shares(live.shares, "live"),
        tuple(str(path.parent / file) if file else "" for file in files),
    )


def checked_shares(shares: Sequence[int], where: str) -> tuple[int, ...]:
    """Check shares to be measured: ascending up to the whole device, or none.

    Raises
    ------
    ValueError
        If they are not.
    """
    if shares and (list(shares) != sorted(set(shares)) or shares[0] < 1 or shares[-1] != 100):
        raise ValueError(f"{where}: shares must ascend from 1 or more to 100, got {list(shares)}")
    return tuple(shares)


def read_to_measure(path: Path) -> ToMeasure:
    """Read what is needed to measure a scenario's profile.

    Raises
    ------
    ValueError
        If the file is not TOML, has no live run, or a service or device is none.
    OSError
        If it cannot be read.
    """
    tables = read_toml(ScenarioTables, path)
    services = tables.service
    try:
        live = live_settings(tables, path)
        if live is None:
            raise ValueError("no table [live], which says with what models on what devices")
        for service in services:
            service.read()
        for device in tables.device:
            device.read()
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    profiles = [table.profile for table in services]
    files = [own["path"] for own in profiles if own.get("kind") == "measured" and "path" in own]
    return ToMeasure(
        live=live,
        names=tuple(tables.service_names),
        operators=tuple(table.operators for table in services),
        items=tuple(max(table.items) for table in services),
        most_items=tuple(table.most_items for table in services),
        batches=tuple(batches_of(table.items, table.most_items) for table in services),
        lanes=tuple(table.lanes for table in tables.device),
        path=path.parent / files[0] if files else None,
    )


def batches_of(items: Sequence[int], most: int) -> tuple[int, ...]:
    """Batches whose times say enough of all: of each query, doubled up to the largest."""
    powers = (own << k for own in items for k in range(most.bit_length()))
    return tuple(sorted({*items, *(batch for batch in powers if batch <= most), most}))


def _model(text: str, path: Path) -> str:
    """A file counts from the scenario's folder; the name of a network stays."""
    return str(path.parent / text) if text.endswith(".onnx") else text
