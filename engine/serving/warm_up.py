"""Queries that a model answers before it is ready, as its configuration's ``model_warmup`` says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surplus.engine.errors import EngineError, one_line
from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.configured_values import datatype_named_by, read_values, zeros
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.sequences.sequence_step import SequenceStep, asked
from surplus.engine.serving.servable import Array, Servable
from surplus.engine.serving.signature import Signature

FOLDER = "warmup"
"""Of the model's folder: where files with inputs lie, as by Triton."""

Infer = Callable[
    [Mapping[str, Array], Sequence[str] | None, int | None, int], Awaitable[dict[str, Array]]
]
"""As ``infer`` of a ``Servable``."""

_SEED = 1
_WHOLE = SequenceStep(1, starts=True, ends=True)
"""Each query is a sequence by itself, to models that have such."""


@dataclass(frozen=True)
class WarmUp:
    """A query, and how often it is asked.

    Parameters
    ----------
    at : str
        Where it stands in the configuration.
    is_real : bool
        Whether all of its inputs come from files, so that they are such as the model is meant for.
    """

    name: str
    at: str
    count: int
    inputs: dict[str, Array]
    is_real: bool


def read_warm_ups(config: ModelConfig) -> list[WarmUp]:
    """The queries of a configuration.

    Raises
    ------
    ConfigError
        Naming file, line and input, if one is not described in full, or its file does not do.
    """
    return [
        _read(config, f"model_warmup[{index}]", sample)
        for index, sample in enumerate(config.message.model_warmup)
    ]


def real_inputs(config: ModelConfig | None) -> dict[str, Array] | None:
    """Inputs to measure a model with: of the first query that comes from files; None without one.

    Those of models whose tensors have other shapes for clients are not the model's, nor are they
    where the server gives some of them.
    """
    if config is None or any(i.HasField("reshape") for i in config.message.input):
        return None
    if config.message.HasField("sequence_batching"):
        return None
    return next((one.inputs for one in read_warm_ups(config) if one.is_real), None)


def warmed(executor: Servable) -> Servable:
    """The executor, which has answered its queries. Blocks; not on an event loop.

    Raises
    ------
    ConfigError
        If one fails; the executor is closed.
    """
    try:
        ask_warm_ups(executor)
    except BaseException:
        executor.close()
        raise
    return executor


def ask_warm_ups(executor: Servable) -> None:
    """Have an executor answer its queries, and wait for that; not on an event loop.

    Raises
    ------
    ConfigError
        If one fails.
    """
    asyncio.run(asked_warm_ups(executor))


async def asked_warm_ups(executor: Servable, infer: Infer | None = None) -> None:
    """The same on the event loop of the executor's queries; files are read in a thread.

    Parameters
    ----------
    infer : callable, optional
        Answers as the executor's own, where that would wait for the warm-up.
    """
    config = executor.config
    if config is not None and config.message.model_warmup:
        queries = await asyncio.to_thread(read_warm_ups, config)
        await _ask(infer or executor.infer, Signature(executor), config, queries)


async def _ask(
    infer: Infer, signature: Signature, config: ModelConfig, queries: Sequence[WarmUp]
) -> None:
    for query in queries:
        try:
            inputs = signature.check_inputs(list(query.inputs.items()))
            for _ in range(query.count):
                with asked(_WHOLE):
                    await infer(inputs, None, None, 0)
        except EngineError as error:
            raise config.lines.wrong(
                query.at, f"the query {query.name!r} fails: {one_line(error, 300)}"
            ) from error


def _read(config: ModelConfig, at: str, sample: Any) -> WarmUp:
    batch = _batch(config, at, sample)
    inputs = dict(_inputs(config, at, sample, batch))
    if not inputs:
        raise config.lines.wrong(f"{at}.inputs", "there is none")
    kinds = {given.WhichOneof("input_data_type") for given in sample.inputs.values()}
    return WarmUp(sample.name, at, sample.count or 1, inputs, kinds == {"input_data_file"})


def _batch(config: ModelConfig, at: str, sample: Any) -> tuple[int, ...]:
    most, size = config.message.max_batch_size, sample.batch_size or 1
    if size > max(1, most):
        raise config.lines.wrong(
            f"{at}.batch_size", f"is {size}; at most {max(1, most)}, by max_batch_size"
        )
    return (size,) if most else ()


def _inputs(
    config: ModelConfig, at: str, sample: Any, batch: tuple[int, ...]
) -> Iterator[tuple[str, Array]]:
    for name, given in sorted(sample.inputs.items()):
        here = f"{at}.inputs.{name}"
        datatype = datatype_named_by(config, f"{here}.data_type", given.data_type)
        if any(size < 1 for size in given.dims):
            raise config.lines.wrong(f"{here}.dims", f"{list(given.dims)} leaves a size open")
        yield name, _values(config, here, name, given, datatype, (*batch, *given.dims))


def _values(
    config: ModelConfig, at: str, name: str, given: Any, datatype: str, shape: tuple[int, ...]
) -> Array:
    which = given.WhichOneof("input_data_type")
    if which == "input_data_file":
        file = FOLDER, given.input_data_file
        return read_values(config, f"{at}.input_data_file", name, file, datatype, shape)
    if which is None:
        raise config.lines.wrong(at, "needs zero_data, random_data or input_data_file")
    return _random(datatype, shape) if which == "random_data" else zeros(datatype, shape)


def _random(datatype: str, shape: tuple[int, ...]) -> Array:
    dtype = DATATYPES[datatype].dtype
    random = np.random.default_rng(_SEED)
    if dtype.kind == "O":
        return zeros(datatype, shape)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return random.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    return random.random(shape).astype(dtype)
