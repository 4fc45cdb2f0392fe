"""``SessionHandle``: what answers a session's queries, as ``InferenceSession._sess`` there."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from surplus.engine.dfg.graph import ValueKind
from surplus.engine.dropin.callbacks import call_back
from surplus.engine.dropin.feed import (
    check_complete,
    check_feed,
    check_outputs,
    contents,
    made_of_lists,
)
from surplus.engine.dropin.model_metadata import ModelMetadata
from surplus.engine.dropin.node_arg import node_arg
from surplus.engine.dropin.ort_value import OrtValue, OrtValueVector
from surplus.engine.dropin.query_profile import QueryProfile
from surplus.engine.dropin.run_options import ended_by, said_of, terminated
from surplus.engine.dropin.statuses import OrtStatusError, raise_run_error
from surplus.engine.errors import CancelledError, EngineError, LeftBehindError
from surplus.engine.runtime.inputs import Array, IoSpec

if TYPE_CHECKING:
    from surplus.engine.dropin.session_io_binding import SessionIOBinding
    from surplus.engine.dropin.told_model import ToldModel
    from surplus.engine.runtime.model import Model

Callback = Callable[[list[Array], Any, str], object]
"""What ``run_async`` calls: with the answers, the caller's data, and what went wrong."""


class _Forks:
    """How often this process and those before it were forked, and the lock of its openings."""

    def __init__(self) -> None:
        self.count = 0
        self.opening = threading.Lock()

    def note(self) -> None:
        """In a child: a thread that stayed in the parent may hold the lock."""
        self.count += 1
        self.opening = threading.Lock()


_forks = _Forks()
os.register_at_fork(after_in_child=_forks.note)


class SessionHandle:
    """A model, its description and its profile. Thread-safe; copies of a session share it.

    A child that was forked after the model was loaded has none of its threads: there the first
    query opens it again.

    Parameters
    ----------
    open_model : callable
        Opens the model; again in forked children.
    metadata : callable
        Reads what the model's file says of itself.
    session_options : SessionOptions
        What it was made with.
    providers : sequence of str
        Of ONNX Runtime's, those in use.
    profile : QueryProfile, optional
        Where its queries are kept.
    """

    def __init__(
        self,
        open_model: Callable[[], Model | ToldModel],
        metadata: Callable[[], ModelMetadata],
        session_options: Any,
        providers: Sequence[str],
        profile: QueryProfile | None,
    ) -> None:
        self._open = open_model
        self._metadata = metadata
        self.session_options = session_options
        self._providers = list(providers)
        self._profile = profile
        self.model = open_model()
        self._forks_before = _forks.count
        self.inputs_meta = [node_arg(spec) for spec in self.model.inputs if not _has_default(spec)]
        self.overridable_initializers = [
            node_arg(spec) for spec in self.model.inputs if _has_default(spec)
        ]
        self.outputs_meta = [node_arg(spec) for spec in self.model.outputs]
        self.output_names = tuple(spec.name for spec in self.model.outputs)

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any
    ) -> list[Array]:
        """``InferenceSession.run``."""
        try:
            if run_options is None and self._profile is None:
                found = self.model.run(input_feed)
            else:
                found = self._run_as(input_feed, run_options)
        except (EngineError, AttributeError, TypeError) as error:
            found = self._run_again(input_feed, run_options, error)
        if not output_names:
            return list(found.values())
        if type(output_names) is str:
            raise TypeError(f"output_names must be a sequence of names, got {output_names!r}")
        check_outputs(self.output_names, output_names)
        return [found[name] for name in output_names]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callback,
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """``InferenceSession.run_async``."""
        check_complete(self.model.inputs, input_feed.keys())
        feed = contents(input_feed)
        call_back(lambda: self.run(output_names, feed, run_options), callback, user_data)

    def run_with_ort_values(
        self,
        input_dict_ort_values: Mapping[str, Any],
        output_names: Sequence[str] | None,
        run_options: Any,
    ) -> OrtValueVector:
        """``run`` of values, for values."""
        feed = contents(input_dict_ort_values)
        return OrtValueVector(map(OrtValue, self.run(output_names, feed, run_options)))

    def run_with_ortvaluevector(
        self,
        run_options: Any,
        feed_names: Sequence[str],
        feeds: Sequence[Any],
        fetch_names: Sequence[str],
        fetches: list[Any],
        fetch_devices: Sequence[Any],
    ) -> None:
        """``run`` of a list of values; answers are appended to ``fetches``."""
        given = dict(zip(feed_names, feeds, strict=True))
        fetches.extend(self.run_with_ort_values(given, fetch_names, run_options))

    def run_with_iobinding(self, iobinding: SessionIOBinding, run_options: Any) -> None:
        """Answer one query of what is bound.

        Raises
        ------
        RuntimeError
            If it failed, or does not fit what is bound.
        """
        try:
            check_outputs(self.output_names, iobinding.output_names)
            found = self.run(None, iobinding.inputs, run_options)
        except (OrtStatusError, ValueError) as error:
            text = error.bare if isinstance(error, OrtStatusError) else str(error)
            raise RuntimeError(f"Error in execution: {text}") from error
        iobinding.take(dict(zip(self.output_names, found, strict=True)))

    def end_profiling(self) -> str:
        """Write the profile, and end it: the file's path; empty where none was asked for."""
        profile, self._profile = self._profile, None
        return "" if profile is None else profile.write()

    @property
    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, on ``time.monotonic_ns``'s clock; 0 if it did not."""
        return 0 if self._profile is None else self._profile.began_ns

    @property
    def model_meta(self) -> ModelMetadata:
        """What the model's file says of itself."""
        return self._metadata()

    def get_providers(self) -> list[str]:
        """ONNX Runtime's providers that are in use."""
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Theirs: none."""
        return {name: {} for name in self._providers}

    def _run_as(self, feed: Mapping[str, Any], run_options: Any) -> dict[str, Array]:
        """A query as its options want it, and in the profile."""
        profile, said = self._profile, said_of(run_options)
        began_ns = time.monotonic_ns()
        query = self.model.submit(feed, traced=profile is not None, **said)
        with ended_by(run_options, query):
            try:
                found = query.result()
            except CancelledError as error:
                raise terminated() if getattr(run_options, "terminate", False) else error from None
        if profile is not None:
            profile.add(began_ns, time.monotonic_ns(), query.timeline())
        return found

    def _run_again(
        self, feed: Mapping[str, Any], run_options: Any, error: Exception
    ) -> dict[str, Array]:
        """A query of a forked child, or of what must be looked into; else say what was wrong."""
        if isinstance(error, OrtStatusError):
            raise error
        if isinstance(error, LeftBehindError):
            self._open_again()
            return self._named(self.run(None, feed, run_options))
        check_complete(self.model.inputs, feed.keys())
        plain = made_of_lists(self.model.inputs, contents(feed))
        if any(plain[name] is not feed[name] for name in feed):
            return self._named(self.run(None, plain, run_options))
        check_feed(self.model.inputs, feed)
        if isinstance(error, EngineError):
            raise_run_error(error)
        raise error

    def _named(self, answers: Sequence[Array]) -> dict[str, Array]:
        return dict(zip(self.output_names, answers, strict=True))

    def _open_again(self) -> None:
        """Once, whichever thread comes first."""
        with _forks.opening:
            if self._forks_before != _forks.count:
                self.model = self._open()
                self._forks_before = _forks.count

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle 'InferenceSession' object: it holds threads and kernels")


def _has_default(spec: IoSpec) -> bool:
    return spec.optional and spec.kind is not ValueKind.OPTIONAL
