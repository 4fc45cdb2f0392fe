"""What a scenario's file says of its live run; read without its profiles, to measure these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surplus.colocation.files.toml_table import TomlTable, read_table
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.scenarios.scenario import LiveSettings


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


def live_settings(values: dict[str, Any], names: Sequence[str], path: Path) -> LiveSettings | None:
    """Read the table ``[live]``; None if there is none.

    Raises
    ------
    ValueError
        If a key is unknown, a service has no model, or shares are no percentages up to 100.
    """
    if not values:
        return None
    table = TomlTable(values, f"{path}, live")
    devices, models = table.take("devices", str), table.table("models")
    shares = table.integers("shares", (), 1) if "shares" in values else ()
    compiled = _compiled(table.optional("compiled"), names, path)
    table.done()
    found = tuple(_model(models.take(name, str), path) for name in names)
    models.done()
    return LiveSettings(devices, found, checked_shares(shares, table.where), compiled)


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
    table = read_table(path)
    services, devices = table.tables("service"), table.tables("device")
    names = tuple(row.take("name", str) for row in services)
    live = live_settings(table.take("live", dict, {}), names, path)
    if live is None:
        raise ValueError(f"{path}: no table [live], which says with what models on what devices")
    profiles = [row.table("profile") for row in services]
    files = [p.take("path", str) for p in profiles if p.take("kind", str) == "measured"]
    items = [row.integers("items", (1,), 1) for row in services]
    most = [row.take("max_batch", int, max(own)) for own, row in zip(items, services, strict=True)]
    operators = tuple(row.take("operators", int, 1) for row in services)
    lanes = tuple(row.take("lanes", int, 1) for row in devices)
    try:
        for name, batch, count in zip(names, most, operators, strict=True):
            Service(name, 1, batch, count)
        for row, count in zip(devices, lanes, strict=True):
            ServingDevice(row.take("name", str, ""), lanes=count)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return ToMeasure(
        live=live,
        names=names,
        operators=operators,
        items=tuple(max(own) for own in items),
        most_items=tuple(most),
        batches=tuple(batches_of(own, batch) for own, batch in zip(items, most, strict=True)),
        lanes=lanes,
        path=path.parent / files[0] if files else None,
    )


def batches_of(items: Sequence[int], most: int) -> tuple[int, ...]:
    """Batches whose times say enough of all: of each query, doubled up to the largest."""
    powers = (own << k for own in items for k in range(most.bit_length()))
    return tuple(sorted({*items, *(batch for batch in powers if batch <= most), most}))


def _compiled(table: TomlTable | None, names: Sequence[str], path: Path) -> tuple[str, ...]:
    """By service, its file or nothing; empty without a table."""
    if table is None:
        return ()
    files = tuple(table.take(name, str, "") for name in names)
    table.done()
    return tuple(str(path.parent / file) if file else "" for file in files)


def _model(text: str, path: Path) -> str:
    """A file counts from the scenario's folder; the name of a network stays."""
    return str(path.parent / text) if text.endswith(".onnx") else text
