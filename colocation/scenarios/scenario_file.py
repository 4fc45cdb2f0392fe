"""Reads scenarios from TOML files; docs/COLOCATION.md describes the format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surplus.colocation.files.toml_table import TomlTable, read_table
from surplus.colocation.files.typed_options import shown
from surplus.colocation.frame.arrival import ARRIVALS
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S, NS_PER_US
from surplus.colocation.frame.interference_model import INTERFERENCES, Interference
from surplus.colocation.frame.profile import PROFILES
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.overlap.group_times import GroupTimes, load_group_times
from surplus.colocation.policies.names import policy_names
from surplus.colocation.randomness.noise import NOISES, Noise
from surplus.colocation.scenarios.change_file import Changes, read_changes, read_reorganisation
from surplus.colocation.scenarios.live_file import live_settings
from surplus.colocation.scenarios.scenario import Scenario, Tenant


def read_scenario(path: Path, data: Path | None = None) -> Scenario:
    """Read a scenario and the files that it names.

    Parameters
    ----------
    path : Path
    data : Path, optional
        Replaces ``{data}`` at the beginning of strings of the file. Other relative paths of
        options named ``path`` or ``folder`` count from the scenario's folder.

    Raises
    ------
    ValueError
        If the file is not TOML, or a key is unknown, missing or out of range; the message says
        where.
    OSError
        If a file cannot be read.
    """
    return _Reader(path, data).scenario(read_table(path))


class _Reader:
    def __init__(self, path: Path, data: Path | None) -> None:
        self._path = path
        self._data = data

    def scenario(self, table: TomlTable) -> Scenario:
        tenants = tuple(self._tenant(row) for row in table.tables("service"))
        names = [tenant.service.name for tenant in tenants]
        truth = table.table("truth", {})
        options = table.take("policy_options", dict, {})
        devices = tuple(_device(row) for row in table.tables("device"))
        subjects = {"device": [device.name for device in devices], "service": names}
        for kind, own in subjects.items():
            twice = {name for name in own if own.count(name) > 1}
            if twice:
                raise ValueError(f"{table.where}: {kind} {min(twice)!r} occurs twice")
        scenario = Scenario(
            name=table.take("name", str, self._path.stem),
            tenants=tenants,
            devices=devices,
            duration_ns=table.time_ns("duration_s", NS_PER_S, 1),
            seed=table.take("seed", int),
            policies=_policies(table, options),
            noise=self._noise(truth),
            overlap=truth.take("overlap", float, 0.0),
            group_times=self._group_times(truth),
            side_by_side=_side_by_side(truth, devices),
            interference=self._interference(truth, names),
            drain_ns=table.time_ns("drain_s", NS_PER_S) if "drain_s" in table else None,
            policy_options=self._options(table, options),
            changes=self._changes(table, subjects),
            reorganisation=read_reorganisation(table.optional("reorganise")),
            spawn_ns=truth.time_ns("spawn_us", NS_PER_US) if "spawn_us" in truth else 0,
            live=live_settings(table.take("live", dict, {}), names, self._path),
        )
        truth.done()
        table.done()
        return scenario

    def _changes(self, table: TomlTable, subjects: dict[str, list[str]]) -> Changes:
        try:
            return read_changes(table.tables("change", []), subjects)
        except ValueError as error:
            raise ValueError(f"{self._path}: {error}") from error

    def _tenant(self, table: TomlTable) -> Tenant:
        name = table.take("name", str)
        table.where = f"{self._path}, service {name!r}"
        items = table.integers("items", (1,), 1)
        most = table.take("max_queue", int, -1)
        slo_ns = table.time_ns("slo_ms", NS_PER_MS, 1)
        numbers = {
            "max_batch": table.take("max_batch", int, max(items)),
            "operators": table.take("operators", int, 1),
            "memory_bytes": table.take("memory_bytes", int, 0),
        }
        try:
            service = Service(
                name=name, slo_ns=slo_ns, max_queue=None if most == -1 else most, **numbers
            )
        except ValueError as error:
            raise ValueError(f"{self._path}, {error}") from error
        if max(items) > service.max_batch:
            text = f"queries of {max(items)} items do not fit max_batch {service.max_batch}"
            raise ValueError(f"{table.where}: {text}")
        tenant = Tenant(
            service=service,
            profile=self._make(PROFILES, table.table("profile"), "kind"),
            arrivals=self._make(ARRIVALS, table.table("load"), "kind"),
            items=items,
            sequences=table.integers("sequences", (0,), 0),
        )
        table.done()
        return tenant

    def _make(self, registry: Any, table: TomlTable, key: str) -> Any:
        name = table.take(key, str)
        options = {k: self._resolved(table, k, v) for k, v in table.rest().items()}
        try:
            return registry.make(name, **options)
        except ValueError as error:
            raise ValueError(f"{table.where}: {error}") from error

    def _resolved(self, table: TomlTable, key: str, value: Any) -> Any:
        """A string's file, for options that are files."""
        if key not in ("path", "folder") or not isinstance(value, str):
            return value
        if not value.startswith("{data}"):
            return str(self._path.parent / value)
        if self._data is None:
            raise ValueError(f"{table.where}: {key} {value!r} needs the data folder (--data)")
        return str(self._data / value.removeprefix("{data}").lstrip("/"))

    def _noise(self, truth: TomlTable) -> Noise:
        noise: Noise = self._make(NOISES, truth.table("noise", {"kind": "none"}), "kind")
        return noise

    def _group_times(self, truth: TomlTable) -> GroupTimes | None:
        values = truth.take("measured", dict, {})
        if not values:
            return None
        table = TomlTable(values, f"{truth.where}, measured")
        path = self._resolved(table, "path", table.take("path", str))
        table.done()
        return load_group_times(Path(path))

    def _options(self, table: TomlTable, options: dict[str, Any]) -> dict[str, Any]:
        """The options of policies; files of their planners and predictors are resolved."""
        return {
            policy: {key: self._inner(table, value) for key, value in own.items()}
            for policy, own in options.items()
        }

    def _inner(self, table: TomlTable, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: self._resolved(table, key, inner) for key, inner in value.items()}

    def _interference(self, truth: TomlTable, names: list[str]) -> Interference | None:
        table = truth.table("interference", {"kind": "none"})
        kind = table.take("kind", str)
        if kind == "none":
            table.done()
            return None
        try:
            options = {k: self._resolved(table, k, v) for k, v in table.rest().items()}
            return INTERFERENCES.make(kind, names, **options)
        except ValueError as error:
            raise ValueError(f"{table.where}: {error}") from error


def _device(table: TomlTable) -> ServingDevice:
    name, memory_bytes = table.take("name", str), table.take("memory_bytes", int, -1)
    lanes, cores = table.take("lanes", int, 1), table.take("cores", int, 0)
    try:
        device = ServingDevice(name, None if memory_bytes == -1 else memory_bytes, lanes, cores)
    except ValueError as error:
        raise ValueError(f"{table.where}: {error}") from error
    table.done()
    return device


def _policies(table: TomlTable, options: dict[str, Any]) -> tuple[str, ...]:
    names = table.take("policies", list)
    unknown = [name for name in (*names, *options) if name not in policy_names()]
    if unknown or not names:
        known = ", ".join(policy_names())
        text = f"unknown policy {shown(unknown[0])}" if unknown else "policies is empty"
        raise ValueError(f"{table.where}: {text}; there are: {known}")
    if not all(isinstance(value, dict) for value in options.values()):
        raise ValueError(f"{table.where}: policy_options must be a table for each policy")
    return tuple(names)


def _side_by_side(truth: TomlTable, devices: Sequence[ServingDevice]) -> str:
    asked = truth.take("side_by_side", str, "")
    if asked not in ("", "lanes", "streams"):
        raise ValueError(f"{truth.where}: side_by_side must be lanes or streams, got {asked!r}")
    lanes = {device.lanes for device in devices}
    if asked and (len(lanes) > 1 or min(lanes) < 2):
        text = f"side_by_side needs devices of as many lanes each, two or more, got {sorted(lanes)}"
        raise ValueError(f"{truth.where}: {text}")
    return asked
