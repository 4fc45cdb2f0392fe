"""The GPUs that an emulated device may stand for, by their data sheets.

Peaks are single precision on the ordinary units, as in NVIDIA's data sheets. What operators take
there is derived from them (``profiling/roofline.py``); their links are in ``links.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Gpu:
    """What the roofline knows of a GPU.

    Parameters
    ----------
    title : str
        Its name in words.
    operations_per_s : float
        Single-precision peak.
    bytes_per_s : float
        Memory bandwidth.
    floor_ns : int
        Least time of one kernel, launch included.
    wait_ns : int
        One synchronisation of host and device.
    alias_ns : int
        Host time of an operator that launches nothing.
    memory_bytes : int
        Capacity.
    submit_ns : int
        What each segment takes the submitting thread before it can start: binding, waiting for
        events, the first launch.
    graph_floor_ns : int
        Least time of one kernel of a captured graph.
    """

    title: str
    operations_per_s: float
    bytes_per_s: float
    floor_ns: int
    wait_ns: int
    memory_bytes: int
    alias_ns: int = 1_000
    submit_ns: int = 10_000
    graph_floor_ns: int = 1_500


GPUS = {
    "titan_rtx": Gpu("Titan RTX (SIR+'s PF1)", 16e12, 672e9, 7_000, 35_000, 24 << 30),
    "t4": Gpu("T4", 8e12, 320e9, 8_000, 40_000, 16 << 30),
    "a100": Gpu("A100 40 GB", 19.5e12, 1.6e12, 6_000, 30_000, 40 << 30),
    "h200": Gpu("H200", 67e12, 4.8e12, 5_000, 20_000, 141 << 30),
}

SLOWDOWN = (1.0, 1.3, 1.6, 1.9, 2.2, 2.5, 2.8, 3.1)
"""Factor on service times with 1, 2, ... busy lanes: assumed, two lanes do 1.5 times as much as
one, four lanes twice as much. Kernels too small to fill a GPU share it better, large ones worse.
"""


def part_of(gpu: Gpu, share_percent: int) -> Gpu:
    """A share of a GPU's processors, with all of its memory bandwidth."""
    if share_percent == 100:
        return gpu
    return replace(gpu, operations_per_s=gpu.operations_per_s * share_percent / 100)
