"""Many more queries than a server can answer: it goes on answering, and says why not the others.

How many it answers, the bench says: ``python -m bench overload``.
"""

from __future__ import annotations

from pathlib import Path

from bench.safety import overload


def test_a_server_goes_on_answering(tmp_path: Path) -> None:
    peak_per_s, rows = overload.run(4.0, tmp_path)
    assert peak_per_s > 0
    assert len(rows) == overload.PARTS
    for row in rows:
        assert row["answered per s"] > 0, rows
        assert row["others"].endswith("RESOURCE_EXHAUSTED")
        assert row["others"].count(",") == 0, rows
    assert not any("memory" in fault for fault in overload.faults(rows))


def test_what_is_not_as_it_should_be_is_said() -> None:
    good = {"of the peak": 0.97, "most MiB": 200}
    assert overload.faults([good] * 4) == []
    assert overload.faults([good, good, good, {**good, "of the peak": 0.5}]) == [
        "answered 74% of the peak"
    ]
    assert overload.faults([good, good, good, {**good, "most MiB": 300}]) == [
        "memory grew by 100 MiB"
    ]
