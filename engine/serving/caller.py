"""Who asks: what a request says of it, whichever way it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NAMES = ("x509_subject_alternative_name", "x509_common_name")
_ALTERNATIVES = ("DNS", "URI", "email")


@dataclass(frozen=True)
class Caller:
    """Somebody, as far as it is known.

    Parameters
    ----------
    authorization : str
        The header of that name; empty if none came.
    certificate_names : tuple of str
        Of the certificate that was shown: alternative names and the common name.
    """

    authorization: str = ""
    certificate_names: tuple[str, ...] = ()


def caller_of_call(context: Any) -> Caller:
    """Of a call of gRPC, by gRPC's own names of things."""
    metadata = context.invocation_metadata() or ()
    authorization = next((str(text) for name, text in metadata if name == "authorization"), "")
    shown: Mapping[str, Any] = context.auth_context()
    names = [name for kind in _NAMES for name in shown.get(kind, ())]
    return Caller(authorization, tuple(name.decode(errors="replace") for name in names))


def names_in(certificate: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Of a certificate as Python's ``ssl`` has it; none without one."""
    if not certificate:
        return ()
    alternatives = [
        name for kind, name in certificate.get("subjectAltName", ()) if kind in _ALTERNATIVES
    ]
    subject = [pair for parts in certificate.get("subject", ()) for pair in parts]
    return (*alternatives, *(name for kind, name in subject if kind == "commonName"))
