"""Figures on disk, unit by unit: what a stop leaves is where the next start goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surplus.engine.atomic_file import write_atomic

OUT_OF_TIME = "out of time: the same command goes on here"
"""Stored of a unit that was not begun."""

BEGUN = "begun, and the check itself was ended meanwhile"
"""Stored of a unit as long as it runs."""

_SAME = ("processor", "cores", "gpu", "onnxruntime")
"""What figures of one part have in common, beside the configuration."""


class PartStore:
    """The units of one part. Thread-safe; each ``keep`` is a whole file or none.

    Parameters
    ----------
    path : Path
        The part's file.
    machine, config : mapping
        Where and how it is measured; figures that were measured otherwise are dropped.
    """

    def __init__(self, path: Path, machine: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        self._path = path
        self._machine = dict(machine)
        self._config = json.loads(json.dumps(dict(config)))
        self._lock = threading.Lock()
        self.units: dict[str, dict[str, Any]] = self._earlier()

    def is_done(self, unit: str) -> bool:
        """Whether the unit has figures; one that failed or ran out of time has none."""
        return "figures" in self.units.get(unit, {})

    def has_failed(self, unit: str) -> bool:
        """Whether it was begun and has no figures."""
        return self.units.get(unit, {}).get("error", OUT_OF_TIME) != OUT_OF_TIME

    def keep(self, unit: str, found: Mapping[str, Any]) -> None:
        """Store what a unit came to: its figures, or ``error`` and why.

        It is of this commit, unless it says of which one.
        """
        with self._lock:
            commit = found.get("commit", self._machine["commit"])
            self.units[unit] = {**found, "commit": commit}
            document = {
                "bench": f"gpu_check {self._path.stem}",
                "machine": self._machine,
                "config": self._config,
                "units": self.units,
            }
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path, (json.dumps(document, indent=1) + "\n").encode())

    def _earlier(self) -> dict[str, dict[str, Any]]:
        try:
            document = json.loads(self._path.read_text())
        except (OSError, json.JSONDecodeError):
            return {}
        then, now = document["machine"], self._machine
        same = all(then.get(key) == now.get(key) for key in _SAME)
        units: dict[str, dict[str, Any]] = document["units"]
        return units if same and document["config"] == self._config else {}
