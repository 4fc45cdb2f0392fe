"""What is to be loaded, and how."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.progress import ProgressCallback, no_progress

if TYPE_CHECKING:
    from surplus.engine.dfg.graph import Graph
    from surplus.engine.planning.job import PlanJob


class LoadJob(NamedTuple):
    """A model's file, absolute, and the user's settings.

    Parameters
    ----------
    inputs : mapping of str to array, optional
        Example inputs that the user gave.
    """

    path: Path
    params: LoadParams
    inputs: Mapping[str, Any] | None = None
    progress: ProgressCallback = no_progress

    def planning(self, graph: Graph, inputs: Mapping[str, Any]) -> PlanJob:
        """What is planned of it, with inputs to measure with or their sizes."""
        from surplus.engine.planning.job import PlanJob  # a first answer does without

        return PlanJob(graph, self.params, inputs, self.progress)
