"""HTTP on its usual port, where nobody asked for it by name: as far as it can be had."""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib.util import find_spec

from surplus.engine.errors import ConfigError
from surplus.engine.serving.address import check_address
from surplus.engine.serving.native_front import missing_library, missing_parser
from surplus.engine.serving.server_params import FrontEnd, ServerParams

_LOG = logging.getLogger(__name__)


def http_if_possible(params: ServerParams) -> ServerParams:
    """These, without HTTP's port where that may be left out and cannot be served; it says why."""
    if params.http_port is None or params.needs_http_port:
        return params
    try:
        check_address(params.host, params.http_port)
        if not _is_spoken_natively(params) and find_spec("aiohttp") is None:
            raise ConfigError("it needs aiohttp here: pip install 'surplus-engine[http]'")
    except ConfigError as error:
        _LOG.warning("no port for HTTP: %s (--http-port, --no-http)", error)
        return replace(params, http_port=None)
    return params


def _is_spoken_natively(params: ServerParams) -> bool:
    if params.front_end is FrontEnd.PYTHON or missing_parser():
        return False
    return not missing_library(needs_tls=params.tls is not None)
