"""VELTAIR (ASPLOS'22), section 4.2: needs of ResNet-50's layers, blocks, thresholds.

``python -m bench veltair_golden DATA``, the folder of its published times (``veltair/``).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench.infrastructure import result_file
from surplus.colocation.policies.veltair.core_needs import layer_needs, layer_targets_ns, model_need
from surplus.colocation.policies.veltair.layer_blocks import (
    LayerBlock,
    form_blocks,
    mean_cores,
    thresholds,
)
from surplus.colocation.policies.veltair.layer_profile import LayerProfile, read_layer_profile
from surplus.colocation.policies.veltair.resnet50 import resnet50_operations

MS = 1_000_000
CORES = tuple(range(8, 65, 8))
TARGET_MS = 15
PAPER_MS = (22.376, 11.456, 8.293, 6.331, 5.559, 4.886, 4.342, 6.606)


def time_rows(profile: LayerProfile) -> list[dict[str, Any]]:
    """The whole model on each number of cores."""
    layers = len(profile.times_ns)
    return [
        {"cores": cores, "ms": profile.block_ns(0, layers, cores) / MS, "paper": paper}
        for cores, paper in zip(CORES, PAPER_MS, strict=True)
    ]


def need_rows(profile: LayerProfile) -> list[dict[str, Any]]:
    """Needs at 15 ms, and the thresholds of the paper's example."""
    targets_ns = layer_targets_ns(resnet50_operations(), TARGET_MS * MS)
    needs = layer_needs(profile, targets_ns)
    rows: tuple[tuple[str, Any, Any], ...] = (
        ("the model as a whole", model_need(profile, TARGET_MS * MS), 16),
        ("its layers, least", min(needs), 8),
        ("its layers, most", max(needs), 32),
        ("its layers, mean", f"{sum(needs) / len(needs):.2f}", "16.45"),
        ("thresholds of 12, 12, 24 on 64", thresholds(64, (12, 12, 24)), (4, 4, 8)),
    )
    return [{"cores": name, "ours": ours, "paper": paper} for name, ours, paper in rows]


def block_rows(profile: LayerProfile) -> list[dict[str, Any]]:
    """Cores that are held on average and at most, by granularity, within the same target."""
    targets_ns = layer_targets_ns(resnet50_operations(), TARGET_MS * MS)
    needs = layer_needs(profile, targets_ns)
    layers = len(needs)
    cuts = {
        "layer-wise": tuple(LayerBlock(k, k + 1, cores) for k, cores in enumerate(needs)),
        "model-wise": (LayerBlock(0, layers, model_need(profile, sum(targets_ns))),),
    }
    for threshold in (0, 4, 8, 16):
        cuts[f"blocks, threshold {threshold}"] = form_blocks(profile, targets_ns, threshold)
    return [_block_row(profile, name, blocks) for name, blocks in cuts.items()]


def _block_row(profile: LayerProfile, name: str, blocks: tuple[LayerBlock, ...]) -> dict[str, Any]:
    return {
        "granularity": name,
        "blocks": len(blocks),
        "cores, mean": mean_cores(profile, blocks),
        "cores, most": max(block.cores for block in blocks),
        "ms": sum(profile.block_ns(*block) for block in blocks) / MS,
    }


def main() -> None:
    """Run and store the tables."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m bench veltair_golden DATA")
    path = Path(sys.argv[1]) / "veltair" / "resnet50_layers_us.csv"
    profile = read_layer_profile(path, CORES)
    tables = {
        "veltair_times": time_rows(profile),
        "veltair_needs": need_rows(profile),
        "veltair_blocks": block_rows(profile),
    }
    for name, rows in tables.items():
        result_file.show(name, rows)
        result_file.write(name, {"target_ms": TARGET_MS}, rows)


if __name__ == "__main__":
    main()
