"""Whether the native client can be used here."""

from __future__ import annotations


def http2_missing() -> str | None:
    """Why the native client cannot speak gRPC; None where it can."""
    if reason := module_missing():
        return reason
    from surplus.loadgen import _native

    try:
        _native.open_http2()
    except RuntimeError as error:
        return str(error)
    return None


def module_missing() -> str | None:
    """Why there is no native client at all; None where there is one."""
    try:
        import surplus.loadgen._native  # noqa: F401
    except ImportError as error:
        return f"the native client was not built: {error}"
    return None
