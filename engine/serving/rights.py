"""Which right each call and path needs: the one table of it, which names them all.

A call or path that is not in it is not served: who adds one says here who may ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from surplus.engine.serving.messages import HEALTH, SERVICE, TAILS


class Right(StrEnum):
    """What somebody may do; the first two are known to ``engine/core/frontend/access.hpp``, too."""

    HEALTH = "health"
    INFER = "infer"
    METADATA = "metadata"
    STATISTICS = "statistics"
    SHARED_MEMORY = "shared-memory"
    SETTINGS = "settings"
    REPOSITORY = "repository"

    @property
    def number(self) -> int:
        """Its place among all."""
        return list(Right).index(self)


ALL_MODELS = ""
"""In the place of what names a model: it is about all of them."""


@dataclass(frozen=True)
class Api:
    """What a call or path needs.

    Parameters
    ----------
    right : Right
        Of who asks.
    model : str or None
        What of the request names its model, ``ALL_MODELS`` where it is about all; None: about none.
    """

    right: Right
    model: str | None = None


_INFERENCE = {
    "ServerLive": Api(Right.HEALTH),
    "ServerReady": Api(Right.HEALTH),
    "ModelReady": Api(Right.HEALTH),
    "ServerMetadata": Api(Right.METADATA),
    "ModelMetadata": Api(Right.METADATA, "name"),
    "ModelConfig": Api(Right.METADATA, "name"),
    "RepositoryIndex": Api(Right.METADATA, ALL_MODELS),
    "ModelInfer": Api(Right.INFER),  # GrpcFace looks at the model, once the message has come
    "ModelStreamInfer": Api(Right.INFER),
    "ModelStatistics": Api(Right.STATISTICS, "name"),
    "SystemSharedMemoryStatus": Api(Right.SHARED_MEMORY),
    "SystemSharedMemoryRegister": Api(Right.SHARED_MEMORY),
    "SystemSharedMemoryUnregister": Api(Right.SHARED_MEMORY),
    "CudaSharedMemoryStatus": Api(Right.SHARED_MEMORY),
    "CudaSharedMemoryRegister": Api(Right.SHARED_MEMORY),
    "CudaSharedMemoryUnregister": Api(Right.SHARED_MEMORY),
    "TraceSetting": Api(Right.SETTINGS, "model_name"),
    "LogSettings": Api(Right.SETTINGS, ALL_MODELS),
    "RepositoryModelLoad": Api(Right.REPOSITORY, "model_name"),
    "RepositoryModelUnload": Api(Right.REPOSITORY, "model_name"),
}
_REFLECTION = {"ServerReflectionInfo": Api(Right.METADATA)}

CALLS: Mapping[str, Mapping[str, Api]] = {
    SERVICE: _INFERENCE,
    HEALTH: {"Check": Api(Right.HEALTH), "Watch": Api(Right.HEALTH)},
    TAILS: {
        "Top": Api(Right.STATISTICS, ALL_MODELS),
        "Late": Api(Right.STATISTICS, "model"),
    },
    "grpc.reflection.v1.ServerReflection": _REFLECTION,
    "grpc.reflection.v1alpha.ServerReflection": _REFLECTION,
}
"""By service and method."""

_VERSION = "/versions/{version}"

PATHS: Mapping[str, Api] = {
    "GET /v2/health/live": Api(Right.HEALTH),
    "GET /v2/health/ready": Api(Right.HEALTH),
    "GET /v2/models/{name}/ready": Api(Right.HEALTH),
    "GET /v2": Api(Right.METADATA),
    "GET /v2/models/{name}": Api(Right.METADATA, "name"),
    "GET /v2/models/{name}/config": Api(Right.METADATA, "name"),
    "POST /v2/repository/index": Api(Right.METADATA, ALL_MODELS),
    "POST /v2/models/{name}/infer": Api(Right.INFER, "name"),
    "GET /v2/models/stats": Api(Right.STATISTICS, ALL_MODELS),
    "GET /v2/models/{name}/stats": Api(Right.STATISTICS, "name"),
    "GET /v2/surplus/top": Api(Right.STATISTICS, ALL_MODELS),
    "GET /v2/surplus/late": Api(Right.STATISTICS, ALL_MODELS),
    "GET /v2/surplus/server": Api(Right.STATISTICS, ALL_MODELS),
    "GET /v2/surplus/timeline": Api(Right.STATISTICS, ALL_MODELS),
    "GET /v2/surplus/trace": Api(Right.STATISTICS, ALL_MODELS),
    "GET /metrics": Api(Right.STATISTICS, ALL_MODELS),
    "GET /": Api(Right.HEALTH),  # the status page, which says nothing until it has asked with one
    "GET /status": Api(Right.HEALTH),
    **{
        f"{method} /v2/{memory}sharedmemory{region}/{what}": Api(Right.SHARED_MEMORY)
        for memory in ("system", "cuda")
        for method, region, what in (
            ("GET", "", "status"),
            ("GET", "/region/{name}", "status"),
            ("POST", "/region/{name}", "register"),
            ("POST", "", "unregister"),
            ("POST", "/region/{name}", "unregister"),
        )
    },
    "GET /v2/trace/setting": Api(Right.SETTINGS, ALL_MODELS),
    "POST /v2/trace/setting": Api(Right.SETTINGS, ALL_MODELS),
    "GET /v2/models/{name}/trace/setting": Api(Right.SETTINGS, "name"),
    "POST /v2/models/{name}/trace/setting": Api(Right.SETTINGS, "name"),
    "GET /v2/logging": Api(Right.SETTINGS, ALL_MODELS),
    "POST /v2/logging": Api(Right.SETTINGS, ALL_MODELS),
    "POST /v2/repository/models/{name}/load": Api(Right.REPOSITORY, "name"),
    "POST /v2/repository/models/{name}/unload": Api(Right.REPOSITORY, "name"),
}
"""By method and path; those of a model's versions are as those of the model."""


def api_of_call(path: str) -> Api | None:
    """Of ``/SERVICE/METHOD``; None where there is none."""
    _, _, rest = path.partition("/")
    service, _, method = rest.partition("/")
    return CALLS.get(service, {}).get(method)


def api_of_path(method: str, path: str) -> Api:
    """Of a path that a handler is for.

    Raises
    ------
    LookupError
        If nobody has said who may ask for it.
    """
    key = f"{method} {path.replace(_VERSION, '')}"
    if key not in PATHS:
        raise LookupError(f"engine/serving/rights.py does not say which right {key!r} needs")
    return PATHS[key]
