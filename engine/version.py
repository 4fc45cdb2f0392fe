"""Which version of this package is installed."""

from __future__ import annotations


def version() -> str:
    """As pip shows it; ``unknown`` in a source tree that is not installed."""
    from importlib import metadata  # takes as long to import as gRPC

    try:
        return metadata.version("surplus-engine")
    except metadata.PackageNotFoundError:
        return "unknown"
