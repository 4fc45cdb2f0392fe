"""A model that nothing is known of answers at once, and its measured plan takes over."""

from __future__ import annotations

import gc
import os
import queue
import select
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from surplus.engine.errors import ConfigError, InputError, ModelError
from surplus.engine.pipeline import learning
from surplus.engine.pipeline.idle_moment import IdleParams
from surplus.engine.pipeline.learner import learnt
from surplus.engine.pipeline.learning import Learning, LearningJob, opened_plan
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.unread import ORIGIN
from tests.pipeline.subject import Subject

QUICK: dict[str, Any] = {"devices": "cpu:2", "selection_s": 0}

AT_ONCE = IdleParams(after_first_load_s=0, after_query_s=0)

SAYS = "import sys; sys.stdin.buffer.peek(1); print(SAID)"
"""A child that measures nothing and says this."""


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[LearningJob]:
    """What was to be learnt, and was not."""
    kept: list[LearningJob] = []

    class Kept(Learning):
        def add(self, job: LearningJob) -> None:
            kept.append(job)

    monkeypatch.setattr(learning, "_LEARNING", Kept())
    return kept


def _first(subject: Subject, **options: Any) -> PlannedModel:
    """Loaded when nothing is known of it."""
    options = {**QUICK, "tune": "background", "inputs": subject.inputs, **options}
    return load_planned(subject.path, cache=subject.cache, **options)


def _taught(job: LearningJob, said: str) -> None:
    """Have a child say that of the job, and wait until that is dealt with."""
    course = Learning(AT_ONCE, start=SAYS.replace("SAID", repr(said)))
    course.add(job)
    assert job.over.wait(60)
    course.end()


def test_it_answers_before_its_graph_is_read(
    subject: Subject, jobs: list[LearningJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.dfg.onnx_reader.parse", None)
    model = _first(subject)
    assert model.plan.predicted.origin == ORIGIN
    assert [segment.width for segment in model.plan.segments] == [2]
    monkeypatch.undo()
    measured = load_planned(
        subject.path, cache=subject.cache, inputs=subject.inputs, **QUICK, tune="now"
    )
    assert (model.inputs, model.outputs) == (measured.inputs, measured.outputs)
    answer, want = model.run(subject.inputs), measured.run(subject.inputs)
    for name in want:
        np.testing.assert_allclose(answer[name], want[name], rtol=1e-4, atol=1e-5)
    assert model.submit(subject.inputs).result(60).keys() == want.keys()
    assert len(model.graph.tasks) == len(measured.graph.tasks), "read when somebody looks"
    assert not list(subject.path.parent.glob("*.laid.onnx")), "nothing beside the user's file"
    assert len(jobs) == 1


def test_the_measured_plan_takes_over_between_two_queries(
    subject: Subject, jobs: list[LearningJob]
) -> None:
    model = _first(subject)
    params = LoadParams(**QUICK, cache=subject.cache, tune="now")
    assert "error" not in learnt(subject.path, params, subject.inputs)
    _taught(jobs[0], '{"same_bits": true}')
    assert model.plan.predicted.origin != ORIGIN
    assert model.graph.source_hash
    want = load_planned(subject.path, cache=subject.cache, **QUICK).run(subject.inputs)
    answer = model.run(subject.inputs)
    assert all(answer[name].tobytes() == want[name].tobytes() for name in want)


@pytest.mark.parametrize("said", ['{"same_bits": false}', '{"error": "no"}', "", "nonsense"])
def test_other_bits_and_failures_leave_it_as_it_is(
    subject: Subject, jobs: list[LearningJob], said: str
) -> None:
    model = _first(subject)
    load_planned(subject.path, cache=subject.cache, inputs=subject.inputs, **QUICK, tune="now")
    _taught(jobs[0], said)
    assert model.plan.predicted.origin == ORIGIN
    assert model.run(subject.inputs)


def test_any_bits_take_over(subject: Subject, jobs: list[LearningJob]) -> None:
    model = _first(subject, relaxed_numerics=True)
    options = {**QUICK, "relaxed_numerics": True, "tune": "now"}
    load_planned(subject.path, cache=subject.cache, inputs=subject.inputs, **options)
    _taught(jobs[0], '{"same_bits": false}')
    assert model.plan.predicted.origin != ORIGIN


def test_whether_bits_are_the_same_is_found_by_running(subject: Subject) -> None:
    one = LoadParams(devices="cpu:1", cache=subject.cache, selection_s=0, tune="now")
    found = learnt(subject.path, one, subject.inputs)
    plan = load_planned(subject.path, cache=subject.cache, devices="cpu:1", selection_s=0).plan
    assert found == {"same_bits": len(plan.segments) == 1}
    subject.path.write_bytes(b"")
    assert "not an ONNX model" in learnt(subject.path, one, None)["error"]


def test_a_model_that_is_gone_is_not_measured(subject: Subject, jobs: list[LearningJob]) -> None:
    model = _first(subject)
    job = jobs[0]
    del model
    gc.collect()
    assert job.over.is_set()
    assert not job.is_wanted


def test_models_that_are_gone_are_not_waited_for(tmp_path: Path) -> None:
    """Else a server that loads models faster than that would know of more and more."""
    looked_at: queue.SimpleQueue[str] = queue.SimpleQueue()

    class Watched(LearningJob):
        @property
        def is_wanted(self) -> bool:
            looked_at.put(self.path.name)
            return super().is_wanted

    class Gone:
        pass

    course = Learning(IdleParams(after_first_load_s=3600, at_most_s=3600))
    for number in range(3):
        gone: Any = weakref.ref(Gone())
        course.add(Watched(gone, tmp_path / str(number), LoadParams(), None))
    assert [looked_at.get(timeout=60) for _ in range(3)] == ["0", "1", "2"]
    course.end()


def test_inputs_that_do_not_fit_are_refused_at_once(
    subject: Subject, jobs: list[LearningJob]
) -> None:
    with pytest.raises(InputError, match="unknown input 'nothing'"):
        _first(subject, inputs={"nothing": 1})
    subject.path.write_bytes(b"no model")
    with pytest.raises(ModelError, match="not an ONNX model"):
        _first(subject, inputs=None)
    assert not jobs


def test_inputs_with_defaults_are_read_first(tmp_path: Path, jobs: list[LearningJob]) -> None:
    helper = onnx.helper
    ends = [helper.make_tensor_value_info(name, 1, [3]) for name in ("x", "shift", "y")]
    shift = onnx.numpy_helper.from_array(np.ones(3, np.float32), "shift")
    node = helper.make_node("Add", ["x", "shift"], ["y"])
    graph = helper.make_graph([node], "g", ends[:2], ends[2:], [shift])
    path = tmp_path / "shifted.onnx"
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    model = load_planned(path, cache=tmp_path / "cache", tune="background", **QUICK)
    assert model.plan.predicted.origin != ORIGIN
    assert model.run({"x": np.zeros(3, np.float32)})["y"].tolist() == [1, 1, 1]
    assert not jobs


@pytest.mark.parametrize(
    ("options", "answers_first"),
    [
        ({}, True),
        ({"devices": "cpu:1,emulated:gpu"}, True),
        ({"devices": "cpu:1,cuda:0"}, False),
        ({"tune": "now"}, False),
        ({"reuse": False}, False),
        ({"slice_s": 0.002}, False),
        ({"placement_policy": "heft"}, False),
    ],
)
def test_which_models_answer_first(options: dict[str, Any], answers_first: bool) -> None:
    assert LoadParams(**{"tune": "background", **options}).answers_first is answers_first


def test_what_tune_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="tune must be one of"):
        LoadParams(tune="later")
    monkeypatch.setenv("SURPLUS_TUNE", "now")
    assert LoadParams().tune == "now"
    monkeypatch.delenv("SURPLUS_TUNE")
    assert LoadParams().tune == "background"


_LOADED = """
import json, sys
import numpy as np
from surplus.engine.pipeline import learning, learner

learning._LEARNING = learning.Learning(learning.IdleParams(0, 0), start={start!r})
from surplus.engine.pipeline.load import load_planned

model = load_planned(sys.argv[1], cache=sys.argv[2], devices="cpu:2", tune="background")
while learning._LEARNING._child is None:
    pass
print(learning._LEARNING._child[1].pid, flush=True)
{then}
"""

_NEVER_DONE = (
    "import sys; sys.path[:] = PATH; import threading;"
    " from surplus.engine.pipeline import learner;"
    " learner.learnt = lambda *_: threading.Event().wait(); learner.main()"
)


@pytest.mark.parametrize("then", ["", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_process_that_ends_takes_its_child_along(subject: Subject, then: str) -> None:
    code = _LOADED.format(start=_NEVER_DONE, then=then)
    command = [sys.executable, "-c", code, str(subject.path), str(subject.cache)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    try:
        child = os.pidfd_open(pid)
    except ProcessLookupError:
        child = -1  # it ended already
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (-9 if then else 0), errors
    assert not errors
    if child >= 0:
        assert select.select([child], [], [], 60)[0], "it goes on"
        os.close(child)


@pytest.mark.parametrize("known", [False, True])
def test_a_large_file_answers_before_it_is_hashed(
    subject: Subject, jobs: list[LearningJob], monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    if known:
        load_planned(subject.path, cache=subject.cache, inputs=subject.inputs, **QUICK, tune="now")
    with monkeypatch.context() as patched:
        patched.setattr("surplus.engine.dfg.file_hashes.FileHashes.is_quick", lambda *_: False)
        patched.setattr("surplus.engine.dfg.file_hashes._hash", None)
        model = _first(subject)
    assert model.plan.predicted.origin == ORIGIN
    (job,) = (job for job in jobs if job.tune == "now")
    stored = opened_plan(job.path, job.params, job.inputs)
    assert (stored is not None) is known, "what is stored is found beside the first queries"
