"""Certificates for tests, made by themselves: a server's, a client's, and those of nobody known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme

from surplus.engine.serving.tls_files import TlsFiles


@dataclass(frozen=True)
class Identity:
    """Paths of a certificate, its key and its authority."""

    certificate: Path
    key: Path
    ca: Path

    @property
    def files(self) -> TlsFiles:
        return TlsFiles(str(self.certificate), str(self.key))


def identity(
    folder: Path, files: str, ca: trustme.CA | None = None, name: str = "localhost"
) -> Identity:
    """Writes one for a name and this machine, of an authority of its own if none is given."""
    ca = ca or trustme.CA()
    leaf = ca.issue_cert(name, "127.0.0.1")
    made = Identity(*(folder / f"{files}.{end}" for end in ("pem", "key", "ca")))
    made.certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    leaf.private_key_pem.write_to_path(made.key)
    ca.cert_pem.write_to_path(made.ca)
    return made
