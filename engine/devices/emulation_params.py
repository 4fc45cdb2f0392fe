"""How an emulated device departs from what is known of its GPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EmulationParams:
    """How the emulated device departs from its profile; for tests and experiments.

    Parameters
    ----------
    device : str
        Which one does, by name, as ``emulated:a``; empty: all of them.
    submit_ns : int, optional
        What a submission costs the device's submitting thread; by default what its preset says.
    slowdown : tuple of float, optional
        How lanes slow each other; by default what its preset says.
    capture_ns : int
        Extra time of each captured segment's first run.
    fail_capture : bool
        Whether no graph can be captured: all operators are launched one by one.
    first_run_ns : int
        Extra time of each segment's first run.
    memory_bytes : int
        Capacity; 0 is unlimited.
    fail_every : int
        Every n-th execution fails; 0 is never.
    lose_at : int
        The n-th execution loses the device for good; 0 is never.
    fail_prepare : bool
        Whether the device refuses to prepare segments.
    """

    device: str = ""
    submit_ns: int | None = None
    slowdown: tuple[float, ...] | None = None
    capture_ns: int = 0
    fail_capture: bool = False
    first_run_ns: int = 0
    memory_bytes: int = 0
    fail_every: int = 0
    lose_at: int = 0
    fail_prepare: bool = False
