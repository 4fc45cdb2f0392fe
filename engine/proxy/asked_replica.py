"""What one server says of its models, over gRPC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio

from surplus.engine.errors import UnavailableError
from surplus.engine.serving.messages import SERVICE, message_type
from surplus.engine.serving.servable import TensorSpec
from surplus.loadgen.transport import TlsParams
from surplus.routing.replica_channel import channel_credentials

_ANSWERS_S = 5.0
"""What is asked is small; a server that takes longer is not asked what it serves now."""


@dataclass(frozen=True)
class ModelDescription:
    """A version of a model as a server describes it.

    Parameters
    ----------
    config : bytes
        The message of its configuration, completed.
    """

    name: str
    version: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    config: bytes


class AskedReplica:
    """An open connection; on one event loop.

    Parameters
    ----------
    address : str
        ``host:port``.
    token : str
        Shown to it; empty: none.
    tls : TlsParams or None
        What everything is encrypted with.
    """

    def __init__(self, address: str, token: str, tls: TlsParams | None) -> None:
        self.address = address
        if tls is None:
            self._channel = grpc.aio.insecure_channel(address)
        else:
            self._channel = grpc.aio.secure_channel(address, channel_credentials(tls))
        self._metadata = [("authorization", f"Bearer {token}")] if token else []

    async def ready_models(self) -> list[tuple[str, str]]:
        """Names and versions of the models that it serves now.

        Raises
        ------
        UnavailableError
            If it does not answer that.
        """
        index = await self._ask("RepositoryIndex", ready=True)
        return [(row.name, row.version) for row in index.models if row.state in ("", "READY")]

    async def describe(self, name: str, version: str) -> ModelDescription:
        """Of a model that it serves; raises as ``ready_models``."""
        said = await self._ask("ModelMetadata", name=name, version=version)
        config = (await self._ask("ModelConfig", name=name, version=version)).config
        optional = {row.name for row in config.input if row.optional}
        return ModelDescription(
            name,
            version or max(said.versions, key=int, default="1"),
            _specs(said.inputs, optional),
            _specs(said.outputs, ()),
            config.SerializeToString(),
        )

    async def close(self) -> None:
        """End what is in flight, too."""
        await self._channel.close()

    async def _ask(self, method: str, **fields: Any) -> Any:
        request, response = message_type(f"{method}Request"), message_type(f"{method}Response")
        call = self._channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=request.SerializeToString,
            response_deserializer=response.FromString,
        )
        try:
            return await call(request(**fields), timeout=_ANSWERS_S, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            said = f"{self.address}: {error.code().name}: {error.details()}"
            raise UnavailableError(said) from error


def _specs(rows: Any, optional: Sequence[str] | set[str]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(row.name, row.datatype, tuple(row.shape), row.name in optional) for row in rows
    )
