"""A server of a repository that changes, in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tritonclient.grpc as triton

from surplus.engine.planning.load_params import LoadParams
from surplus.engine.serving.live_repository import LiveRepository
from surplus.engine.serving.loads import loaded
from surplus.engine.serving.polling import Polling
from surplus.engine.serving.server_params import FrontEnd
from tests.repository.quick_start import save, scaled
from tests.repository.serving_repositories import ask, server_params
from tests.serving.fakes import ServerThread

ROWS = np.arange(8, dtype=np.float32).reshape(2, 4)
CONFIG = 'name: "{}"\nmax_batch_size: 8\noutput {{ name: "OUTPUT0" }}\n'


class LiveServer:
    """The server, its repository of models that multiply, and a client."""

    def __init__(self, thread: ServerThread, root: Path, cache: Path) -> None:
        self.thread = thread
        self.root = root
        self.client = triton.InferenceServerClient(thread.url)
        params = LoadParams(devices="cpu:1", cache=cache)

        def make() -> LiveRepository:
            models = thread.server.plane.models
            return LiveRepository([root], models, lambda entry: loaded(entry, params))

        self.repository = thread.call(make)
        self.polling = Polling(self.repository, 1.0)
        thread.server.plane.control = self.repository
        thread.server.close_with(self.repository.close)

    def put(self, name: str, factor: float, version: int = 1, config: str | None = None) -> None:
        """Write a model that multiplies by a number, and its configuration."""
        save(scaled(factor), self.root / name / str(version) / "model.onnx")
        text = CONFIG.format(name) if config is None else config
        self.root.joinpath(name, "config.pbtxt").write_text(text)

    def look(self) -> None:
        """Poll twice: files that are as they were count as written."""
        for _ in range(2):
            self.thread.run(self.polling.look())

    def factor(self, name: str) -> float:
        """By what a model multiplies."""
        answer = ask(self.client, name, ROWS)
        factors = answer[ROWS != 0] / ROWS[ROWS != 0]
        assert (factors == factors[0]).all()
        return float(factors[0])

    def index(self) -> dict[tuple[str, str], tuple[str, str]]:
        """State and reason of each version."""
        rows = self.client.get_model_repository_index().models
        return {(row.name, row.version): (row.state, row.reason) for row in rows}


@contextmanager
def live_server(
    root: Path, cache: Path, front_end: FrontEnd = FrontEnd.AUTO
) -> Iterator[LiveServer]:
    thread = ServerThread(server_params(front_end))
    live = LiveServer(thread, root, cache)
    try:
        yield live
    finally:
        live.client.close()
        thread.stop()
