"""The one place that maps the engine's errors to HTTP statuses."""

from __future__ import annotations

import logging

from surplus.engine import errors
from surplus.engine.serving.for_clients import text_for_clients

_LOG = logging.getLogger(__name__)

_CLIENT_CLOSED_REQUEST = 499  # no standard status says that the query was cancelled

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.InputError, 400),
    (errors.UnknownModelError, 404),
    (errors.UnknownQueryError, 404),
    (errors.UnknownRegionError, 404),
    (errors.RegionExistsError, 400),  # as Triton answers
    (errors.TooManyRegionsError, 429),
    (errors.UnsupportedError, 501),
    (errors.UnauthenticatedError, 401),
    (errors.ForbiddenError, 403),
    (errors.UnavailableError, 503),
    (errors.QueueFullError, 429),
    (errors.MemoryLimitError, 429),
    (errors.RefusedError, 429),
    (errors.DeadlineError, 504),
    (errors.CancelledError, _CLIENT_CLOSED_REQUEST),
    (errors.EngineError, 500),
)


def status_of(error: Exception) -> tuple[int, str]:
    """Status and message for the client; logs errors that are our own fault."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, text_for_clients(error)
    _LOG.error("unexpected error in a request", exc_info=error)
    return 500, f"internal error: {type(error).__name__}"
