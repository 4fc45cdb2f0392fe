"""Links between the host and the GPUs that an emulated device may stand for."""

from __future__ import annotations

from dataclasses import dataclass

from placement.problem import Link

HOST_MEMORY = "host"


@dataclass(frozen=True)
class LinkFigures:
    """One direction of a link; both are alike.

    Parameters
    ----------
    latency_ns : int
        From the end of a copy until its data can be used.
    bytes_per_s : float
        Of large copies from pinned memory.
    occupancy_ns : int
        What every copy holds the link for besides its bytes: the copy engine's set-up.
    source : str
        Where the figures come from.
    """

    latency_ns: int
    bytes_per_s: float
    occupancy_ns: int
    source: str


_SETUP = "latency and set-up typical of cudaMemcpyAsync"

_PCIE3 = LinkFigures(8_000, 12e9, 2_000, f"PCIe 3.0 x16, about 12 GB/s; {_SETUP}")
_PCIE4 = LinkFigures(8_000, 25e9, 2_000, f"PCIe 4.0 x16, about 25 GB/s; {_SETUP}")
_PCIE5 = LinkFigures(8_000, 50e9, 2_000, f"PCIe 5.0 x16, about 50 GB/s; {_SETUP}")

LINKS = {"titan_rtx": _PCIE3, "t4": _PCIE3, "a100": _PCIE4, "h200": _PCIE5}

DEFAULT_PRESET = "titan_rtx"
"""The GPU of SIR+'s first platform, PF1."""


def link_figures(preset: str) -> LinkFigures:
    """Figures of the link to a preset's memory.

    Raises
    ------
    ValueError
        If there is no such preset.
    """
    if preset not in LINKS:
        raise ValueError(f"no preset {preset!r}; there are {', '.join(sorted(LINKS))}")
    return LINKS[preset]


def host_links(memory: str, figures: LinkFigures) -> tuple[Link, Link]:
    """Both directions between the host and a device's memory."""
    cost = (figures.latency_ns, figures.bytes_per_s, figures.occupancy_ns)
    return Link(HOST_MEMORY, memory, *cost), Link(memory, HOST_MEMORY, *cost)
