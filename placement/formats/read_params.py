"""What a file does not say of the machine that its tasks are to run on."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.placement.machine_check import LANES_END


@dataclass(frozen=True)
class ReadParams:
    """How to read a problem file.

    Parameters
    ----------
    processors : int or None
        Equal processors of a format that names none (``stg``) or those of another run
        (``wfcommons``), >= 1; None is what the format takes by default.
    """

    processors: int | None = None

    def __post_init__(self) -> None:
        if self.processors is not None and not 1 <= self.processors < LANES_END:
            raise ValueError(f"processors must be 1 to {LANES_END - 1}, got {self.processors}")
