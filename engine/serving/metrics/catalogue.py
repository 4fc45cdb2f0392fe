"""Every metric by name: what docs/how_to/observe.md and the dashboard speak of, and no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]

_MODEL = ("model", "version")
_LANE = ("process", "device", "lane", "kind")
_POLICY = ("policy",)


@dataclass(frozen=True)
class Definition:
    """One metric.

    Parameters
    ----------
    kind : str
        As Prometheus has it.
    labels : tuple of str
        Names of its labels.
    text : str
        What it says, for people.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    text: str


def _triton(name: str, text: str, labels: tuple[str, ...] = _MODEL) -> Definition:
    return Definition(f"nv_inference_{name}", "counter", labels, text)


REQUEST_SUCCESS = _triton("request_success", "Queries answered well")
REQUEST_FAILURE = _triton(
    "request_failure", "Queries that were not answered, by Triton's reasons", (*_MODEL, "reason")
)
INFERENCE_COUNT = _triton(
    "count", "Inferences, a query each, also of ensembles that it is a step of"
)
EXEC_COUNT = _triton(
    "exec_count", "Calls of the model, for these: those that were stacked count once"
)
REQUEST_DURATION = _triton("request_duration_us", "From receipt to the encoded answer, us")
QUEUE_DURATION = _triton("queue_duration_us", "Waits for a lane, us")
COMPUTE_INPUT = _triton("compute_input_duration_us", "Decoding and checks, us")
COMPUTE_INFER = _triton("compute_infer_duration_us", "From the first operator to the outputs, us")
COMPUTE_OUTPUT = _triton("compute_output_duration_us", "Encoding, us")
CACHE_HITS = Definition(
    "nv_cache_num_hits_per_model", "counter", _MODEL, "Queries whose answers had been kept"
)
CACHE_MISSES = Definition(
    "nv_cache_num_misses_per_model", "counter", _MODEL, "Queries whose answers had not"
)
CACHE_HIT_DURATION = Definition(
    "nv_cache_hit_duration_per_model", "counter", _MODEL, "To find answers that had been kept, us"
)
CACHE_MISS_DURATION = Definition(
    "nv_cache_miss_duration_per_model", "counter", _MODEL, "To find none, and to keep it, us"
)
PENDING = Definition(
    "nv_inference_pending_request_count", "gauge", _MODEL, "Queries between admission and answer"
)
CPU_UTILIZATION = Definition(
    "nv_cpu_utilization", "gauge", (), "Of all cores, 0 to 1, since the scrape before"
)
CPU_MEMORY_TOTAL = Definition("nv_cpu_memory_total_bytes", "gauge", (), "The machine's memory")
CPU_MEMORY_USED = Definition(
    "nv_cpu_memory_used_bytes", "gauge", (), "Of it, what is not available any more"
)
GPU_UTILIZATION = Definition("nv_gpu_utilization", "gauge", ("gpu_uuid",), "Of a GPU, 0 to 1")
GPU_MEMORY_TOTAL = Definition("nv_gpu_memory_total_bytes", "gauge", ("gpu_uuid",), "A GPU's memory")
GPU_MEMORY_USED = Definition("nv_gpu_memory_used_bytes", "gauge", ("gpu_uuid",), "Of it, in use")
GPU_POWER = Definition("nv_gpu_power_usage", "gauge", ("gpu_uuid",), "What a GPU draws, W")
GPU_POWER_LIMIT = Definition("nv_gpu_power_limit", "gauge", ("gpu_uuid",), "What it may draw, W")
GPU_ENERGY = Definition(
    "nv_energy_consumption", "counter", ("gpu_uuid",), "What it has drawn since its driver came, J"
)

DURATION = Definition(
    "surplus_request_duration_seconds",
    "histogram",
    _MODEL,
    "Of queries answered well: from receipt to answer",
)
QUEUE = Definition(
    "surplus_queue_duration_seconds", "histogram", _MODEL, "Of these: what they waited for a lane"
)
COMPUTE = Definition(
    "surplus_compute_duration_seconds",
    "histogram",
    _MODEL,
    "Of these: from the first operator to the outputs",
)
BATCH_SIZE = Definition(
    "surplus_batch_size", "histogram", _MODEL, "Queries that one call of the model answered"
)
MISSES = Definition(
    "surplus_deadline_misses_total",
    "counter",
    (*_MODEL, "outcome"),
    "Queries that were due and late: answered all the same, or ended",
)
REFUSALS = Definition(
    "surplus_requests_refused_total",
    "counter",
    (*_MODEL, "reason"),
    "Queries turned away: refused (it would be late, or wait too long), queue_full, memory,"
    " shutdown",
)
READY = Definition(
    "surplus_model_ready",
    "gauge",
    _MODEL,
    "Whether a model is ready, 0 or 1; none of those that somebody asked to be unloaded",
)
MODEL_MEMORY = Definition(
    "surplus_model_memory_bytes",
    "gauge",
    _MODEL,
    "With a budget of memory: what a loaded model takes of it",
)
WORKER_MEMORY = Definition(
    "surplus_worker_resident_bytes",
    "gauge",
    ("worker",),
    "With --isolate: what a process holds that runs models",
)
WORKER_STARTS = Definition(
    "surplus_worker_starts_total",
    "counter",
    ("worker",),
    "How often it was started, with the first",
)
REPLICA_QUERIES = Definition(
    "surplus_replica_queries_total",
    "counter",
    ("replica", "outcome"),
    "Of engine route: queries sent to a server, and those that it answered or not; retried: sent"
    " there after another server had failed",
)
REPLICA_EJECTIONS = Definition(
    "surplus_replica_ejections_total", "counter", ("replica",), "How often a server was ejected"
)
REPLICA_EJECTED = Definition(
    "surplus_replica_ejected", "gauge", ("replica",), "Whether it is ejected now, 0 or 1"
)
REPLICA_PENDING = Definition(
    "surplus_replica_pending_queries", "gauge", ("replica",), "Queries that are in flight there"
)
POLICY_OFFERED = Definition(
    "surplus_policy_offered_queries",
    "gauge",
    _POLICY,
    "Of --policy: queries that came within ten seconds, the last of which nothing can be in time"
    " any more",
)
POLICY_IN_TIME = Definition(
    "surplus_policy_in_time_queries", "gauge", _POLICY, "Of these: answered in time"
)
POLICY_MOST = Definition(
    "surplus_policy_most_in_time_queries",
    "gauge",
    _POLICY,
    "Of these: what any policy could have answered in time at most, by the models' profiles",
)
POLICY_NEED = Definition(
    "surplus_policy_needed_devices",
    "gauge",
    _POLICY,
    "Devices that these hold at least, by the profiles",
)
LANES = Definition(
    "surplus_lanes", "gauge", ("process", "device"), "Lanes of a device: what runs at once"
)
LANE_BUSY = Definition(
    "surplus_lane_busy_seconds_total",
    "counter",
    _LANE,
    "For how long a lane of the server's process, or of a worker's, computed; lane 'all' where it"
    " is not known which, and of a wide segment the first of its lanes. kind: lane, lent (its"
    " place, to what is more urgent), best_effort",
)
MEMORY = Definition(
    "surplus_memory_bytes",
    "gauge",
    ("kind",),
    "What the server holds: queries (requests, tensors, answers), rest (code, models, heaps),"
    " workers (processes of --isolate)",
)
MEMORY_LIMIT = Definition(
    "surplus_memory_limit_bytes", "gauge", (), "What it may hold; 0 is no limit"
)
MEMORY_REFUSALS = Definition(
    "surplus_memory_refusals_total", "counter", (), "How often that was asked for what it had not"
)
BUILD = Definition("surplus_build_info", "gauge", ("version",), "1, for the version's sake")

CATALOGUE: tuple[Definition, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Definition)
)
"""In the order of this file."""

PROCESS: tuple[tuple[str, str], ...] = (
    ("process_virtual_memory_bytes", "gauge"),
    ("process_resident_memory_bytes", "gauge"),
    ("process_start_time_seconds", "gauge"),
    ("process_cpu_seconds_total", "counter"),
    ("process_open_fds", "gauge"),
    ("process_max_fds", "gauge"),
)
"""What prometheus-client says of the server's process, under its standard names."""
