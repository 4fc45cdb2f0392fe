"""How a query of a model whose answers are kept is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from surplus.engine.serving.response_cache import key_of
from surplus.engine.serving.sequences.sequence_step import asked_step
from surplus.engine.serving.servable import Array
from surplus.engine.serving.served_model import ServedModel


async def answered(
    model: ServedModel,
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    clock_ns: Callable[[], int],
    run: Callable[[], Awaitable[dict[str, Array]]],
) -> tuple[dict[str, Array], bool]:
    """The answer, and whether it was there already.

    What belongs to a sequence is computed: it depends on more than its tensors.

    Parameters
    ----------
    outputs : sequence of str
        Which are asked for.
    run : callable
        Computes the answer.
    """
    cache = model.answers
    if cache is None or asked_step() is not None:
        return await run(), False
    began_ns = clock_ns()
    key = key_of(model.load, inputs, outputs)
    found = cache.find(key)
    took_ns = clock_ns() - began_ns
    if found is not None:
        model.statistics.cache_hit.add(took_ns)
        return found, True
    answer = await run()
    began_ns = clock_ns()
    if all(name in answer for name in outputs):  # else the query fails
        cache.keep(key, {name: answer[name] for name in outputs})
    model.statistics.cache_miss.add(took_ns + clock_ns() - began_ns)
    return answer, False
