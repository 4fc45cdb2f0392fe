"""The one place that maps the engine's errors to gRPC statuses."""

from __future__ import annotations

import logging

import grpc
from google.protobuf.message import DecodeError

from surplus.engine import errors
from surplus.engine.serving.for_clients import text_for_clients

_LOG = logging.getLogger(__name__)
_DETAILS_LIMIT_BYTES = 1500  # trailers hold 8 KiB, and gRPC may triple non-ASCII text

_CODES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (errors.InputError, grpc.StatusCode.INVALID_ARGUMENT),
    (errors.UnknownModelError, grpc.StatusCode.NOT_FOUND),
    (errors.UnknownQueryError, grpc.StatusCode.NOT_FOUND),
    (errors.UnknownRegionError, grpc.StatusCode.NOT_FOUND),
    (errors.RegionExistsError, grpc.StatusCode.ALREADY_EXISTS),
    (errors.TooManyRegionsError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.UnsupportedError, grpc.StatusCode.UNIMPLEMENTED),
    (errors.UnauthenticatedError, grpc.StatusCode.UNAUTHENTICATED),
    (errors.ForbiddenError, grpc.StatusCode.PERMISSION_DENIED),
    (errors.UnavailableError, grpc.StatusCode.UNAVAILABLE),
    (errors.QueueFullError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.MemoryLimitError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.RefusedError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.DeadlineError, grpc.StatusCode.DEADLINE_EXCEEDED),
    (errors.CancelledError, grpc.StatusCode.CANCELLED),
    (errors.EngineError, grpc.StatusCode.INTERNAL),
)


def status_of(error: Exception) -> tuple[grpc.StatusCode, str]:
    """Status and details for the client; logs errors that are our own fault."""
    if isinstance(error, DecodeError):
        return grpc.StatusCode.INVALID_ARGUMENT, "malformed request: not a valid protobuf message"
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, _shortened(text_for_clients(error))
    _LOG.error("unexpected error in a request", exc_info=error)
    return grpc.StatusCode.INTERNAL, f"internal error: {type(error).__name__}"


def _shortened(text: str) -> str:
    encoded = text.encode(errors="replace")
    if len(encoded) <= _DETAILS_LIMIT_BYTES:
        return text
    return encoded[:_DETAILS_LIMIT_BYTES].decode(errors="ignore") + "..."
