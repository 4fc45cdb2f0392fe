"""Whether an address is this machine's own, which others cannot reach."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a host is ``localhost`` or an address of the loopback; other names may be any."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
