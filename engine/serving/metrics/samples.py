"""What is counted, looked at once: plain numbers, which another thread may write down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surplus.engine.serving.histogram import QueryHistograms
from surplus.engine.serving.model_table import ModelTable
from surplus.engine.serving.served_model import ModelState, ServedModel
from surplus.engine.serving.step_counts import share_out
from surplus.engine.serving.trouble import Trouble


@dataclass(frozen=True)
class ModelSample:
    """One version of a model. Times in nanoseconds.

    Parameters
    ----------
    is_unloaded : bool
        Whether somebody asked for it not to be served.
    cost_bytes : int
        What it takes of the budget of memory; 0 where nobody measured it.
    computed : int
        Queries that the model answered; the answers of others were kept.
    calls : int
        Of the model: queries that were stacked count once.
    step_calls : int
        The same for queries of ensembles that it is a step of; these are among all counts but those
        by reason and by bucket.
    batches : mapping of int to int
        Calls by how many queries they answered, of two and more.
    """

    name: str
    version: str
    is_ready: bool
    is_unloaded: bool
    cost_bytes: int
    in_flight: int
    success: int
    success_ns: int
    compute_input_ns: int
    queue_ns: int
    compute_infer_ns: int
    compute_output_ns: int
    computed: int
    cache_hits: int
    cache_hit_ns: int
    cache_misses: int
    cache_miss_ns: int
    calls: int
    step_calls: int
    batches: Mapping[int, int]
    trouble: Mapping[Trouble, int]
    times: QueryHistograms

    @property
    def labels(self) -> tuple[str, str]:
        """Of all that is said of it."""
        return self.name, self.version


def model_samples(models: ModelTable) -> list[ModelSample]:
    """Look at each. On the server's event loop: some 20 us a model."""
    share_out(models)
    return [_sample(model) for model in models]


def _sample(model: ServedModel) -> ModelSample:
    counters, as_step = model.statistics, model.as_step
    return ModelSample(
        name=model.name,
        version=model.version,
        is_ready=model.state is ModelState.READY,
        is_unloaded=model.is_unloaded,
        cost_bytes=model.cost_bytes,
        in_flight=model.in_flight,
        success=counters.success.count + as_step.took.count,
        success_ns=counters.success.total_ns + as_step.took.total_ns,
        compute_input_ns=counters.compute_input.total_ns,
        queue_ns=counters.queue.total_ns + as_step.queue.total_ns,
        compute_infer_ns=counters.compute_infer.total_ns + as_step.compute_infer.total_ns,
        compute_output_ns=counters.compute_output.total_ns,
        computed=counters.computed + as_step.inferences,
        cache_hits=counters.cache_hit.count,
        cache_hit_ns=counters.cache_hit.total_ns,
        cache_misses=counters.cache_miss.count,
        cache_miss_ns=counters.cache_miss.total_ns,
        calls=model.calls,
        step_calls=as_step.calls,
        batches={size: calls for size, (calls, _) in model.batches.items()},
        trouble=model.trouble,
        times=model.times,
    )
