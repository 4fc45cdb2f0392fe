"""Layer times of networks that VELTAIR serves and did not publish, derived from ResNet-50's.

Stated, not measured. Layer ``k`` of a network of ``n`` layers is ResNet-50's layer ``53 k / n``,
rounded down, with operations and times multiplied by what makes the operations of all layers those
of the network: time goes with operations, and what each layer needs follows ResNet-50's over the
depth. Fewer cores than the 8 that were measured take inversely as long, as 16 and 8 do (1.95).

References
----------
VELTAIR (ASPLOS'22), Table 2, names the networks. Operations: multiply-adds as in the networks' own
papers or counted from their shapes; SSD with VGG-16 on 300 x 300, Tiny-YOLOv2 on 416 x 416,
BERT-Large on 128 tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surplus.colocation.policies.veltair.layer_profile import LayerProfile


@dataclass(frozen=True)
class Network:
    """Layers with weights (of BERT four a block), and multiply-adds in millions."""

    layers: int
    mega_operations: int


NETWORKS = {
    "googlenet": Network(57, 1_430),
    "efficientnet_b0": Network(81, 390),
    "mobilenet_v2": Network(52, 300),
    "ssd300": Network(35, 31_400),
    "tiny_yolo_v2": Network(9, 3_490),
    "bert_large": Network(96, 39_400),
}


def derive(
    measured: LayerProfile, operations: Sequence[int], network: Network
) -> tuple[LayerProfile, tuple[int, ...]]:
    """Times and operations of a network's layers.

    Parameters
    ----------
    measured : LayerProfile
    operations : sequence of int
        Of the measured layers.
    """
    layers = len(operations)
    picked = [k * layers // network.layers for k in range(network.layers)]
    wanted = network.mega_operations * 1_000_000
    factor = wanted / sum(operations[k] for k in picked)
    fewer = _halves(measured.cores[0])
    times_ns = tuple(
        tuple(
            max(1, round(measured.scaled_ns(k, k + 1, cores) * factor))
            for cores in (*fewer, *measured.cores)
        )
        for k in picked
    )
    profile = LayerProfile((*fewer, *measured.cores), times_ns)
    return profile, tuple(max(1, round(operations[k] * factor)) for k in picked)


def _halves(cores: int) -> tuple[int, ...]:
    """Powers of two below a number of cores."""
    return tuple(1 << k for k in range(cores.bit_length()) if 1 << k < cores)
