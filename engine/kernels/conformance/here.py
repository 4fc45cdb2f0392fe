"""Conformance tables of the libraries that are here: looked up, or made."""

from __future__ import annotations

import logging

from surplus.engine.errors import ConfigError, RuntimeLibraryError
from surplus.engine.kernels.conformance.table import keep_table
from surplus.engine.kernels.registry import LIBRARIES, table_of, version_of

_log = logging.getLogger(__name__)


def is_known_here(library: str) -> bool:
    """Whether a library has a table; without, one is begun in the background.

    Of a provider of ONNX Runtime none is made: it is used where it is named.
    """
    if LIBRARIES[library].is_provider:
        return False
    if table_of(library) is not None:
        return True
    from surplus.engine.kernels.conformance import background  # few loads begin a process

    background.make_in_background(library, version_of(library))
    return False


def require_table(library: str) -> None:
    """Make a library's table here and now, if it has none.

    Raises
    ------
    ConfigError
        If that fails.
    """
    described = LIBRARIES[library]
    if described.is_provider or table_of(library) is not None:
        return
    from surplus.engine.kernels.conformance import making  # cases need onnx, loads do not

    version = version_of(library)
    _log.warning(
        "%s %s was never tried on processors like this one: what it computes as ONNX says is found"
        " out now, once, which takes some 20 s of a core",
        described.title,
        version,
    )
    try:
        keep_table(making.make_table(library, version))
    except (RuntimeLibraryError, OSError) as error:
        raise ConfigError(f"kernels {library!r}: no conformance table: {error}") from error
