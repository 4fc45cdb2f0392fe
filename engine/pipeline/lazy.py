"""Models that are loaded by their first query: until then they cost nothing but their name."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from surplus.engine.errors import EngineError, one_line
from surplus.engine.pipeline.loading import load_with
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.future import Future
from surplus.engine.runtime.inputs import Array, Outputs
from surplus.engine.runtime.model import Model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.query_times import QueryOptions, takes_query_options

_log = logging.getLogger(__name__)


class LazyModel:
    """A model by its path, loaded when it is first needed. Thread-safe.

    Queries that come while it loads wait for it; it is loaded once. What fails is raised to all
    that waited, and tried again by the next query: the file may have been put right.

    Parameters
    ----------
    path : Path
        An ONNX file, not looked at before the first query.
    params : LoadParams, optional
        As for ``load_with``.
    """

    def __init__(self, path: str | Path, params: LoadParams | None = None) -> None:
        self.path = Path(path)
        self._params = params or LoadParams()
        self._lock = threading.Lock()
        self._model: PlannedModel | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether a query has loaded it."""
        return self._model is not None

    def model(self) -> Model:
        """The model itself; loads it and blocks meanwhile where need be.

        Raises
        ------
        EngineError
            Naming the file and what is wrong.
        """
        return Model(self.planned())

    def planned(self) -> PlannedModel:
        """What the model is made of; as ``model``."""
        model = self._model  # looked at once: it may be unloaded meanwhile
        if model is None:
            with self._lock:
                model = self._model
                if model is None:
                    model = self._model = self._loaded()
        return model

    def _loaded(self) -> PlannedModel:
        """What went wrong is told to the client by the query, and here to who runs the server."""
        try:
            return load_with(self.path, self._params)
        except EngineError as error:
            _log.warning("%s: not loaded: %s", self.path, one_line(error))
            raise

    def holds(self, model: PlannedModel) -> bool:
        """Whether that model is the one that the next query runs on."""
        return self._model is model

    def unload(self) -> None:
        """Drop the model; queries in flight finish, and the next one loads it again."""
        with self._lock:
            self._model = None

    @takes_query_options
    def run(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        **said: Unpack[QueryOptions],
    ) -> Outputs:
        """As ``Model.run``; times begin when the model is loaded."""
        return self.model().run(inputs, outputs, **said)

    @takes_query_options
    def submit(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        **said: Unpack[QueryOptions],
    ) -> Future:
        """As ``Model.submit``, but the first call returns only when the model is loaded."""
        return self.model().submit(inputs, outputs, **said)

    @takes_query_options
    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        **said: Unpack[QueryOptions],
    ) -> Outputs:
        """As ``Model.infer``; loads in a thread, so that the loop goes on."""
        model = self._model
        if model is None:
            model = await asyncio.to_thread(self.planned)
        return await Model(model).infer(inputs, outputs, **said)

    def __repr__(self) -> str:
        state = "not loaded" if self._model is None else self._model.description
        return f"<surplus.LazyModel {str(self.path)!r}: {state}>"
