"""Sessions that are copied and pickled: a session is not, a subclass may say how it is."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import surplus
from tests.dropin.pair import PLAIN, Pair

FEED = {"x": np.array([[1, -1, 2]], np.float32), "i": np.array([1, 2])}


class ByPath(surplus.InferenceSession):
    """As insightface has it: pickled as a path, and opened again from it."""

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(path, **options)
        self.path, self.said = path, options

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "said": self.said}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], **state["said"])  # type: ignore[misc]


class ByReduce(surplus.InferenceSession):
    """Another way to say it."""

    def __init__(self, path: str, cache: str) -> None:
        super().__init__(path, devices="cpu:1", cache=cache)
        self.path, self.cache = path, cache

    def __reduce__(self) -> tuple[Any, ...]:
        return ByReduce, (self.path, self.cache)


class Wrapped:
    """As kokoro-onnx has it: a session within, which is left out and made again."""

    def __init__(self, session: surplus.InferenceSession, cache: str) -> None:
        self.session, self.cache = session, cache

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.session._model_path, "cache": self.cache}

    def __setstate__(self, state: dict[str, Any]) -> None:
        session = surplus.InferenceSession(state["path"], devices="cpu:1", cache=state["cache"])
        self.__init__(session, state["cache"])  # type: ignore[misc]

    def run(self, *args: Any) -> Any:
        return self.session.run(*args)


def ask(session: Any) -> list[Any]:
    return [answer.tolist() for answer in session.run(None, FEED)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("pickled") / "plain.onnx"
    onnx.save(onnx.parser.parse_model(PLAIN), path)
    return str(path)


def made(kind: str, path: str, cache: Path) -> Any:
    if kind == "by path":
        return ByPath(path, devices="cpu:1", cache=str(cache))
    if kind == "by reduce":
        return ByReduce(path, str(cache))
    return Wrapped(surplus.InferenceSession(path, devices="cpu:1", cache=cache), str(cache))


@pytest.mark.parametrize("kind", ["by path", "by reduce", "wrapped"])
def test_a_class_of_ones_own_is_pickled_and_copied(kind: str, path: str, cache: Path) -> None:
    session = made(kind, path, cache)
    for again in (pickle.loads(pickle.dumps(session)), copy.deepcopy(session)):
        assert type(again) is type(session)
        assert ask(again) == ask(session)


def test_it_goes_to_a_process_that_is_spawned(path: str, cache: Path) -> None:
    session = made("by path", path, cache)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(ask, (session,)) == ask(session)


@pytest.mark.parametrize("way", [pickle.dumps, copy.deepcopy])
def test_a_session_is_not_pickled(way: Any, pair: Pair) -> None:
    pair.same_error(way, text=False)


def test_a_shallow_copy_shares_the_model(pair: Pair) -> None:
    pair.same_answers(lambda s: copy.copy(s).run(["y"], {**FEED, **given()}))
    assert copy.copy(pair.ours).model is pair.ours.model


def given() -> dict[str, Any]:
    from tests.dropin.pair import FEEDS

    return FEEDS


def test_it_goes_with_its_last_reference(path: str, cache: Path) -> None:
    import weakref

    session = made("by path", path, cache)
    model = weakref.ref(session._sess)
    del session
    assert model() is None


def test_those_of_onnxruntime_do_likewise(path: str) -> None:
    class Theirs(onnxruntime.InferenceSession):
        def __getstate__(self) -> dict[str, Any]:
            return {}

        def __setstate__(self, state: dict[str, Any]) -> None:
            self.__init__(path, providers=["CPUExecutionProvider"])  # type: ignore[misc]

    assert ask(copy.deepcopy(Theirs(path, providers=["CPUExecutionProvider"])))
