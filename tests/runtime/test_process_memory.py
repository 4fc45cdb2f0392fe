"""What /proc says of this process."""

from __future__ import annotations

import mmap
import threading
from pathlib import Path

from surplus.engine.pipeline.process_memory import (
    MappedFiles,
    ProcessMemory,
    mapped_files,
    reset_peak,
    thread_count,
)

MIB = 2**20
SMAPS = """\
7f00-7f40 r--p 00000000 fe:00 11                         {folder}/a.bin
Size:                256 kB
Rss:                  64 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
7f40-7f80 rw-p 00000000 fe:00 11                         {folder}/a.bin
Rss:                   8 kB
Anonymous:             4 kB
7f80-7fc0 rw-p 00000000 fe:00 12                         /elsewhere/b.bin
Rss:                 100 kB
Anonymous:           100 kB
7fc0-7fd0 rw-p 00000000 00:00 0
Rss:                 100 kB
Anonymous:           100 kB
"""


def test_mappings_are_summed_by_folder(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(256 * 1024))
    found = mapped_files(SMAPS.format(folder=tmp_path), tmp_path)
    assert found == MappedFiles(
        files=1,
        mappings=2,
        file_bytes=256 << 10,
        resident_bytes=72 << 10,
        distinct_bytes=64 << 10,
        private_bytes=4 << 10,
    )


def test_a_mapped_file_is_resident_once_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(MIB))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
        assert sum(view[:: mmap.PAGESIZE]) == 0
        found = MappedFiles.below(tmp_path)
    assert (found.files, found.file_bytes, found.resident_bytes) == (1, MIB, MIB)
    assert found.private_bytes == 0


def test_a_folder_is_found_through_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.bin").write_bytes(bytes(MIB))
    link = tmp_path / "link"
    link.symlink_to(folder)
    with (link / "a.bin").open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        assert MappedFiles.below(link).files == 1


def test_the_peak_outlives_what_caused_it() -> None:
    reset_peak()
    base = ProcessMemory.now()
    block = mmap.mmap(
        -1, 64 * MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    )  # given back to the system at once when closed
    for _ in range(64):  # in pieces: what malloc keeps of one large piece would count
        block.write(bytes(MIB - 1) + b"x")
    held = ProcessMemory.now().minus(base)
    block.close()
    after = ProcessMemory.now().minus(base)
    assert held.private_bytes > 60 * MIB
    assert after.private_bytes < 60 * MIB
    assert after.peak_bytes > 60 * MIB


def test_threads_are_counted() -> None:
    before = thread_count()
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait)
    thread.start()
    assert thread_count() == before + 1
    go_on.set()
    thread.join()
