"""What a model's ``dynamic_batching`` and ``instance_group`` say of how its queries wait."""

from __future__ import annotations

from typing import Any

from surplus.engine.repository.against_model import DEFAULT_MAX_BATCH_SIZE
from surplus.engine.repository.config_message import enum_number
from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.runtime.queueing import LevelQueue, Queueing
from surplus.engine.runtime.stack_use import MOST_ROWS

_LONGEST_NS = 366 * 24 * 3600 * 10**9
"""Whoever says longer means for ever; the core counts in 64 bits."""


def queueing_for(config: ModelConfig | None) -> Queueing | None:
    """How a model's queries wait; None where nothing is said, and lanes alone decide."""
    if config is None:
        return None
    calls = calls_for(config)
    if not config.message.HasField("dynamic_batching"):
        return Queueing(calls=calls) if calls else None
    batching = config.message.dynamic_batching
    levels = range(1, max(1, batching.priority_levels) + 1)
    return Queueing(
        calls=calls,
        preferred_rows=tuple(sorted(batching.preferred_batch_size)),
        delay_ns=_ns(batching.max_queue_delay_microseconds),
        usual_level=batching.default_priority_level or 1,
        levels=tuple(_level(batching, level) for level in levels),
    )


def calls_for(config: ModelConfig) -> int:
    """How many calls of a model are computed at once; 0 where no group has a count."""
    groups = config.message.instance_group
    return sum(group.count * max(1, len(group.gpus)) for group in groups)


def max_batch_for(config: ModelConfig | None, asked: int | None) -> int | None:
    """Rows of a batch at most, where the server was asked for so many of all models."""
    if config is None or not config.message.HasField("dynamic_batching"):
        return asked
    preferred = config.message.dynamic_batching.preferred_batch_size
    own: int = config.message.max_batch_size or max([DEFAULT_MAX_BATCH_SIZE, *preferred])
    return min(own, MOST_ROWS if asked is None else asked)


def batch_limit_for(config: ModelConfig | None) -> int | None:
    """Rows of a batch that forms by itself, at most; 0: none forms, None: nothing is said of it.

    With Triton there is no batch without ``dynamic_batching``, unless that is completed from the
    model where nothing is written of batches; what is written bounds ours.
    """
    if config is None:
        return None
    own: int = config.message.max_batch_size
    return own if own or "max_batch_size" in config.lines.lines else None


def _level(batching: Any, level: int) -> LevelQueue:
    policy = batching.priority_queue_policy.get(level, batching.default_queue_policy)
    return LevelQueue(
        policy.max_queue_size,
        _ns(policy.default_timeout_microseconds),
        policy.timeout_action == enum_number("ModelQueuePolicy.TimeoutAction", "DELAY"),
    )


def _ns(microseconds: int) -> int:
    return min(microseconds * 1_000, _LONGEST_NS)
