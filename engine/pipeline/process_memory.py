"""What this process holds in memory, from /proc: resident, peak, and files by mapping."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

_KIB = 1024
_PROC = Path("/proc/self")


@dataclass(frozen=True)
class ProcessMemory:
    """Bytes of this process at one moment.

    Parameters
    ----------
    resident_bytes : int
        Pages present, each mapping counted (RSS). A page that two mappings show counts twice.
    share_bytes : int
        The same with every page divided by its number of mappings, in all processes (PSS): what
        sums to the memory of the machine.
    private_bytes : int
        Anonymous pages: the heap, arenas, stacks; nothing that a file could give back.
    peak_bytes : int
        Largest ``resident_bytes`` since ``reset_peak``.
    """

    resident_bytes: int
    share_bytes: int
    private_bytes: int
    peak_bytes: int

    @staticmethod
    def now() -> ProcessMemory:
        """Measure; takes milliseconds in a large process."""
        rollup = _fields((_PROC / "smaps_rollup").read_text())
        status = _fields((_PROC / "status").read_text())
        peak = max(status["VmHWM"], rollup["Rss"])
        return ProcessMemory(rollup["Rss"], rollup["Pss"], rollup["Anonymous"], peak)

    def minus(self, base: ProcessMemory) -> ProcessMemory:
        """What came on top of ``base``; the peak is that above ``base``'s resident bytes."""
        return ProcessMemory(
            self.resident_bytes - base.resident_bytes,
            self.share_bytes - base.share_bytes,
            self.private_bytes - base.private_bytes,
            self.peak_bytes - base.resident_bytes,
        )

    def to_dict(self) -> dict[str, int]:
        """Field by name."""
        return asdict(self)


@dataclass(frozen=True)
class MappedFiles:
    """The files of a folder that this process maps.

    Parameters
    ----------
    files, mappings : int
        How many different files, in how many mappings.
    file_bytes : int
        Sum of the mapped files' sizes, each once.
    resident_bytes : int
        Their pages that are present, each mapping counted.
    distinct_bytes : int
        The same, mappings of one part of one file counted once, by the fullest.
    private_bytes : int
        Of these, pages that were written to and are this process's own: 0 for weights.
    """

    files: int
    mappings: int
    file_bytes: int
    resident_bytes: int
    distinct_bytes: int
    private_bytes: int

    @staticmethod
    def below(folder: Path) -> MappedFiles:
        """Files below a folder, links in its path followed."""
        return mapped_files((_PROC / "smaps").read_text(), folder.resolve())


def mapped_files(smaps: str, folder: Path) -> MappedFiles:
    """``MappedFiles.below`` of a text as /proc/PID/smaps has it."""
    mappings: list[tuple[Path, int]] = []
    resident: dict[tuple[Path, int], list[int]] = {}
    private = 0
    inside = False
    for line in smaps.splitlines():
        key, _, value = line.partition(":")
        if " " in key:  # a mapping's first line begins with its addresses
            fields = line.split(maxsplit=5)
            inside = len(fields) == 6 and fields[5].startswith(f"{folder}/")
            if inside:
                mappings.append((Path(fields[5]), int(fields[2], 16)))
        elif inside and key == "Rss":
            resident.setdefault(mappings[-1], []).append(_bytes(value))
        elif inside and key == "Anonymous":
            private += _bytes(value)
    files = {path for path, _ in mappings}
    return MappedFiles(
        files=len(files),
        mappings=len(mappings),
        file_bytes=sum(path.stat().st_size for path in files if path.exists()),
        resident_bytes=sum(map(sum, resident.values())),
        distinct_bytes=sum(map(max, resident.values())),
        private_bytes=private,
    )


def reset_peak() -> None:
    """Begin to count the peak from now on; a kernel that cannot leaves it as it is."""
    try:
        (_PROC / "clear_refs").write_text("5")
    except OSError:
        return


def thread_count() -> int:
    """Threads of this process, the main one included."""
    return len(list((_PROC / "task").iterdir()))


def _fields(text: str) -> dict[str, int]:
    rows = (line.partition(":") for line in text.splitlines())
    return {key: _bytes(value) for key, _, value in rows if value.endswith("kB")}


def _bytes(text: str) -> int:
    return int(text.split()[0]) * _KIB
