"""Which client measures: the native one where it can."""

from __future__ import annotations

from surplus.loadgen.address import parse_address
from surplus.loadgen.errors import TargetError
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.native import http2_missing, module_missing


def python_because(params: MeasureParams) -> str | None:
    """Why the Python client measures; None where the native one does.

    Raises
    ------
    TargetError
        If the native one is needed for what is asked, and cannot be used.
    """
    transport = params.transport
    if transport.client == "python":
        return "asked for"
    if transport.tls is not None:
        return "the native client does not speak TLS"
    reason = module_missing() if transport.protocol == "http" else http2_missing()
    reason = reason or _address_unknown(params.url)
    needed = ["it"] * (transport.client == "native") + transport.needs_native
    if reason is None or not needed:
        return reason
    raise TargetError(f"no native client, and {needed[0]} was asked for: {reason}")


def _address_unknown(url: str) -> str | None:
    """GRPC's Python client knows further forms, as unix:/path."""
    try:
        parse_address(url)
    except ValueError as error:
        return str(error)
    return None
