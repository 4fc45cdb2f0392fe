"""Links between the host and the GPUs that an emulated device may stand for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from surplus.engine.devices.spec import HOST_MEMORY

if TYPE_CHECKING:
    from surplus.placement.problem import Link


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
    pageable_bytes_per_s : float
        Of large copies from pageable memory, which the driver stages.
    staging_bytes : int
        Pinned pool that copies of one direction pass through.
    source : str
        Where the figures come from.
    """

    latency_ns: int
    bytes_per_s: float
    occupancy_ns: int
    pageable_bytes_per_s: float
    staging_bytes: int
    source: str


_SETUP = (
    "latency and set-up typical of cudaMemcpyAsync; pageable memory at 6 GB/s, one staging copy"
    " of a host core"
)
_POOL_BYTES = 256 << 20


def _pcie(title: str, bytes_per_s: float) -> LinkFigures:
    source = f"{title} x16, about {bytes_per_s / 1e9:g} GB/s; {_SETUP}"
    return LinkFigures(8_000, bytes_per_s, 2_000, 6e9, _POOL_BYTES, source)


_PCIE3, _PCIE4, _PCIE5 = (
    _pcie("PCIe 3.0", 12e9),
    _pcie("PCIe 4.0", 25e9),
    _pcie("PCIe 5.0", 50e9),
)

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


def host_links(memory: str, figures: LinkFigures, *, pageable: bool = False) -> tuple[Link, Link]:
    """Both directions between the host and a device's memory, through a pinned pool or not."""
    from surplus.placement.problem import Link  # what reads a stored plan does without problems

    link = Link(
        HOST_MEMORY,
        memory,
        figures.latency_ns,
        figures.pageable_bytes_per_s if pageable else figures.bytes_per_s,
        figures.occupancy_ns,
        None if pageable else figures.staging_bytes,
        pageable,
    )
    return link, replace(link, source=memory, target=HOST_MEMORY)


def through_host(down: Link, up: Link) -> Link:
    """From one device to another: a copy to the host, then one from it."""
    return replace(
        up,
        source=down.source,
        latency_ns=down.latency_ns + up.latency_ns,
        bytes_per_s=1 / (1 / down.bytes_per_s + 1 / up.bytes_per_s),
        occupancy_ns=down.occupancy_ns + up.occupancy_ns,
    )
