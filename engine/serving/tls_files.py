"""The files that a server shows to who connects, and by which it knows its clients."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class TlsFiles:
    """Paths of PEM files.

    Parameters
    ----------
    certificate : str
        The server's, and behind it those between it and its authority.
    key : str
        The certificate's, without a passphrase.
    client_ca : str
        Certificates of the authorities that clients' certificates are to be of; empty: clients
        need none.
    """

    certificate: str
    key: str
    client_ca: str = ""

    def stamp(self) -> Stamp:
        """Changes whenever a file is replaced or written; without those that are not there."""
        found = []
        for path in filter(None, (self.certificate, self.key, self.client_ca)):
            try:
                status = Path(path).stat()
            except OSError:
                continue
            found.append((status.st_mtime_ns, status.st_ino, status.st_size))
        return tuple(found)
