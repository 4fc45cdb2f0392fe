"""``ModelMetadata``: what a model's file says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from surplus.engine.dropin.statuses import NotImplemented, status
from surplus.engine.errors import one_line

_NO_VERSION = 2**63 - 1


@dataclass(frozen=True)
class ModelMetadata:
    """ONNX Runtime's attributes.

    Parameters
    ----------
    version : int
        2^63 - 1 where the model has none.
    custom_metadata_map : dict of str to str
        The model's own entries.
    """

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = _NO_VERSION
    custom_metadata_map: dict[str, str] = field(default_factory=dict)


def read_metadata(path: Path) -> ModelMetadata:
    """What an ONNX file says of itself; its weights are not read where they lie apart.

    Raises
    ------
    NotImplemented
        If it is of another format.
    """
    import onnx  # few programs ask

    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # of protobuf, of the system
        raise status(NotImplemented, f"metadata of {path}: {one_line(error)}") from error
    return ModelMetadata(
        producer_name=model.producer_name,
        graph_name=model.graph.name,
        domain=model.domain,
        description=model.doc_string,
        graph_description=model.graph.doc_string,
        version=model.model_version if model.HasField("model_version") else _NO_VERSION,
        custom_metadata_map={entry.key: entry.value for entry in model.metadata_props},
    )
