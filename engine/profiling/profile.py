"""Profiles: what every task costs on every device, and what every tensor weighs.

The file is JSON; docs/FORMATS.md describes it field by field. It is all that placement needs:
a profile taken on a GPU server can be studied on a laptop.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from surplus.engine.atomic_file import write_atomic
from surplus.engine.devices.host import Machine
from surplus.engine.devices.spec import DeviceSpec, traits_of
from surplus.engine.errors import ProfileError
from surplus.engine.profiling.device_profile import DeviceProfile
from surplus.engine.profiling.overheads import Overheads
from surplus.engine.profiling.timing import Timing
from surplus.placement.problem import Link
from surplus.placement.records import read_document

FORMAT = "surplus-profile/1"
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class TaskProfile:
    """What a task takes on the devices that can run it, by device name.

    Parameters
    ----------
    times : mapping
        Device name -> width -> service time. A device that cannot run it is absent.
    launch_ns : mapping
        How long it keeps the device's submitting thread, where it is launched by itself.
    captured_ns : mapping
        Service time as part of a captured graph of operators, where that was measured or derived.
    """

    name: str
    op: str
    signature: str
    times: Mapping[str, Mapping[int, Timing]]
    launch_ns: Mapping[str, int] = field(default_factory=dict)
    captured_ns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TensorProfile:
    """Size of a tensor as the calibration run saw it; None as shape for what is no tensor."""

    size_bytes: int
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class LibraryProfile:
    """What tasks take with the kernels of a library beside ONNX Runtime's.

    Parameters
    ----------
    times : mapping
        Device name -> width -> nanoseconds of each task as a part of the whole model, in the
        profile's order; 0 of what the library runs within another.
    """

    name: str
    version: str
    times: Mapping[str, Mapping[int, tuple[int, ...]]]


@dataclass(frozen=True)
class Profile:
    """A profile.

    Parameters
    ----------
    model : str
        The model's name.
    model_hash : str
        ``Graph.source_hash``.
    date : str
        ISO 8601, UTC.
    session_overhead_ns : int
        What starting a session costs; was taken off every measured task.
    repeats : int
        At most so many per task.
    tensors : mapping of str to TensorProfile
        By name.
    whole_model : mapping
        Device name -> width -> time of the whole model in one session.
    whole_launch_ns : mapping
        Device name -> how long that keeps the device's submitting thread.
    overheads : Overheads
        Of segments, on this machine.
    libraries : tuple of LibraryProfile
        Of kernels beside ONNX Runtime's, which all other times are of.
    """

    model: str
    model_hash: str
    machine: Machine
    date: str
    repeats: int
    session_overhead_ns: int
    devices: tuple[DeviceProfile, ...]
    links: tuple[Link, ...]
    tasks: tuple[TaskProfile, ...]
    tensors: Mapping[str, TensorProfile]
    whole_model: Mapping[str, Mapping[int, Timing]] = field(default_factory=dict)
    whole_launch_ns: Mapping[str, int] = field(default_factory=dict)
    overheads: Overheads = field(default_factory=Overheads)
    libraries: tuple[LibraryProfile, ...] = ()

    def __post_init__(self) -> None:
        for library in self.libraries:
            for device, widths in library.times.items():
                for width, times_ns in widths.items():
                    self._check_alternative(library.name, device, width, times_ns)

    def _check_alternative(
        self, name: str, device: str, width: int, times_ns: tuple[int, ...]
    ) -> None:
        where = f"libraries: {name!r}: times of device {device!r} at width {width}"
        if len(times_ns) != len(self.tasks):
            raise ValueError(f"{where} are {len(times_ns)}, of {len(self.tasks)} tasks")
        rows = [self.whole_model, *(task.times for task in self.tasks)]
        if any(width not in row.get(device, {}) for row in rows):
            raise ValueError(f"{where}, at which ONNX Runtime's are missing")

    @cached_property
    def _by_name(self) -> dict[str, TaskProfile]:
        return {task.name: task for task in self.tasks}

    def device_specs(self) -> tuple[DeviceSpec, ...]:
        """The devices that were profiled, as the user named them."""
        return tuple(device.spec for device in self.devices)

    def device(self, name: str) -> DeviceProfile:
        """A device by name.

        Raises
        ------
        ProfileError
            If it was not profiled.
        """
        for device in self.devices:
            if device.name == name:
                return device
        known = ", ".join(device.name for device in self.devices)
        raise ProfileError(f"the profile has no device {name!r}; it has {known}")

    def service_ns(self, task: str, device: str, width: int = 1) -> int | None:
        """A task's time; None where the device cannot run it.

        Raises
        ------
        ProfileError
            If the profile lacks the task, the device or the width.
        """
        times = self._task(task).times.get(device)
        if times is None:
            self.device(device)
            return None
        if width not in times:
            raise ProfileError(f"the profile has no width {width} of device {device!r}")
        return times[width].ns

    def spread_ns(self, task: str, device: str, width: int = 1) -> int:
        """Median absolute deviation of a task's time; 0 for what was not measured there."""
        timing = self._task(task).times.get(device, {}).get(width)
        return 0 if timing is None else timing.mad_ns

    def launch_ns(self, task: str, device: str) -> int:
        """How long a task keeps the device's submitting thread, launched by itself.

        A thread whose runs copy is in each run until that ends.
        """
        if traits_of(device).copies_in_runs:
            return self.service_ns(task, device) or 0
        return self._task(task).launch_ns.get(device, 0)

    def captured_ns(self, task: str, device: str) -> int | None:
        """A task's time in a captured graph; None where nothing is known of it."""
        return self._task(task).captured_ns.get(device)

    def _task(self, name: str) -> TaskProfile:
        if name not in self._by_name:
            raise ProfileError(f"the profile has no task {name!r}")
        return self._by_name[name]

    def whole_model_ns(self, device: str, width: int = 1) -> int | None:
        """Time of the whole model in one session; None if it was not measured."""
        time = self.whole_model.get(device, {}).get(width)
        return None if time is None else time.ns

    def check_model(self, source_hash: str) -> None:
        """Refuse a profile of another model.

        Raises
        ------
        ProfileError
            If the hashes differ.
        """
        if self.model_hash != source_hash:
            raise ProfileError(
                f"the profile is of another model ({self.model!r}, hash {self.model_hash[:12]},"
                f" not {source_hash[:12]}): profile this one"
            )

    def totals_by_operator(self) -> list[dict[str, Any]]:
        """Milliseconds of each operator type on each device at width 1, dearest first.

        With each library of kernels, too, on the CPUs that it was measured on.
        """
        rows: dict[str, dict[str, Any]] = {}
        for index, task in enumerate(self.tasks):
            row = rows.setdefault(task.op, {"operator": task.op, "tasks": 0})
            row["tasks"] += 1
            for device in self.devices:
                time = task.times.get(device.name, {}).get(1)
                key = f"{device.name} ms"
                row[key] = row.get(key, 0.0) + (0.0 if time is None else time.ns / 1e6)
            for library in self.libraries:
                for device_name, widths in library.times.items():
                    key = f"{device_name} {library.name} ms"
                    row[key] = row.get(key, 0.0) + widths[1][index] / 1e6
        first = f"{self.devices[0].name} ms" if self.devices else ""
        return sorted(rows.values(), key=lambda row: -float(row.get(first, 0.0)))

    def to_json(self) -> str:
        """Serialise; the inverse of ``from_json``."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @staticmethod
    def from_json(text: str) -> Profile:
        """Read a profile.

        Raises
        ------
        ProfileError
            Naming the field that is missing, unknown or of a wrong type.
        """
        try:
            return read_document(Profile, text, (FORMAT,), "profile", least=0)
        except ValueError as error:
            raise ProfileError(str(error)) from error

    def save(self, path: Path | str) -> None:
        """Write whole or not at all, compressed if the file's name ends in ``.gz``.

        Raises
        ------
        ProfileError
            If the file cannot be written.
        """
        path = Path(path)
        try:
            data = self.to_json().encode()
            write_atomic(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
        except OSError as error:
            raise ProfileError(f"{path}: {error.strerror or error}") from error

    @staticmethod
    def load(path: Path | str) -> Profile:
        """Read a profile's file, compressed or not.

        Raises
        ------
        ProfileError
            If it cannot be read, or is no profile; the message names file and field.
        """
        try:
            return Profile.from_json(_text(Path(path).read_bytes()))
        except OSError as error:
            raise ProfileError(f"{path}: {error.strerror or error}") from error
        except (ProfileError, UnicodeDecodeError, EOFError, zlib.error) as error:
            raise ProfileError(f"{path}: {error}") from error


def _text(data: bytes) -> str:
    return (gzip.decompress(data) if data.startswith(_GZIP) else data).decode()
