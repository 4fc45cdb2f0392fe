"""Memory of a plan of about 50 segments against the one session that the model is.

Each is measured in a process of its own: resident memory after loading and ten queries, less
what the process held before.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import result_file
from bench.built_models import FOLDER, built

PAGE_BYTES = 4096


def resident_bytes() -> int:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


def measure(path: str, segments: int) -> dict[str, Any]:
    """Load a model cut into about ``segments`` segments (1: one session) and run it."""
    import numpy as np

    from bench.cutting import cut_into

    with np.load(Path(path).with_suffix(".npz")) as arrays:
        inputs = {name: arrays[name] for name in arrays.files}
    before, model = cut_into(path, segments, FOLDER / "cache", resident_bytes)
    for _ in range(10):
        model.run(inputs)
    return {"segments": len(model.plan.segments), "bytes": resident_bytes() - before}


def main() -> None:
    """Measure in sub-processes and store the table."""
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
        return
    rows = []
    for name in ("resnet50", "inception_v3", "faster_rcnn"):
        path, _ = built(name)
        one, many = (_in_process(path, count) for count in (1, 50))
        rows.append(
            {
                "model": name,
                "segments": many["segments"],
                "one session MiB": one["bytes"] / 2**20,
                "segments MiB": many["bytes"] / 2**20,
                "ratio": many["bytes"] / one["bytes"],
            }
        )
    result_file.show("Memory of 50 segments", rows)
    result_file.write("memory", {"queries": 10}, rows)


def _in_process(path: Path, segments: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.memory", str(path), str(segments)],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
