"""A server's certificates in use: each face has them, anew when their files change."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

import grpc

from surplus.engine import _core
from surplus.engine.errors import ConfigError
from surplus.engine.serving.tls_context import server_context
from surplus.engine.serving.tls_files import TlsFiles

_LOG = logging.getLogger(__name__)
_LOOK_S = 1.0
"""How soon a changed file is seen; a look costs some microseconds."""


class Certificates:
    """Those of one server, on its event loop.

    Parameters
    ----------
    files : TlsFiles
        Read now.

    Raises
    ------
    ConfigError
        If one does not do.
    """

    def __init__(self, files: TlsFiles) -> None:
        server_context(files)
        self._files = files
        self._stamp = files.stamp()
        self._renew: list[Callable[[], None]] = []
        self._watch = asyncio.create_task(self._look())

    def on_renewal(self, renew: Callable[[], None]) -> None:
        """Have it called once the files have changed and do."""
        self._renew.append(renew)

    def native(self) -> _core.TlsContext:
        """For the native front end; raises ConfigError where the system's OpenSSL says no."""
        files = self._files
        try:
            return _core.TlsContext(files.certificate, files.key, files.client_ca)
        except RuntimeError as error:
            raise ConfigError(str(error)) from None

    def for_grpc(self) -> grpc.ServerCredentials:
        """For gRPC's own server: renewed by itself."""
        fresh: list[grpc.ServerCertificateConfiguration] = []
        self.on_renewal(lambda: fresh.append(self._grpc_configuration()))
        return grpc.dynamic_ssl_server_credentials(
            self._grpc_configuration(),
            lambda: fresh.pop() if fresh else None,
            require_client_authentication=bool(self._files.client_ca),
        )

    def for_http(self) -> ssl.SSLContext:
        """For asyncio's servers: renewed by itself."""
        current = [self._http_context()]

        def renew() -> None:
            current[0] = self._http_context()

        def choose(connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
            connection.context = current[0]

        self.on_renewal(renew)
        context = self._http_context()
        context.sni_callback = choose  # called without a name, too
        return context

    def close(self) -> None:
        """Look no more."""
        self._watch.cancel()

    def _http_context(self) -> ssl.SSLContext:
        context = server_context(self._files)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _grpc_configuration(self) -> grpc.ServerCertificateConfiguration:
        files = self._files
        chain, key = (Path(path).read_bytes() for path in (files.certificate, files.key))
        roots = Path(files.client_ca).read_bytes() if files.client_ca else None
        return grpc.ssl_server_certificate_configuration([(key, chain)], root_certificates=roots)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            self.look()

    def look(self) -> None:
        """Renew what has changed. Files that do not fit each other yet are read when they do."""
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            server_context(self._files)
            for renew in self._renew:
                renew()
        except (ConfigError, OSError) as error:
            _LOG.warning("the certificates stay as they were: %s", error)
        else:
            _LOG.info("the certificates were renewed")
