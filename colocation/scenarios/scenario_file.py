"""Reads scenarios from TOML files; docs/COLOCATION.md describes the format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surplus.colocation.files.options import shown
from surplus.colocation.files.toml_file import read_toml
from surplus.colocation.frame.arrival import ARRIVALS
from surplus.colocation.frame.clock import NS_PER_S, NS_PER_US
from surplus.colocation.frame.interference_model import INTERFERENCES, Interference
from surplus.colocation.frame.profile import PROFILES
from surplus.colocation.frame.service import ServingDevice
from surplus.colocation.overlap.group_times import GroupTimes, load_group_times
from surplus.colocation.policies.names import policy_names
from surplus.colocation.randomness.noise import NOISES, Noise
from surplus.colocation.scenarios.change_file import read_changes
from surplus.colocation.scenarios.live_file import live_settings
from surplus.colocation.scenarios.scenario import Scenario, Tenant
from surplus.colocation.scenarios.tables import (
    Options,
    ScenarioTables,
    ServiceTable,
    TruthTable,
)
from surplus.placement.records import read_record


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
    return _made(read_toml(ScenarioTables, path), path, data)


def scenario_of_document(
    document: dict[str, Any], folder: Path = Path(), data: Path | None = None
) -> Scenario:
    """A scenario that was made, not read: what its file would hold, in a folder.

    Raises
    ------
    ValueError, OSError
        As ``read_scenario``.
    """
    path = folder / f"{document.get('name', 'scenario')}.toml"
    return _made(read_record(ScenarioTables, document, ""), path, data)


def _made(tables: ScenarioTables, path: Path, data: Path | None) -> Scenario:
    try:
        return _Reader(path, data).scenario(tables)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if str(path) in text else f"{path}, {text}") from error


class _Reader:
    def __init__(self, path: Path, data: Path | None) -> None:
        self._path = path
        self._data = data

    def scenario(self, tables: ScenarioTables) -> Scenario:
        for kind, own in (("device", tables.device_names), ("service", tables.service_names)):
            twice = {name for name in own if own.count(name) > 1}
            if twice:
                raise ValueError(f"{kind} {min(twice)!r} occurs twice")
        _check_policies((*tables.policies, *tables.policy_options))
        devices, truth = tuple(table.read() for table in tables.device), tables.truth
        reorganise, drain_s = tables.reorganise, tables.drain_s
        return Scenario(
            name=tables.name or self._path.stem,
            tenants=tuple(self._tenant(table) for table in tables.service),
            devices=devices,
            duration_ns=round(tables.duration_s * NS_PER_S),
            seed=tables.seed,
            policies=tables.policies,
            noise=self._noise(truth),
            overlap=truth.overlap,
            group_times=self._group_times(truth),
            side_by_side=_side_by_side(truth, devices),
            interference=self._interference(truth, tables.service_names),
            drain_ns=None if drain_s is None else round(drain_s * NS_PER_S),
            policy_options=self._policy_options(tables),
            changes=read_changes(tables),
            reorganisation=None if reorganise is None else reorganise.read(),
            spawn_ns=round(truth.spawn_us * NS_PER_US),
            live=live_settings(tables, self._path),
        )

    def _tenant(self, table: ServiceTable) -> Tenant:
        where = f"service {table.name!r}"
        return Tenant(
            service=table.read(),
            profile=self._make(PROFILES, table.profile, f"{where}, profile"),
            arrivals=self._make(ARRIVALS, table.load, f"{where}, load"),
            items=table.items,
            sequences=table.sequences,
        )

    def _make(self, registry: Any, table: Options, where: str, *arguments: Any) -> Any:
        """What the table's ``kind`` names, with its other keys as options."""
        kind = table.get("kind")
        try:
            if not isinstance(kind, str):
                raise ValueError("kind is missing" if kind is None else "kind must be text")
            return registry.make(kind, *arguments, **self._resolved_options(table))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error

    def _resolved_options(self, table: Options) -> Options:
        """All but ``kind``; those that are files count from the scenario's folder."""
        return {key: self._resolved(key, value) for key, value in table.items() if key != "kind"}

    def _resolved(self, key: str, value: Any) -> Any:
        if key not in ("path", "folder") or not isinstance(value, str):
            return value
        if not value.startswith("{data}"):
            return str(self._path.parent / value)
        if self._data is None:
            raise ValueError(f"{key} {value!r} needs the data folder (--data)")
        return str(self._data / value.removeprefix("{data}").lstrip("/"))

    def _noise(self, truth: TruthTable) -> Noise:
        noise: Noise = self._make(NOISES, truth.noise, "truth.noise")
        return noise

    def _group_times(self, truth: TruthTable) -> GroupTimes | None:
        measured = truth.measured
        if measured is None:
            return None
        return load_group_times(Path(self._resolved("path", measured.path)))

    def _policy_options(self, tables: ScenarioTables) -> dict[str, Options]:
        """The options of policies; files of their planners and predictors are resolved."""
        return {
            policy: {key: self._inner(value) for key, value in own.items()}
            for policy, own in tables.policy_options.items()
        }

    def _inner(self, value: Any) -> Any:
        """A part's options, ``kind`` among them."""
        if not isinstance(value, dict):
            return value
        return {key: self._resolved(key, inner) for key, inner in value.items()}

    def _interference(self, truth: TruthTable, names: Sequence[str]) -> Interference | None:
        table = truth.interference
        if table == {"kind": "none"}:
            return None
        made: Interference = self._make(INTERFERENCES, table, "truth.interference", names)
        return made


def _check_policies(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in policy_names()]
    if unknown:
        known = ", ".join(policy_names())
        raise ValueError(f"unknown policy {shown(unknown[0])}; there are: {known}")


def _side_by_side(truth: TruthTable, devices: Sequence[ServingDevice]) -> str:
    lanes = {device.lanes for device in devices}
    if truth.side_by_side and (len(lanes) > 1 or min(lanes) < 2):
        text = f"side_by_side needs devices of as many lanes each, two or more, got {sorted(lanes)}"
        raise ValueError(f"truth: {text}")
    return truth.side_by_side
