"""``ModelMetadata``: what a model's file says of itself."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from surplus.engine.dropin.statuses import MissingName, status
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


def read_metadata(given: str | os.PathLike[str] | bytes) -> ModelMetadata:
    """What an ONNX file, or its bytes, say of it; weights are not read where they lie apart.

    Raises
    ------
    MissingName
        If it is of another format.
    """
    import onnx  # few programs ask

    try:
        if isinstance(given, bytes):
            model = onnx.load_model_from_string(given)
        else:
            model = onnx.load(given, load_external_data=False)
    except Exception as error:  # of protobuf, of the system
        name = "a model that was given as bytes" if isinstance(given, bytes) else os.fspath(given)
        raise status(MissingName, f"metadata of {name}: {one_line(error)}") from error
    return ModelMetadata(
        producer_name=model.producer_name,
        graph_name=model.graph.name,
        domain=model.domain,
        description=model.doc_string,
        graph_description=model.graph.doc_string,
        version=model.model_version if model.HasField("model_version") else _NO_VERSION,
        custom_metadata_map={entry.key: entry.value for entry in model.metadata_props},
    )
