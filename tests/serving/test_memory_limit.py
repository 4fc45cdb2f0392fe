"""What a machine or its container has, read from files as the system writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.engine.serving.memory_limit import PART, default_limit_bytes

KIB, GIB = 1 << 10, 1 << 30
MACHINE = f"MemTotal:  {16 * GIB // KIB} kB\nMemFree: 12 kB\n"


def _root(folder: Path, groups: str, **files: str) -> Path:
    for name, text in {"proc/meminfo": MACHINE, "proc/self/cgroup": groups, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _found(folder: Path, groups: str = "", **files: str) -> float:
    return default_limit_bytes(_root(folder, groups, **files)) / PART / GIB


def test_the_machine_where_nothing_limits_it(tmp_path: Path) -> None:
    assert _found(tmp_path) == pytest.approx(16)


@pytest.mark.parametrize(
    ("path", "limited", "expected"),
    [
        ("/a/b", {"a/b": f"{2 * GIB}\n"}, 2),
        ("/a/b", {"a": f"{3 * GIB}\n", "a/b": "max\n"}, 3),
        ("/a/b", {"a": f"{2 * GIB}\n", "a/b": f"{3 * GIB}\n"}, 2),
        ("/", {".": f"{4 * GIB}\n"}, 4),
        ("/elsewhere", {".": f"{4 * GIB}\n"}, 4),
        ("/a", {"a": f"{32 * GIB}\n"}, 16),
    ],
    ids=["own", "above", "tightest", "mounted", "under another name", "more than there is"],
)
def test_version_2(path: str, limited: dict[str, str], expected: float, tmp_path: Path) -> None:
    files = {f"sys/fs/cgroup/{group}/memory.max": text for group, text in limited.items()}
    assert _found(tmp_path, f"0::{path}\n", **files) == pytest.approx(expected)


def test_version_1(tmp_path: Path) -> None:
    groups = "5:cpu,cpuacct:/elsewhere\n4:memory:/a\n0::/\n"
    folder = "sys/fs/cgroup/memory"
    files = {
        f"{folder}/a/memory.limit_in_bytes": f"{GIB}\n",
        f"{folder}/memory.limit_in_bytes": f"{2**63 - 4096}\n",
    }
    assert _found(tmp_path, groups, **files) == pytest.approx(1)


def test_nothing_is_known_where_there_are_no_such_files(tmp_path: Path) -> None:
    assert default_limit_bytes(tmp_path) == 0


def test_this_machine_has_some() -> None:
    assert default_limit_bytes() > 0
