"""Of which queries somebody is told, and who."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

EVERY = 1000
"""As Triton's ``trace_rate``: a span takes the library 30 us, with four parts."""


@dataclass(frozen=True)
class ReportParams:
    """Spans and lines of single queries.

    Parameters
    ----------
    otlp : str
        Where spans go, by OTLP over HTTP: ``http://HOST:PORT``, or with a path; empty for none.
    every : int
        One query of so many is told of, whoever asks; 0 for none of these.
    logs : bool
        Whether the log has a line of each.
    """

    otlp: str = ""
    every: int = EVERY
    logs: bool = False

    def __post_init__(self) -> None:
        if self.otlp:
            parts = urlsplit(self.otlp)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"otlp is {self.otlp!r}, must be http://HOST:PORT or https://")
        if self.every < 0:
            raise ValueError(f"every is {self.every}, must be at least 0")

    @property
    def is_wanted(self) -> bool:
        """Whether anybody is told anything."""
        return bool(self.otlp) or self.logs

    @property
    def traces_url(self) -> str:
        """Of the collector, with OTLP's own path where none is given."""
        path = urlsplit(self.otlp).path.strip("/")
        return self.otlp if path else f"{self.otlp.rstrip('/')}/v1/traces"
