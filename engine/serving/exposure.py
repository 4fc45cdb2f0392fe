"""Warns of a server that others reach and nobody guards."""

from __future__ import annotations

import logging

from surplus.engine.serving.loopback import is_loopback
from surplus.engine.serving.server_params import ServerParams

_LOG = logging.getLogger(__name__)


def warn_of_exposure(params: ServerParams) -> None:
    """Say what strangers may do with it, if anything; no more, for a wall may stand before it."""
    if is_loopback(params.host):
        return
    if not params.tokens and not params.tls_client_ca:
        _LOG.warning(
            "whoever reaches %s may ask this server: give --tokens, or --tls-client-ca, unless"
            " something before it knows its clients",
            params.host,
        )
    elif params.tokens and not params.tls_cert:
        _LOG.warning(
            "tokens come to %s unencrypted, to be read on their way: give --tls-cert and --tls-key,"
            " unless something before it encrypts",
            params.host,
        )
