"""Made-up times of ResNet-50's layers, where the published ones are not at hand."""

from __future__ import annotations

from pathlib import Path

from surplus.colocation.policies.veltair.resnet50 import resnet50_operations

CORES = tuple(range(8, 65, 8))


def write_layer_times(folder: Path) -> Path:
    """Times that are a part fixed, and a part that cores divide, by operations."""
    rows = [
        ",".join(f"{ops / 2e5 * (0.05 + 8 / cores):.3f}" for cores in CORES)
        for ops in resnet50_operations()
    ]
    (folder / "veltair").mkdir()
    (folder / "veltair" / "resnet50_layers_us.csv").write_text("\n".join(rows) + "\n")
    return folder
