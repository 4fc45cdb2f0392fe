"""What a model knows of whoever judges its plan: a judge, and a trial that routes its queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from surplus.engine import _core
    from surplus.engine.runtime.prepared import Prepared
    from surplus.engine.runtime.share import Share
    from surplus.engine.segmentation.judgement import Judgement


@dataclass(eq=False)
class Ask:
    """A query of a model on trial.

    Parameters
    ----------
    prepared : Prepared
        What answers it.
    run : _core.Run, optional
        Of one that was submitted, traced: nobody says when it ends.
    """

    prepared: Prepared
    of_runner_up: bool
    is_alone: bool
    began_ns: int
    run: _core.Run | None = None


def took_ns(run: _core.Run) -> int:
    """What a traced run took, from its submission to the end of its last node."""
    rows = run.spans()
    return int(rows[:, 4].max()) if len(rows) else 0


class QueryTrial(Protocol):
    """Says which plan answers each query while it lasts. Thread-safe.

    Attributes
    ----------
    plan : Prepared
        The model's own, as it was when the trial began.
    """

    plan: Prepared

    def begin(self) -> Ask:
        """Begin a query."""

    @contextmanager
    def query(self) -> Iterator[Ask]:
        """Begin a query; one that raises has failed, others are to be ``answered``."""
        ask = self.begin()
        try:
            yield ask
        except BaseException:
            self.failed(ask)
            raise

    def done(self, ask: Ask, run: _core.Run) -> None:
        """Its traced run has ended, well or not."""

    def answered(self, ask: Ask) -> None:
        """It has its answer."""

    def failed(self, ask: Ask) -> None:
        """It has none."""


class PlanJudge(Protocol):
    """Judges one model's plan; holds no model.

    Attributes
    ----------
    judgement : Judgement
        On what grounds the plan is used.
    share : Share
        Of the queries' time that was seen.
    """

    judgement: Judgement
    share: Share

    def step(self, model: Any) -> int | None:
        """Do what is due, for one thread; in how many nanoseconds the next step is due, if ever."""

    def doubt(self) -> None:
        """Store what the plan was judged by as provisional."""

    def watch(self, model: Any) -> None:
        """Have the model's ``judge`` called from now on, until nobody else holds it."""
