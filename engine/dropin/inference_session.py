"""``surplus.InferenceSession``: a model with the face of ONNX Runtime's Python class."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, Unpack

from surplus.engine.cache_folder import cache_folder
from surplus.engine.dropin.adopted import adopted_options
from surplus.engine.dropin.asked_session import asked_session
from surplus.engine.dropin.callbacks import call_back
from surplus.engine.dropin.feed import check_complete, check_feed, check_outputs, contents
from surplus.engine.dropin.given_file import given_file
from surplus.engine.dropin.io_binding import IOBinding
from surplus.engine.dropin.opening import opened, save_optimised
from surplus.engine.dropin.ort_value import OrtValue
from surplus.engine.dropin.providers import check_providers
from surplus.engine.dropin.query_profile import QueryProfile
from surplus.engine.dropin.run_options import ended_by, said_of, terminated
from surplus.engine.dropin.session_facts import SessionFacts
from surplus.engine.dropin.session_keywords import SessionKeywords
from surplus.engine.dropin.statuses import (
    NotImplemented,
    OrtStatusError,
    raise_run_error,
    status,
)
from surplus.engine.errors import CancelledError, EngineError
from surplus.engine.kernels.asked import ONNX_RUNTIME
from surplus.engine.planning.load_options import named_now
from surplus.engine.runtime.inputs import Array

Callback = Callable[[list[Array], Any, str], object]
"""What ``run_async`` calls: with the answers, the caller's data, and what went wrong."""


class InferenceSession(SessionFacts):
    """Programs written for ``onnxruntime.InferenceSession`` run with this one in its place.

    Errors are ONNX Runtime's classes (statuses.py), raised where it raises them.

    Parameters
    ----------
    path_or_bytes : str, Path or bytes
        A model: ONNX, or ONNX Runtime's own format.
    sess_options : SessionOptions, optional
        Ours or the ``onnxruntime`` module's (asked_session.py).
    providers, provider_options : sequence, optional
        Those that are not there are warned of; the CPU's answers.
    devices, options
        As for ``surplus.load``; but ``kernels`` are ONNX Runtime's unless others are asked for.

    Attributes
    ----------
    model : surplus.Model
        What answers; it has more to offer (``submit``, ``timeline``, ...). Of a session whose
        options tell ONNX Runtime how to compute, a ``ToldModel``.

    Raises
    ------
    OrtStatusError
        Why the model does not load.
    surplus.EngineError
        Of what is not about the model.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: Any = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Any] | None = None,
        *,
        devices: str = "",
        **options: Unpack[SessionKeywords],
    ) -> None:
        falls_back = int(options.pop("enable_fallback", 1)) == 1
        options.pop("read_config_from_model", None)
        if options.pop("disabled_optimizers", None):
            raise status(NotImplemented, "optimizers cannot be disabled one by one")
        check_providers(providers, provider_options, falls_back=falls_back)
        asked = asked_session(sess_options)
        said = {"devices": devices} if devices else {}
        said = {
            "kernels": ONNX_RUNTIME,
            **adopted_options(),
            **asked.load_options,
            **said,
            **named_now(options),
        }
        path = given_file(path_or_bytes, asked, Path(said.get("cache") or cache_folder()))
        if asked.optimized_path:
            save_optimised(path, asked)
        super().__init__(opened(path, asked, said), path, sess_options, falls_back=falls_back)
        prefix = asked.profile_prefix
        self._profile = None if prefix is None else QueryProfile(prefix)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[Array]:
        """Answer one query; all outputs if none are named.

        Parameters
        ----------
        run_options : RunOptions, optional
            Ours or the module's; its entries may say when the query is due (urgency_entries.py).

        Raises
        ------
        ValueError
            If an input is missing.
        InvalidArgument
            If a name, type or shape does not fit.
        OrtStatusError
            If it failed, or ``terminate`` is set.
        """
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
        check_outputs(self._output_names, output_names)
        return [found[name] for name in output_names]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callback,
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """Start one query, and call back from another thread when it has ended.

        Parameters
        ----------
        callback : callable
            Of the answers, ``user_data``, and an error's text, empty where it went well.

        Raises
        ------
        ValueError
            If an input is missing; other errors come to ``callback``.
        """
        check_complete(self.model.inputs, input_feed.keys())
        feed = contents(input_feed)
        call_back(lambda: self.run(output_names, feed, run_options), callback, user_data)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[OrtValue]:
        """``run`` of values, for values."""
        feed = contents(input_dict_ort_values)
        return [OrtValue(answer) for answer in self.run(output_names, feed, run_options)]

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
        fetches.extend(self.run_with_ort_values(fetch_names, given, run_options))

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Answer one query of what is bound.

        Raises
        ------
        ValueError
            If it was bound for another session.
        RuntimeError
            If it failed, or does not fit what is bound.
        """
        if iobinding.session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        try:
            check_outputs(self._output_names, iobinding.output_names)
            found = self.run(None, iobinding.inputs, run_options)
        except (OrtStatusError, ValueError) as error:
            text = error.bare if isinstance(error, OrtStatusError) else str(error)
            raise RuntimeError(f"Error in execution: {text}") from error
        iobinding.take(dict(zip(self._output_names, found, strict=True)))

    def close(self) -> None:
        """Refuse queries from now on; sessions and weights go with the last that is in flight."""
        self.model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<surplus.InferenceSession {self.model._description}>"

    def io_binding(self) -> IOBinding:
        """What inputs and outputs can be bound with."""
        return IOBinding(self, [spec.name for spec in self.model.inputs])

    def end_profiling(self) -> str:
        """Write the profile, and end it: the file's path; empty where none was asked for."""
        profile, self._profile = self._profile, None
        return "" if profile is None else profile.write()

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, on ``time.monotonic_ns``'s clock; 0 if it did not."""
        return 0 if self._profile is None else self._profile.began_ns

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
        """A query of ``OrtValue``s, which must be looked into; else say what was wrong with it."""
        if isinstance(error, OrtStatusError):
            raise error
        check_complete(self.model.inputs, feed.keys())
        plain = contents(feed)
        if any(plain[name] is not feed[name] for name in feed):
            names = self._output_names
            return dict(zip(names, self.run(None, plain, run_options), strict=True))
        check_feed(self.model.inputs, feed)
        if isinstance(error, EngineError):
            raise_run_error(error)
        raise error
