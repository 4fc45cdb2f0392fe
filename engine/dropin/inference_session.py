"""``surplus.InferenceSession``: a model with the face of ONNX Runtime's Python class."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from surplus.engine.cache_folder import cache_folder
from surplus.engine.dropin.adopted import adopted_options
from surplus.engine.dropin.asked_session import AskedSession, asked_session
from surplus.engine.dropin.given_file import given_file
from surplus.engine.dropin.io_binding import IOBinding
from surplus.engine.dropin.load_keywords import load_keywords
from surplus.engine.dropin.model_metadata import read_metadata
from surplus.engine.dropin.opening import opened, save_optimised
from surplus.engine.dropin.ort_value import OrtValue
from surplus.engine.dropin.providers import chosen_providers
from surplus.engine.dropin.query_profile import QueryProfile
from surplus.engine.dropin.session_facts import SessionFacts
from surplus.engine.dropin.session_handle import Callback, SessionHandle
from surplus.engine.dropin.session_keywords import SessionKeywords
from surplus.engine.dropin.session_options import SessionOptions
from surplus.engine.dropin.statuses import ModelLoadCanceled, status
from surplus.engine.kernels.asked import ONNX_RUNTIME
from surplus.engine.planning.load_options import named_now
from surplus.engine.runtime.inputs import Array

if TYPE_CHECKING:
    from surplus.engine.dropin.told_model import ToldModel
    from surplus.engine.runtime.model import Model


class InferenceSession(SessionFacts):
    """Programs written for ``onnxruntime.InferenceSession`` run with this one in its place.

    Errors are ONNX Runtime's classes (statuses.py), raised where it raises them.

    Parameters
    ----------
    path_or_bytes : str, Path or bytes
        A model: ONNX, or ONNX Runtime's own format.
    sess_options : SessionOptions, optional
        Ours or the ``onnxruntime`` module's (asked_session.py), as they are now.
    providers, provider_options : sequence, optional
        Those that are not there are warned of; the CPU's answers.
    devices, options
        As for ``surplus.load``; but ``kernels`` are ONNX Runtime's unless others are asked for.
        ONNX Runtime's own (``disabled_optimizers``, ``enable_fallback``) are as there, and what
        neither knows is not read, as there.

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
        is_bytes = isinstance(path_or_bytes, bytes)
        self._model_path = None if is_bytes else _path(path_or_bytes)
        self._model_bytes = path_or_bytes if is_bytes else None
        self._sess_options_initial = sess_options
        falls_back = int(options.pop("enable_fallback", 1)) == 1
        disabled = options.pop("disabled_optimizers", None) or ()
        own = sess_options._copied() if isinstance(sess_options, SessionOptions) else sess_options
        own = SessionOptions() if own is None else own
        chosen = chosen_providers(
            _asked_providers(own, providers), provider_options, falls_back=falls_back
        )
        asked = asked_session(own, disabled)
        said = {"devices": devices} if devices else {}
        said = {
            "kernels": ONNX_RUNTIME,
            **adopted_options(),
            **asked.load_options,
            **said,
            **named_now(load_keywords(options)),
        }
        if getattr(own, "_is_cancelled", False):
            raise status(ModelLoadCanceled, "loading was cancelled by the session's options")
        prefix = asked.profile_prefix
        handle = SessionHandle(
            _Opening(path_or_bytes, asked, said),
            partial(read_metadata, path_or_bytes),
            own,
            chosen,
            None if prefix is None else QueryProfile(prefix),
        )
        super().__init__(handle, falls_back=falls_back)

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
        return self._sess.run(output_names, input_feed, run_options)

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
        self._sess.run_async(output_names, input_feed, callback, user_data, run_options)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[OrtValue]:
        """``run`` of values, for values."""
        found = self._sess.run_with_ort_values(input_dict_ort_values, output_names, run_options)
        return list(found)

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
        self._sess.run_with_ortvaluevector(
            run_options, feed_names, feeds, fetch_names, fetches, fetch_devices
        )

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Answer one query of what is bound.

        Raises
        ------
        ValueError
            If it was bound for another session.
        RuntimeError
            If it failed, or does not fit what is bound.
        """
        if iobinding._session is not self._sess:
            raise ValueError("IOBinding must be used with the session that created it.")
        self._sess.run_with_iobinding(iobinding._iobinding, run_options)

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
        return IOBinding(self)

    def end_profiling(self) -> str:
        """Write the profile, and end it: the file's path; empty where none was asked for."""
        return self._sess.end_profiling()

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, on ``time.monotonic_ns``'s clock; 0 if it did not."""
        return self._sess.get_profiling_start_time_ns


class _Opening:
    """Opens a session's model; again in each forked child.

    Raises
    ------
    OrtStatusError, EngineError
        Why it does not load.
    """

    def __init__(
        self,
        given: str | os.PathLike[str] | bytes,
        asked: AskedSession,
        options: Mapping[str, Any],
    ) -> None:
        self._given, self._asked, self._options = given, asked, options

    def __call__(self) -> Model | ToldModel:
        cache = Path(self._options.get("cache") or cache_folder())
        path = given_file(self._given, self._asked, cache)
        if self._asked.optimized_path:
            save_optimised(path, self._asked)
        return opened(path, self._asked, self._options)


def _path(given: Any) -> str:
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"Unable to load from type '{type(given)}'")
    return os.fspath(given)


def _asked_providers(options: Any, named: Sequence[Any] | None) -> Sequence[Any] | None:
    """Those that the session's options have, unless the session names others."""
    if named and options.has_providers():
        warnings.warn(
            "Specified 'providers'/'provider_options' when creating InferenceSession but"
            " SessionOptions has already been configured with providers. InferenceSession will"
            " only use the providers passed to InferenceSession().",
            stacklevel=3,
        )
    return named or getattr(options, "_providers", None)
