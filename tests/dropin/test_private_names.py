"""Names with an underscore that programs read of ONNX Runtime's objects: there, and alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from surplus import InferenceSession
from tests.dropin.pair import PLAIN, Pair

X, I = np.array([[1, -1, 2]], np.float32), np.array([1, 2])  # noqa: E741  # the model's inputs


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("private") / "plain.onnx"
    onnx.save(onnx.parser.parse_model(PLAIN), path)
    return str(path)


@pytest.fixture(scope="module")
def plain(path: str, cache: Path) -> Pair:
    theirs = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return Pair(InferenceSession(path, devices="cpu:1", cache=cache), theirs)


@pytest.mark.parametrize(
    "name",
    [
        "_enable_fallback",
        "_fallback_providers",
        "_model_bytes",
        "_model_path",
        "_provider_options",
        "_providers",
        "_sess_options_initial",
    ],
)
def test_attributes_of_a_session_are_equal(name: str, plain: Pair) -> None:
    plain.same_answers(lambda s: getattr(s, name))


def test_a_model_is_a_path_or_bytes(path: str, cache: Path) -> None:
    content = Path(path).read_bytes()
    both = Pair(
        InferenceSession(content, devices="cpu:1", cache=cache),
        onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]),
    )
    both.same_answers(lambda s: (s._model_path, s._model_bytes == content))
    for given in (path, Path(path)):
        assert InferenceSession(given, devices="cpu:1", cache=cache)._model_path == path


def test_descriptions_of_a_session_are_equal(plain: Pair) -> None:
    for name in ("_inputs_meta", "_outputs_meta", "_overridable_initializers"):
        plain.same_answers(lambda s, name=name: [(a.name, a.type) for a in getattr(s, name)])
    plain.same_answers(lambda s: s._model_meta.graph_name)
    plain.same_answers(lambda s: s._sess_options.log_severity_level)
    plain.ours._model_path = "set by a program"
    assert plain.ours._model_path == "set by a program"


def test_the_handle_answers_as_theirs(plain: Pair) -> None:
    plain.same_answers(lambda s: s._sess.run(["j", "y"], {"x": X, "i": I}, None))
    plain.same_answers(lambda s: [a.name for a in s._sess.outputs_meta])
    plain.same_answers(lambda s: [a.name for a in s._sess.inputs_meta])
    plain.same_answers(lambda s: s._sess.get_providers())
    plain.same_answers(lambda s: s._sess.get_provider_options())
    plain.same_answers(lambda s: s._sess.model_meta.graph_name)
    plain.same_answers(lambda s: s._sess.session_options.logid)


def handles(session: Any) -> Any:
    """The value class of the module that a session is of."""
    import surplus

    return surplus.OrtValue if isinstance(session, InferenceSession) else onnxruntime.OrtValue


def test_the_handle_takes_handles_of_values(plain: Pair) -> None:
    def ask(session: Any) -> Any:
        made = handles(session).ortvalue_from_numpy
        feed = {"x": made(X)._ortvalue, "i": made(I)._get_c_value()}
        found = session._sess.run_with_ort_values(feed, ["y"], None)
        return [handles(session)(each).numpy() for each in found]

    plain.same_answers(ask)


def test_a_bindings_handle_binds(plain: Pair) -> None:
    def ask(session: Any) -> Any:
        module = handles(session)
        binding = session.io_binding()
        handle = binding._iobinding
        handle.bind_input("x", X)
        handle.bind_ortvalue_input("i", module.ortvalue_from_numpy(I)._ortvalue)
        binding.bind_output("y")
        into = module.ortvalue_from_numpy(np.zeros(2, np.int64))
        handle.bind_ortvalue_output("j", into._ortvalue)
        session._sess.run_with_iobinding(handle, None)
        outputs = handle.get_outputs()
        return (
            type(handle).__name__,
            [list(outputs[i].shape()) for i in range(len(outputs))],
            into.numpy(),
            handle.copy_outputs_to_cpu(),
            len(binding.get_outputs_as_ortvaluevector()),
        )

    plain.same_answers(ask)


def test_public_names_of_a_binding_are_those_of_onnxruntime(plain: Pair) -> None:
    plain.same_answers(lambda s: [n for n in dir(s.io_binding()) if not n.startswith("_")])


def test_public_names_of_a_session_are_those_of_onnxruntime(plain: Pair) -> None:
    ours, theirs = (
        {name for name in dir(session) if not name.startswith("_")}
        for session in (plain.ours, plain.theirs)
    )
    assert ours - theirs == {"close", "model"}
    assert theirs - ours == {"get_provider_graph_assignment_info", "set_ep_dynamic_options"}
