"""What a worker says of its models, and what it is told: lines of JSON on a socket.

A worker runs models that nobody trusts: what it says is checked, as if a client had said it.
"""

from __future__ import annotations

import msgspec

from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.metrics.lane_sample import LaneSample
from surplus.engine.serving.servable import TensorSpec


class Spec(msgspec.Struct, frozen=True):
    """An input or output, as ``TensorSpec`` has it."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    optional: bool

    def tensor_spec(self) -> TensorSpec:
        """The same as the server has it."""
        return TensorSpec(self.name, self.dtype, self.shape, self.optional)


class ModelReport(msgspec.Struct, frozen=True):
    """The state of one model; said anew whenever it has changed.

    Parameters
    ----------
    error : str
        Why it could not be loaded; empty if it could.
    inputs, outputs, warning, held, facts, failure, joined, batches
        As a ``Servable`` has them.
    lanes : tuple of LaneSample
        What those of the process have done; the first of its models says it.
    config : bytes
        The message of the model's configuration, completed.
    """

    name: str
    version: str
    error: str = ""
    inputs: tuple[Spec, ...] = ()
    outputs: tuple[Spec, ...] = ()
    warning: str = ""
    held: str = ""
    facts: dict[str, str] = msgspec.field(default_factory=dict)
    failure: str = ""
    joined: int = 0
    batches: dict[int, tuple[int, int]] = msgspec.field(default_factory=dict)
    lanes: tuple[LaneSample, ...] = ()
    config: bytes = b""


class Told(msgspec.Struct, frozen=True):
    """What a worker is told while it runs.

    Parameters
    ----------
    others_bytes : int
        Memory that the server and its other workers hold.
    """

    others_bytes: int


class WorkerSpec(msgspec.Struct, frozen=True):
    """What a worker is to run; pickled, since it comes from the server.

    Parameters
    ----------
    entries : tuple of RepositoryEntry
    params : dict of str to LoadParams
        By the models' names.
    lazy : bool
        Whether models are loaded by their first query.
    memory_limit_bytes : int
        Of the server and all its workers together; 0 is no limit.
    max_message_bytes, max_in_flight : int
        As the server has them.
    logs_json : bool
        Whether its log is JSON.
    """

    entries: tuple[RepositoryEntry, ...]
    params: dict[str, LoadParams]
    lazy: bool
    memory_limit_bytes: int
    max_message_bytes: int
    max_in_flight: int
    logs_json: bool = False


def spec_of(spec: TensorSpec) -> Spec:
    """An input or output as it is said."""
    return Spec(spec.name, spec.dtype, spec.shape, spec.optional)


def line_of(said: ModelReport | Told) -> bytes:
    """One line."""
    return msgspec.json.encode(said) + b"\n"
