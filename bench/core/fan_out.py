"""One task to 80 branches of six tiny operators to one task, on two lanes.

The case of the paper in miniature: width that ONNX Runtime leaves unused.
"""

from __future__ import annotations

import surplus
from bench.infrastructure import peer, result_file
from bench.infrastructure.built_models import FOLDER, built
from bench.infrastructure.timing import interleaved

TUNE_S = 5.0
VARIANTS = (
    {"kind": "elementwise", "size": 64},
    {"kind": "elementwise", "size": 4096},
    {"kind": "matmul", "size": 64},
)


def row(parameters: dict[str, object]) -> dict[str, object]:
    """Measure one variant."""
    path, inputs = built("fork_join", branches=80, depth=6, **parameters)
    model = surplus.load(path, devices="cpu:2", cache=FOLDER / "cache", tune_s=TUNE_S)
    contenders = {"engine": lambda: model.run(inputs), **peer.runners(path, inputs, peer.ALL)}
    times = interleaved(contenders, rounds=60)
    best = max(
        (n for n in times if n != "engine"), key=lambda n: times["engine"].ratio_to(times[n])
    )
    return {
        "variant": " ".join(str(v) for v in parameters.values()),
        "segments": len(model.plan.segments),
        "engine µs": times["engine"].median_ns / 1e3,
        "best ONNX Runtime µs": times[best].median_ns / 1e3,
        "setting": best,
        "speed-up": times[best].ratio_to(times["engine"]),
    }


def main() -> None:
    """Run and store the table."""
    rows = [row(dict(parameters)) for parameters in VARIANTS]
    result_file.show("Fan-out of 80 branches on two lanes", rows)
    result_file.write("fan_out", {"branches": 80, "depth": 6, "tune s": TUNE_S}, rows)


if __name__ == "__main__":
    main()
