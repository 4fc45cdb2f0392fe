"""A server of a repository, in a thread, for clients that block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton

from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import RepositoryEntry, find_models
from surplus.engine.serving.life import all_loaded
from surplus.engine.serving.loads import Loads
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving.fakes import ServerThread


def server_params(front_end: FrontEnd = FrontEnd.AUTO) -> ServerParams:
    return ServerParams(grpc_port=0, http_port=0, front_end=front_end)


def serve_found(thread: ServerThread, entries: Sequence[RepositoryEntry], cache: Path) -> None:
    """Load models as ``engine serve`` does at its start."""

    async def load():
        models = thread.server.plane.models
        served = [(entry, models.add(entry.name, entry.version)) for entry in entries]
        params = LoadParams(devices="cpu:1", cache=cache)
        with Loads(entries, {entry.name: params for entry in entries}) as futures:
            await all_loaded(futures, served)

    thread.run(load())


def served_repository(root: Path, cache: Path, front_end: FrontEnd = FrontEnd.AUTO) -> ServerThread:
    thread = ServerThread(server_params(front_end))
    serve_found(thread, find_models(root), cache)
    return thread


def ask(client, model: str, array: np.ndarray, output: str = "OUTPUT0", **options) -> np.ndarray:
    """One query of a model with one input, which Triton's client sends."""
    name = client.get_model_metadata(model).inputs[0].name
    given = triton.InferInput(name, list(array.shape), "FP32")
    given.set_data_from_numpy(array)
    wanted = [triton.InferRequestedOutput(output, **options)]
    return client.infer(model, [given], outputs=wanted).as_numpy(output)
