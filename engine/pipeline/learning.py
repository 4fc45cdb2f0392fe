"""Finds the plans of models that answer already: one after another, each in a process of its own.

Whoever measures in the process that answers takes its interpreter and dies with its mistakes. The
other one (learner.py) begins in an idle moment (idle_moment.py) and runs when no other process
wants a core, so it takes about 0.3 % of a busy one. It is no child that the program could wait for
(detached_process.py), and ends with it; what it finds is stored as it comes. A program that can
start no Python (interpreter.py) is not measured.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

from surplus.engine.devices import after_fork
from surplus.engine.errors import EngineError, one_line
from surplus.engine.interpreter import depth, find_interpreter
from surplus.engine.pipeline.idle_moment import IdleParams, IdleWatch, Moment

if TYPE_CHECKING:
    from pathlib import Path

    from surplus.engine.detached_process import DetachedProcess
    from surplus.engine.planning.load_params import LoadParams
    from surplus.engine.runtime.planned_model import PlannedModel

_log = logging.getLogger(__name__)

_START = "import sys; sys.path[:] = PATH; from surplus.engine.pipeline.learner import main; main()"


class LearningJob:
    """What is to be learnt of which model. It does not keep the model.

    Attributes
    ----------
    loaded_s : float
        When it was loaded, which is now.
    over : threading.Event
        Set when that was learnt, or is not wanted any more.
    """

    def __init__(
        self,
        model: weakref.ref[PlannedModel],
        path: Path,
        params: LoadParams,
        inputs: Mapping[str, Any] | None,
        tune: str = "now",
    ) -> None:
        self.model = model
        self.path = path
        self.params = params
        self.inputs = inputs
        self.tune = tune
        self.loaded_s = time.monotonic()
        self.over = threading.Event()

    @property
    def is_wanted(self) -> bool:
        """Whether the model is still there."""
        return self.model() is not None


class Learning:
    """A thread that starts the processes which measure, one at a time. Thread-safe.

    Parameters
    ----------
    idle : IdleParams, optional
        When each begins.
    start : str
        What its interpreter executes; ``PATH`` stands for where modules are found.
    """

    def __init__(self, idle: IdleParams | None = None, start: str = _START) -> None:
        self._idle = idle
        self._start = start
        self._begin()

    def _begin(self) -> None:
        self._jobs: deque[LearningJob] = deque()
        self._asked = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._child: tuple[LearningJob, DetachedProcess] | None = None

    def leave_behind(self) -> None:
        """Learn nothing of the parent's models in a forked child (after_fork.py)."""
        self._begin()

    def add(self, job: LearningJob) -> None:
        """Learn it when those before it are done."""
        self._jobs.append(job)
        self._asked.release()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="learning", daemon=True)
                self._thread.start()

    def forget(self, job: LearningJob) -> None:
        """End it: nobody wants the model any more."""
        job.over.set()
        with self._lock:
            if self._child is not None and self._child[0] is job:
                self._child[1].kill()

    def end(self) -> None:
        """End the child and the thread; at exit, before machines close."""
        self._ending.set()
        self._asked.release()
        with self._lock:
            if self._child is not None:
                self._child[1].kill()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        idle = IdleWatch(self._idle)
        while self._asked.acquire() and not self._ending.is_set():
            job = self._jobs.popleft()
            if not job.is_wanted:  # at once: models may come and go faster than one is waited for
                continue
            moment = idle.wait(job.loaded_s, self._ending)
            if moment is None:
                return
            try:
                if job.is_wanted:
                    job.params.asked_kernels()  # where one has no conformance table, that begins
                    self._learn(job, moment)
            except (EngineError, OSError, RuntimeError, ValueError) as error:
                _log.warning("%s goes on as one session: %s", job.path, one_line(error))
            finally:
                job.over.set()

    def _learn(self, job: LearningJob, moment: Moment) -> None:
        found = self._taught(job, moment)
        if "error" in found:
            raise EngineError(str(found["error"]))
        model = job.model()
        if model is None or self._ending.is_set():
            return
        if not (found.get("same_bits") or job.params.relaxed_numerics):
            _log.info("%s: the plan that was found takes effect at the next start", job.path)
            return
        opened = opened_plan(job.path, job.params, job.inputs)
        if opened is None or (job.tune == "again" and not _gains(model, opened)):
            return
        if model.become(opened):
            _log.info("%s: %s took over", job.path, model.plan.name)

    def _taught(self, job: LearningJob, moment: Moment) -> dict[str, Any]:
        """What the other process says in its last line; nothing if it was ended, or cannot be."""
        import json  # what a first answer does not wait for

        from surplus.engine.detached_process import DetachedProcess

        interpreter = find_interpreter()
        if interpreter is None:
            return {}
        with self._lock:
            if self._ending.is_set() or job.over.is_set():
                return {}
            command = [interpreter, "-c", self._start.replace("PATH", repr(sys.path))]
            child = DetachedProcess(command)
            self._child = job, child
        with child:
            try:
                _ask(child.stdin, job, moment)
                said = child.stdout.read()  # it ends when our side of its input is closed
            finally:
                with self._lock:
                    self._child = None
        lines = said.splitlines()
        if not lines:
            if self._ending.is_set() or job.over.is_set():
                return {}
            return {"error": "the process that measured it ended"}
        found: dict[str, Any] = json.loads(lines[-1])
        return found


def _gains(model: PlannedModel, opened: PlannedModel) -> bool:
    """Whether a plan that was measured again is another one, and may take over here and now."""
    other = opened.plan
    return other.segments != model.plan.segments and model.may_answer(other)


def _ask(stream: IO[bytes], job: LearningJob, moment: Moment) -> None:
    import pickle
    from dataclasses import replace

    params = replace(job.params, tune=job.tune)
    pickle.dump((job.path, params, job.inputs, moment), stream)
    stream.flush()


def opened_plan(
    path: Path, params: LoadParams, inputs: Mapping[str, Any] | None
) -> PlannedModel | None:
    """The model with its stored plan; None unless graph and plan are known and can be used."""
    from surplus.engine.cache_folder import cache_folder  # not before the first answer
    from surplus.engine.dfg.known_graph import known_graph
    from surplus.engine.examples.sizes import inputs_in_question
    from surplus.engine.pipeline.opening import open_stored
    from surplus.engine.planning.job import PlanJob

    graph = known_graph(path, params.cache or cache_folder())
    sizes = None if graph is None else inputs_in_question(graph, path, inputs)
    if graph is None or sizes is None:
        return None
    return open_stored(PlanJob(graph, params, sizes))


_LEARNING = Learning()
after_fork.watch(_LEARNING)


@atexit.register
def _end() -> None:
    _LEARNING.end()


def learn(
    model: PlannedModel,
    path: Path,
    params: LoadParams,
    inputs: Mapping[str, Any] | None,
    tune: str = "now",
) -> LearningJob:
    """Find the plan of a model that answers already; it takes over if its bits are the same.

    It ends with the model.

    Parameters
    ----------
    tune : {"now", "again"}
        Whether a stored plan ends it, or is what is to be compared anew.
    """
    job = LearningJob(weakref.ref(model), path, params, inputs, tune)
    if depth() or find_interpreter() is None:
        job.over.set()
        return job
    finalizer = weakref.finalize(model, _forget, job, os.getpid())
    finalizer.atexit = False
    _LEARNING.add(job)
    return job


def _forget(job: LearningJob, owner: int) -> None:
    if os.getpid() == owner:  # a forked child has copies of models, and none of their children
        _LEARNING.forget(job)
