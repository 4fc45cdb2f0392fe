"""The native core: ONNX Runtime behind typed values, and the concurrent scheduler."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

class Value:
    """
    An immutable ONNX value: tensor, sequence, map, or absent optional.

    Element types are numbers of ``onnx.TensorProto.DataType``. Safe to share between threads.
    """

    @staticmethod
    def from_numpy(array: numpy.ndarray, elem_type: int) -> Value:
        """
        Wrap an array, without a copy where it is C-contiguous and aligned.

        Parameters
        ----------
        array
            Kept alive and not to be written to. Types that numpy lacks (bfloat16, float8) come as
            unsigned integers of the same width, strings as an object array of str or bytes.
        elem_type
            The ONNX element type; types below 8 bits go through `from_packed`.

        Raises
        ------
        ValueError
            The array's dtype, byte order included, does not hold that type.
        """

    @staticmethod
    def from_packed(data: numpy.ndarray, elem_type: int, shape: Sequence[int]) -> Value:
        """
        Wrap the raw bytes of a tensor, elements below 8 bits packed low bits first.

        Raises
        ------
        ValueError
            The number of bytes does not fit the shape.
        """

    @staticmethod
    def zeros(elem_type: int, shape: Sequence[int]) -> Value:
        """A tensor of zeros, or of empty strings, made without numpy."""

    @staticmethod
    def sequence(items: Sequence[Value], elem_type: int = 1) -> Value:
        """A sequence of tensors; `elem_type` is what an empty one would hold."""

    @property
    def kind(self) -> str:
        """'tensor', 'sequence', 'map' or 'optional_none'."""

    @property
    def elem_type(self) -> int:
        """ONNX element type of a tensor, 0 for other kinds."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of a tensor; RuntimeError for other kinds."""

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, those of a sequence's items counted."""

    def to_numpy(self) -> numpy.ndarray:
        """
        The tensor as an array over the same memory, which it keeps alive.

        Types that numpy lacks come as unsigned integers of the same width, those below 8 bits as
        their packed bytes in one dimension, strings as an object array of str (a copy).
        """

    def dicts(self) -> list[dict[Any, Any]] | None:
        """The maps of a sequence, or the map itself alone; None for what holds no maps."""

    def arrays(self) -> list[numpy.ndarray] | None:
        """
        The tensors of a sequence, copied; None for what holds none, or what numpy has no type for.

        Small ones share one allocation.
        """

    def zip_rows(self, keys: list[Any], columns: Sequence[int]) -> list[dict[Any, float]]:
        """
        A dict for each row of a tensor of floats: the i-th key and the number in its column.

        Raises
        ------
        ValueError
            The rows have more or fewer columns than there are keys.
        """

    def items(self) -> list[Value]:
        """The tensors of a sequence; of a map [keys, values]."""

class StatusError(RuntimeError):
    """An error of ONNX Runtime; `code` is its OrtErrorCode, or 0 where it did not say."""

def open_plugin(name: str, library_path: str) -> list[dict[str, Any]]:
    """
    Register a plugin provider's library with ONNX Runtime, once per process.

    Returns
    -------
    list of dict
        Of each processor that it drives: ``provider``, ``kind`` (CPU, GPU or NPU), ``vendor``,
        ``vendor_id``, ``device_id`` and ``facts``, the provider's own as text. Empty where it finds
        none.

    Raises
    ------
    RuntimeError
        ONNX Runtime's reason why the library does not register, or the name is taken by another.
    """

def close_plugins() -> None:
    """
    End the providers' threads, and unregister those that no session uses any more.

    For the end of the process, when all machines are closed: nothing can be opened afterwards.
    """

def open_runtime(library_path: str) -> None:
    """
    Load ONNX Runtime, once per process: env, shared CPU arena, telemetry off.

    Parameters
    ----------
    library_path
        Path of ``libonnxruntime.so.*``; the same path again does nothing.

    Raises
    ------
    RuntimeError
        The library is missing or too old, or another one is already open.
    """

def add_custom_operators(library_path: str) -> None:
    """
    Have every session that is made from now on know the operators of a library.

    Again, nothing happens. The library stays open until the process ends.

    Raises
    ------
    RuntimeError
        ONNX Runtime's reason why it is no such library; nothing has changed.
    """

def custom_operators() -> list[str]:
    """Paths of those libraries, in their order."""

def runtime_version() -> str:
    """Version of the open library, as '1.31.1'."""

def wide_sessions() -> dict[str, int]:
    """
    The sessions of plans that are wider than one lane, and their threads.

    ``sessions`` of them are open; pools of their own have ``own_threads`` threads beside the
    callers, and the pool that the others share runs ``shared_threads``.
    """

def expect_wide_sessions(sessions: int, width: int) -> None:
    """
    So many sessions are about to be opened; replaces what was said before.

    Where these are many, they are opened on the shared pool and need not move there later.
    """

class Session:
    """
    One ONNX Runtime session outside any plan: profiling, reference, calibration.

    Safe to use from several threads at once.
    """

    def __init__(
        self,
        model: str | bytes,
        width: int = 1,
        level: str = "all",
        config: Mapping[str, str] = ...,
        optimized_path: str = "",
        when_read: Callable[[], object] | None = None,
    ) -> None:
        """
        Load and optimise a model.

        Parameters
        ----------
        model
            Path, or the model's bytes.
        width
            Threads inside an operator; 1 creates no thread pool.
        level
            "disable_all", "basic", "extended" or "all".
        config
            ONNX Runtime's session configuration entries.
        optimized_path
            Where to save the optimised model, if not empty.
        when_read
            Called when the file is read, before it is optimised, which runs kernels of the model;
            what it raises ends the opening. Not for bytes.

        Raises
        ------
        RuntimeError
            ONNX Runtime's reason why the model cannot be loaded.
        ValueError
            A bad width or level.
        """

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs, in the model's order."""

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs, in the model's order."""

    @property
    def input_info(self) -> list[tuple[str, str, int, list[int | str] | None]]:
        """
        Of each input: name, kind, element type, shape.

        The kind is "tensor", "sequence", "map" or "optional", the element type that of the
        innermost tensor. A dimension is its extent, its symbolic name, or -1; a shape of unknown
        rank is None.
        """

    @property
    def output_info(self) -> list[tuple[str, str, int, list[int | str] | None]]:
        """Of each output, as `input_info`."""

    @property
    def overridable_info(self) -> list[tuple[str, str, int, list[int | str] | None]]:
        """Of each input that has a default, as `input_info`, which has none of them."""

    def run(self, inputs: dict[str, Value | None], outputs: Sequence[str] = ()) -> list[Value]:
        """
        Run once, without the GIL.

        Parameters
        ----------
        inputs
            None stands for an absent optional input.
        outputs
            Names of those wanted, in this order; empty for all.

        Raises
        ------
        RuntimeError
            A name that the model lacks, or ONNX Runtime's reason why the run failed.
        """

    def time(
        self, inputs: dict[str, Value | None], repeats: int, budget_ns: int, warmup: int = 1
    ) -> list[int]:
        """
        Nanoseconds of each of up to `repeats` runs, back to back, without the GIL.

        Freeing the outputs is counted. Stops after `budget_ns`, but runs at least once.
        """

class WholeModel:
    """
    A model that was opened before anything is known of it.

    While it lives, a plan whose one segment is all of it (same file, width, level and config) runs
    on its session.
    """

    def __init__(
        self,
        model: str,
        width: int,
        level: str = "all",
        config: Mapping[str, str] = ...,
        when_read: Callable[[], object] | None = None,
        workers_asleep: bool = False,
    ) -> None:
        """
        Load and optimise a model's file, as `Session` does.

        Parameters
        ----------
        workers_asleep
            Whether the threads of its pool, where it has one of its own, begin with `wake_workers`.
            Until then whoever asks computes alone, with the same bits.
        """

    @property
    def are_workers_asleep(self) -> bool:
        """Whether it has a pool of its own whose threads have not begun yet."""

    def wake_workers(self) -> None:
        """Have the threads of its pool help from now on, in a run that is under way, too."""

    def wake_workers_after(self, ns: int) -> None:
        """Have them woken by a run that takes so long, at its end; 0 for none."""

    @property
    def input_info(self) -> list[tuple[str, str, int, list[int | str] | None]]:
        """As of `Session`."""

    @property
    def output_info(self) -> list[tuple[str, str, int, list[int | str] | None]]:
        """As of `Session`."""

    @property
    def has_defaults(self) -> bool:
        """Whether there are inputs that a query may leave out since the model has a default."""

def thread_effects(path: str) -> tuple[bool, bool]:
    """
    What several threads within an operator would change of a model's answers.

    Whether they write to one place, so that sessions of it have one thread whatever their width,
    and whether each quantises what it gets by itself. Nothing of a file that cannot be read.
    """

def checksum(data: bytes) -> int:
    """XXH64 of some bytes: finds damage, not malice."""

def file_checksum(descriptor: int) -> tuple[int, int]:
    """
    Bytes and XXH64 of an open file from its start on, read without the GIL.

    Raises
    ------
    OSError
        If it cannot be read.
    """

def start_detached(
    arguments: list[bytes], environment: list[bytes], stdin: int, stdout: int
) -> tuple[int, int]:
    """
    Start a program in a session of its own that is no child of this process.

    Parameters
    ----------
    arguments, environment
        The program's path and its arguments; rows of ``NAME=VALUE``.
    stdin, stdout
        Descriptors, which stay the caller's.

    Returns
    -------
    tuple
        Its process id, and a pidfd, which is the caller's to close.

    Raises
    ------
    OSError
        If it cannot be started.
    """

def take_json_numbers(document: bytes, mark: str, least: int) -> tuple[bytes, list[numpy.ndarray]]:
    """
    Take the arrays of numbers out of a JSON document's members "data", without the GIL.

    Those of at least ``least`` numbers and nothing else, nested as a tensor is.

    Parameters
    ----------
    mark
        What no document can hold by accident, without what JSON escapes.

    Returns
    -------
    bytes
        The document; a text, ``mark`` and a place in the list, stands for each array.
    list of array
        Flat; of int64 where all are integers, else of float64.
    """

def json_of(numbers: numpy.ndarray) -> bytes:
    """
    Finite numbers, flat, of float64, int64 or uint64, as a JSON array, without the GIL.

    Raises
    ------
    ValueError
        If they are of another type.
    """

class CudaOptions:
    """What only a device of kind "cuda" has."""

    def __init__(self) -> None: ...
    @property
    def ordinal(self) -> int:
        """CUDA's number of the GPU."""

    @ordinal.setter
    def ordinal(self, arg: int, /) -> None: ...
    @property
    def instance(self) -> int:
        """Of several devices of a machine that are the same GPU."""

    @instance.setter
    def instance(self, arg: int, /) -> None: ...
    @property
    def sms(self) -> int:
        """SMs of a partition of the GPU; 0 is all of it."""

    @sms.setter
    def sms(self, arg: int, /) -> None: ...
    @property
    def allows_tf32(self) -> bool:
        """Whether float32 may be multiplied in TF32, faster and less exact."""

    @allows_tf32.setter
    def allows_tf32(self, arg: bool, /) -> None: ...
    @property
    def tensorrt(self) -> bool:
        """Whether TensorRT comes before ONNX Runtime's own kernels."""

    @tensorrt.setter
    def tensorrt(self, arg: bool, /) -> None: ...
    @property
    def engines(self) -> str:
        """Folder where TensorRT keeps what it compiled; empty: nowhere."""

    @engines.setter
    def engines(self, arg: str, /) -> None: ...
    @property
    def driver(self) -> str:
        """CUDA's driver library; empty: the usual name."""

    @driver.setter
    def driver(self, arg: str, /) -> None: ...
    @property
    def library(self) -> str:
        """CUDA's runtime library; empty: the usual names."""

    @library.setter
    def library(self, arg: str, /) -> None: ...
    @property
    def reserve_bytes(self) -> int:
        """Device memory that is taken at the start."""

    @reserve_bytes.setter
    def reserve_bytes(self, arg: int, /) -> None: ...
    @property
    def staging_bytes(self) -> int:
        """Pinned host memory for copies."""

    @staging_bytes.setter
    def staging_bytes(self, arg: int, /) -> None: ...
    @property
    def queue_depth(self) -> int:
        """Most submissions in a stream at a time."""

    @queue_depth.setter
    def queue_depth(self, arg: int, /) -> None: ...
    @property
    def lanes_at_once(self) -> int:
        """On how many lanes a segment is opened with its plan; on others when queries overlap."""

    @lanes_at_once.setter
    def lanes_at_once(self, arg: int, /) -> None: ...
    @property
    def lane_threads(self) -> bool:
        """Whether each of several lanes has a thread for submissions that take long."""

    @lane_threads.setter
    def lane_threads(self, arg: bool, /) -> None: ...
    @property
    def resets_when_lost(self) -> bool:
        """Whether closing a lost device resets CUDA, so that the GPU can be opened again."""

    @resets_when_lost.setter
    def resets_when_lost(self, arg: bool, /) -> None: ...

class EmulatedOptions:
    """What only a device of kind "emulated" has."""

    def __init__(self) -> None: ...
    @property
    def replay(self) -> bool: ...
    @replay.setter
    def replay(self, arg: bool, /) -> None: ...
    @property
    def submit_ns(self) -> int: ...
    @submit_ns.setter
    def submit_ns(self, arg: int, /) -> None: ...
    @property
    def slowdown(self) -> list[float]: ...
    @slowdown.setter
    def slowdown(self, arg: Sequence[float], /) -> None: ...
    @property
    def first_run_ns(self) -> int: ...
    @first_run_ns.setter
    def first_run_ns(self, arg: int, /) -> None: ...
    @property
    def fail_prepare(self) -> bool: ...
    @fail_prepare.setter
    def fail_prepare(self, arg: bool, /) -> None: ...
    @property
    def fail_every(self) -> int: ...
    @fail_every.setter
    def fail_every(self, arg: int, /) -> None: ...
    @property
    def lose_at(self) -> int: ...
    @lose_at.setter
    def lose_at(self, arg: int, /) -> None: ...
    @property
    def capture_ns(self) -> int: ...
    @capture_ns.setter
    def capture_ns(self, arg: int, /) -> None: ...
    @property
    def fail_capture(self) -> bool: ...
    @fail_capture.setter
    def fail_capture(self, arg: bool, /) -> None: ...
    @property
    def h2d_latency_ns(self) -> int: ...
    @h2d_latency_ns.setter
    def h2d_latency_ns(self, arg: int, /) -> None: ...
    @property
    def h2d_bytes_per_s(self) -> float: ...
    @h2d_bytes_per_s.setter
    def h2d_bytes_per_s(self, arg: float, /) -> None: ...
    @property
    def h2d_occupancy_ns(self) -> int: ...
    @h2d_occupancy_ns.setter
    def h2d_occupancy_ns(self, arg: int, /) -> None: ...
    @property
    def d2h_latency_ns(self) -> int: ...
    @d2h_latency_ns.setter
    def d2h_latency_ns(self, arg: int, /) -> None: ...
    @property
    def d2h_bytes_per_s(self) -> float: ...
    @d2h_bytes_per_s.setter
    def d2h_bytes_per_s(self, arg: float, /) -> None: ...
    @property
    def d2h_occupancy_ns(self) -> int: ...
    @d2h_occupancy_ns.setter
    def d2h_occupancy_ns(self, arg: int, /) -> None: ...
    @property
    def staging_bytes(self) -> int: ...
    @staging_bytes.setter
    def staging_bytes(self, arg: int, /) -> None: ...
    @property
    def pageable(self) -> bool: ...
    @pageable.setter
    def pageable(self, arg: bool, /) -> None: ...

class DeviceOptions:
    """One device of a Machine."""

    def __init__(self, kind: str = "cpu", name: str = "cpu", lanes: int = 1) -> None: ...
    @property
    def kind(self) -> str: ...
    @kind.setter
    def kind(self, arg: str, /) -> None: ...
    @property
    def name(self) -> str: ...
    @name.setter
    def name(self, arg: str, /) -> None: ...
    @property
    def lanes(self) -> int: ...
    @lanes.setter
    def lanes(self, arg: int, /) -> None: ...
    @property
    def memory_bytes(self) -> int:
        """0 is unlimited."""

    @memory_bytes.setter
    def memory_bytes(self, arg: int, /) -> None: ...
    @property
    def cuda(self) -> CudaOptions:
        """To be set, of a device of kind "cuda"."""

    @property
    def emulated(self) -> EmulatedOptions:
        """To be set, of a device of kind "emulated"."""

    @property
    def provider(self) -> str:
        """The provider of a device of kind "plugin", as named to open_plugin()."""

    @provider.setter
    def provider(self, arg: str, /) -> None: ...

has_cuda_sessions: bool = True

class Machine:
    """Queues, lanes and threads of the devices of a process."""

    def __init__(
        self, devices: Sequence[DeviceOptions], spin_ns: int = 200000, thread_budget: int = 0
    ) -> None: ...
    def record_until(self, until_ns: int) -> None:
        """
        Record what runs and how queries end, until then on time.monotonic_ns()'s clock.

        It is recorded anyway while a plan is loaded whose queries are due.
        """

    def flights(self, since_ns: int = 0) -> dict[str, Any]:
        """
        What was recorded of nodes and runs that ended since then.

        `nodes` int64 (n, 8): device, kind of lane (0 a lane, 1 a place that is lent to what is
        more urgent, 2 best effort), arrival, plan, node, lane, start, end. Where a lane waited for
        another process: -1 less its number in `processes`, instead of the node.
        `rings` int64 (n, 4): device, kind, records so far, and since when all of a lane's are
        there, 0 where none was lost.
        `plans`, and the last ones that are gone: number, label, is_gone, `recorded` runs and of
        these `late` ones in all, lost_before_ns (0: none was), what its runs are, and `runs`
        int64 (n, 5): arrival, begun, due (0: not), end, outcome (1 ok, 2 failed, 3 cancelled,
        4 deadline.
        """

    def busy_lanes(self) -> list[tuple[int, int, int, int]]:
        """
        Device, kind of lane as in `flights`, lane (-1: all of them) and ns it ran recorded nodes.

        Of all that ever ran while it was recorded; what has not ended is not known yet.
        """

    def nodes_of(self, plan: int) -> list[dict[str, Any]]:
        """Name, is_copy, executor, width, service_ns and after (indices) of its nodes, if known."""

    def close(self, drains: bool = False, limit_ns: int = 0) -> bool:
        """
        Cancels the runs in flight, or first lets them end, and joins all threads.

        Gives up where runs have not ended so long after their cancel (0: never) and returns False.
        Such a machine must never be destroyed.
        """

    @property
    def runs_in_flight(self) -> int:
        """Runs that were started and have not ended, of all plans."""

    @property
    def is_lost(self) -> bool:
        """Whether it is closed or has lost a device."""

    def has_lost(self, devices: int) -> bool:
        """Whether it is closed or has lost one of these devices, a bit each."""

    @property
    def is_stalled(self) -> bool:
        """Whether all lanes of a device are held: queries ended, and their operators go on."""

    def stats(self) -> dict[str, Any]:
        """Per device lanes, executed, queued; live values and bytes, runs in flight."""

def look_at_lanes(now_ns: int) -> bool:
    """
    What a thread of ours does every 20 ms, at any time on the monotonic clock; for tests.

    Ends what is due; returns whether anything was being computed, and nobody else was looking.
    """

def available_cores() -> int:
    """
    Cores that this process may use: affinity, and the container's quota rounded up.

    The tightest quota of the process's control group and of all above it counts.
    """

def refuse_calls() -> None:
    """
    End every other thread that calls something that computes, from now on, by SystemExit.

    At the end of the process: daemon threads that go on would abort it.
    """

def refuses_calls() -> bool:
    """Whether the process ends, and the calling thread is not the one that ends it."""

def await_calls(limit_s: float) -> bool:
    """Wait until no thread computes; whether all ended in time. The others never return."""

def open_kernel_library(name: str, path: str) -> str:
    """
    Load a library of kernels, once per process; returns its version.

    Raises
    ------
    RuntimeError
        It is missing, lacks a function, or is open from another path.
    ValueError
        A name that nobody knows.
    """

def kernel_library_failure(name: str) -> str:
    """Why a library that is open is not used any more; empty while it is."""

def number_pass_ns(values: Sequence[Value], rounds: int) -> float:
    """
    Nanoseconds of the pass over tensors that a query with a library's kernels begins with.

    Raises
    ------
    ValueError
        A number is not finite, or beyond 32 bits, where a pass ends early.
    """

class CompiledModel:
    """A segment compiled by a library of kernels."""

    def run(self, inputs: Sequence[Value]) -> list[Value]:
        """Run once; RuntimeError if the library fails or does not take the inputs."""

    def export_to(self, path: str) -> None:
        """Write what `KernelChoice` takes as `compiled`."""

    def operator_times(self) -> list[tuple[str, int]]:
        """
        Nanoseconds of each operator on average of the runs so far, by the library's name for it.

        Those that ran within another have none. RuntimeError if it was not compiled to say so.
        """

class KernelChoice:
    """Whose kernels a segment runs with, and for which sizes."""

    def __init__(
        self,
        library: str,
        inputs: Sequence[tuple[int, Sequence[int]]],
        output_types: Sequence[int],
        copies: int = 1,
        compiled: str = "",
        precision: str = "f32",
    ) -> None:
        """
        A library that is open, and what a segment is compiled for.

        Parameters
        ----------
        inputs
            Element type and shape of each input.
        output_types
            Element type of each output.
        copies
            At most so many runs at once.
        compiled
            Path of what `CompiledModel.export_to` wrote of the same; compiled anew without.
        precision
            What it computes in: f32, bf16 or f16.
        """

    def compile(
        self,
        model: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        width: int,
        times_operators: bool = False,
        takes_any_number: bool = False,
    ) -> CompiledModel:
        """
        Compile an ONNX file outside any plan.

        With `takes_any_number` it computes with infinities, NaN and integers beyond 32 bits, too.

        Raises
        ------
        RuntimeError
            Why the library does not take it.
        """

class PlanBuilder:
    """Collects nodes and values; build() checks them."""

    def __init__(self, machine: Machine) -> None: ...
    def add_compiled(
        self,
        name: str,
        device: int,
        library: str,
        symbol: str,
        inputs: Sequence[int],
        outputs: Sequence[tuple[int, int, Sequence[int] | None]],
        constants: Sequence[Value] = (),
        width: int = 1,
        rank: int = 0,
        awaits: Sequence[int] = (),
    ) -> int:
        """
        Add a segment that a function of a shared library computes; returns its node.

        The library exports `symbol` as engine/include/surplus_segment.h says. It reads the values
        `inputs`, then `constants`, and may keep `width` lanes busy. An output is a value of the
        plan, its element type and its shape: -1 where an extent is open, None where nothing is
        known.

        Raises
        ------
        RuntimeError
            Naming library, symbol and segment: what is missing, or of another version.
        ValueError
            A device that is no CPU, or what every node is refused for.
        """

    def add_value(self, name: str) -> int: ...
    def add_session(
        self,
        name: str,
        device: int,
        model: str | bytes,
        inputs: Sequence[tuple[str, int]],
        outputs: Sequence[tuple[str, int]],
        width: int = 1,
        rank: int = 0,
        service_ns: int = 0,
        launch_ns: int = 0,
        captured_ns: int = -1,
        level: str = "all",
        config: Mapping[str, str] = ...,
        kernels: KernelChoice | None = None,
        awaits: Sequence[int] = (),
    ) -> int:
        """Add a segment; returns its node.

        `inputs` and `outputs` pair the model's names with values of the plan; `rank` is the
        planned start order. An emulated device charges `service_ns` and keeps its submitting
        thread for `launch_ns`; if it captures the segment, `captured_ns` (-1: not to be
        captured) and nothing. `kernels`: a library's instead of ONNX Runtime's, on a CPU; what
        that does not take in a query runs with ONNX Runtime's all the same. On a GPU of CUDA:
        the provider that comes first. `awaits`: values that have to be there before it starts,
        although it does not read them.
        """

    def add_copy(
        self,
        name: str,
        source_device: int,
        target_device: int,
        source: int,
        target: int,
        rank: int = 0,
        awaits: Sequence[int] = [],
    ) -> int: ...
    def add_work(
        self,
        name: str,
        device: int,
        after: Sequence[int] = [],
        spin_ns: int = 0,
        fail: bool = False,
        width: int = 1,
        rank: int = 0,
    ) -> int: ...
    def set_inputs(self, values: Sequence[int]) -> None: ...
    def set_outputs(self, values: Sequence[int]) -> None: ...
    def build(self) -> Plan: ...

class WaitingRoom:
    """Where queries of a model wait before lanes get them: `Plan.wait_in`."""

    def __init__(
        self,
        levels: Sequence[tuple[int, int, bool]],
        usual_level: int = 1,
        calls: int = 0,
        most_rows: int = 0,
        preferred_rows: Sequence[int] = [],
        delay_ns: int = 0,
    ) -> None:
        """
        Raise ValueError for rules that cannot be meant.

        Parameters
        ----------
        levels
            The most urgent first: how many may wait, how many nanoseconds each, and whether it then
            goes behind the others instead of being turned away. 0: any number, as long as it takes.
        usual_level
            Of queries that say none, from 1 on.
        calls
            That are computed at once; 0: one a lane.
        most_rows
            Of a batch; 0: as many as gain.
        preferred_rows
            A batch of so many is not held back.
        delay_ns
            How long a query waits for others at most, where its deadline leaves it time to spare.
        """

    @property
    def waiting(self) -> int:
        """Queries that wait there now."""

class CompletionQueue:
    """Finished runs for an event loop."""

    def __init__(self) -> None: ...
    @property
    def fd(self) -> int: ...
    def drain(self) -> list[Run]: ...

class Run:
    """One execution of a plan."""

    @property
    def done(self) -> bool: ...
    @property
    def status(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def error_node(self) -> int: ...
    @property
    def refused_by_ns(self) -> int:
        """By how much a refused run would have been late, or have waited longer than it may."""

    @property
    def error_code(self) -> int:
        """What the kernel's library numbers its error, of ONNX Runtime's an OrtErrorCode; or 0."""

    @property
    def tag(self) -> int: ...
    def wait(self, timeout_s: float = -1.0, help: bool = True) -> bool: ...
    def cancel(self) -> None: ...
    def outputs(self) -> list[Value | None]: ...
    def spans(self) -> NDArray[numpy.int64]:
        """Rows of node, lane (-1: skipped), ready_ns, start_ns, end_ns since submission."""

    @property
    def stacked(self) -> int:
        """With how many runs a traced one was answered by one call, its own included."""

    @property
    def submitted_ns(self) -> int:
        """When a traced run was submitted, on time.monotonic_ns()'s clock; 0 if not traced."""

class FairShare:
    """What the plans of one model were given of the lanes."""

    def __init__(self) -> None: ...

class Plan:
    """Immutable; many runs at once."""

    @property
    def node_names(self) -> list[str]: ...
    @property
    def captured_nodes(self) -> list[int]:
        """Nodes that their device takes as one captured graph."""

    @property
    def devices(self) -> int:
        """The devices of the machine that it has nodes on, a bit each."""

    @property
    def uncaptured(self) -> dict[int, str]:
        """Nodes that were to be captured and could not, and why."""

    @property
    def dropped_kernels(self) -> list[str]:
        """Nodes that go on without their library's kernels, as most queries had other sizes."""

    @property
    def held_nodes(self) -> list[str]:
        """Names of those that still hold their lanes 30 s after their queries ended."""

    def limit_time(self, limit_ns: int) -> None:
        """
        End runs whose kernels take longer, between the first and the last; 0 is no limit.

        Their status is then "deadline". An operator that does not end by itself cannot be ended.
        """

    @property
    def number(self) -> int:
        """Unique in the process; `Machine.flights` names plans by it."""

    def be_called(self, label: str, serves: bool = True) -> None:
        """What people know its model by, and whether its runs count as queries of that."""

    def be_urgent(
        self, due_after_ns: int = 0, priority: int = 0, best_effort: bool = False
    ) -> None:
        """
        What runs are from now on where they do not say it themselves.

        Parameters
        ----------
        due_after_ns
            From submission on; 0: they are not due. Nothing ends when it has passed.
        priority
            The higher goes first.
        best_effort
            Behind all that is not.
        """

    def share_with(self, share: FairShare) -> None:
        """Be of the model that this share is of; before the first run."""

    def weigh(self, weight: float) -> None:
        """
        Its model's, of 0.01 to 100: twice the weight gets twice the lanes' time, among runs of
        one priority that are not due.
        """

    def be_measured(self) -> None:
        """Learn from now on how long its nodes take: those of 20 us, or of unknown length."""

    @property
    def work_ns(self) -> int:
        """What a run is expected to take of all lanes; 0 if nothing is known."""

    def admit_by(self, refuses_late: bool = False, max_wait_ns: int = 0) -> None:
        """
        Refuse runs from now on; their status is then "refused", before they were queued.

        Parameters
        ----------
        refuses_late
            Those that are due and cannot be in time, nor without making a promised one late.
        max_wait_ns
            Those that are not due and would wait for longer; 0: none.
        """

    def foresee(
        self,
        deadline_ns: int = 0,
        priority: int | None = None,
        due_ns: int = 0,
        best_effort: bool | None = None,
    ) -> tuple[int, str]:
        """
        Whether a run that was submitted now would be refused, as far as can be told.

        By how much it would be late, or wait for too long, and words for it; 0 where it would not.
        One that would be refused counts as such: it must not be submitted.
        """

    @property
    def urgency(self) -> tuple[int, int, bool]:
        """What `be_urgent` said: nanoseconds, priority, best effort."""

    def stack(
        self,
        inputs: Sequence[tuple[int, Sequence[int]]],
        takes_ns: Sequence[int],
        least_rows: int = 1,
    ) -> None:
        """
        Answer runs that wait for a lane at the same time together, from now on.

        Parameters
        ----------
        inputs
            Element type, and extents behind the leading one, of each value that the node reads.
        takes_ns
            What a call takes for 1, 2, ... rows, which are no more than that. None: no longer.
        least_rows
            A run of fewer is answered alone.
        """

    def wait_in(self, room: WaitingRoom) -> None:
        """Where runs that begin from now on wait before lanes get them."""

    @property
    def stacks(self) -> tuple[int, int]:
        """How many calls answered several runs, and how many runs."""

    @property
    def stack_sizes(self) -> dict[int, tuple[int, int]]:
        """By how many runs a call answered: such calls, and what they took in nanoseconds."""

    def submit(
        self,
        inputs: Sequence[Value | None],
        deadline_ns: int = 0,
        priority: int | None = None,
        traced: bool = False,
        completions: CompletionQueue | None = None,
        tag: int = 0,
        due_ns: int = 0,
        best_effort: bool | None = None,
    ) -> Run:
        """Start a run; never blocks on lanes.

        `deadline_ns` is on the monotonic clock (time.monotonic_ns), 0 for none: the run ends when
        it passes. `due_ns` is, too, and a run that is late goes on, behind those that may be in
        time. What is not said is as `be_urgent` has it.
        """

    def execute(
        self,
        inputs: Sequence[Value | None],
        timeout_s: float = -1.0,
        traced: bool = False,
        due_ns: int = 0,
    ) -> Run:
        """Runs in the calling thread and on idle lanes; the run that it returns is done."""

    def run(self, inputs: Sequence[Value | None], timeout_s: float = -1.0) -> list[Value | None]:
        """Submit, help, and return the outputs."""

class QueryLink:
    """A line to what answers queries elsewhere."""

    @property
    def fd(self) -> int: ...
    def pump(self) -> bool:
        """Hear of answers, where no front end does; False once nothing comes any more."""

    @property
    def is_gone(self) -> bool: ...
    @property
    def in_flight(self) -> int: ...
    def submit(self, content: bytes, deadline_ns: int, number: int) -> int | None:
        """
        Send a ModelInferRequest; returns its tag, or None if there is nobody to answer it.

        Raises MemoryError where there is no room for it.
        """

    def cancel(self, tag: int) -> None: ...
    @property
    def answers_fd(self) -> int: ...
    def take_answers(self) -> list[tuple[int, int, str, bytes]]:
        """
        Answers to what was submitted here, since the last call.

        Number, gRPC's status, "late" or "queue" where it was refused for that, a ModelInferResponse
        or why there is none.
        """

class WorkerLink(QueryLink):
    """A line to a process that runs models."""

    def __init__(self, memory_bytes: int) -> None:
        """Memory of requests in flight, and as much of answers, is taken as it is used."""

    def take_ends(self) -> tuple[int, int, int]:
        """Descriptors for the worker, once: they are the caller's."""

class Replicas(QueryLink):
    """Servers that answer queries, balanced; thread-safe."""

    def __init__(
        self,
        most_message_bytes: int,
        authorization: str = "",
        most_failures: int = 3,
        eject_ns: int = 1000000000,
        most_eject_ns: int = 30000000000,
        unheard_ms: int = 5000,
        tls_ca: str = "",
        tls_certificate: str = "",
        tls_key: str = "",
    ) -> None:
        """
        Parameters
        ----------
        most_message_bytes
            Of an answer.
        authorization
            Header that servers are shown; empty: none.
        most_failures, eject_ns, most_eject_ns
            As of surplus.routing's Balancer.
        unheard_ms
            A server that says nothing for so long, where queries wait, is lost.
        tls_ca, tls_certificate, tls_key
            PEM files: authorities of servers that are asked over TLS, and what is shown to them.

        Raises RuntimeError naming a file that does not do.
        """

    def set_replicas(self, model: str, replicas: Sequence[tuple[str, str, float]]) -> None:
        """
        Who has a model from now on: host:port of gRPC, of REST or an empty text, and queries of

        others known there. Where all are known by REST, its queries are passed on as bytes.

        Raises ValueError naming what is no address; looks hosts up, which may block.
        """

    def counts(self) -> list[tuple[str, int, int, int, int, int, int, bool]]:
        """
        Of every server: address, queries sent, answered, failed, sent there as another try,

        how often it was ejected, queries in flight, whether it is ejected now.
        """

    def reached(self) -> list[str]:
        """Addresses of those that can be reached now."""

class Access:
    """Who may do what, by tokens and clients' certificates."""

    def __init__(
        self,
        rights: Sequence[str],
        open: int,
        grants: Sequence[tuple[str, bytes, str, int, Sequence[str], int]],
    ) -> None:
        """
        Grants are (name, digest, certificate, rights, models, end); rights are bits.

        Raises RuntimeError where there are digests and no OpenSSL.

        Parameters
        ----------
        open
            What anybody may.
        grants
            Digests are SHA-256 of tokens, empty without one; the end is in seconds of Unix time,
            0: never.
        """

    def check(
        self, right: int, authorization: str, certificate_names: Sequence[str], model: str | None
    ) -> tuple[int, str]:
        """
        A status of gRPC, and why it is not 0.

        Parameters
        ----------
        model
            What it is about; empty: all models; None: none, or it is not known yet.
        """

class AnswerKey:
    """What two queries have in common that have the same answer."""

    def __init__(
        self,
        load: int,
        inputs: Sequence[tuple[str, str, Sequence[int], object]],
        outputs: Sequence[str],
    ) -> None:
        """
        The key of a query of a load of a model, whatever the order of inputs and outputs.

        Tensors are (name, datatype, shape, raw content); contents are not copied, and not to be
        written to.
        """

class AnswerCache:
    """
    The answers that were asked for last, as many as there is room for.

    Of all models, those that the front end has computed among them. Thread-safe.
    """

    def __init__(self, most_bytes: int) -> None:
        """`most_bytes`: what all of them may take."""

    def begin(self, load: int) -> None:
        """Keep answers of that load of a model from now on."""

    def end(self, load: int) -> None:
        """Forget them, and keep no further one."""

    def find(self, key: AnswerKey) -> list[tuple[str, str, list[int], NDArray[numpy.uint8]]] | None:
        """The answer to that query, which counts as asked for now: tensors as of a key."""

    def keep(
        self, key: AnswerKey, answer: Sequence[tuple[str, str, Sequence[int], object]]
    ) -> None:
        """
        Keep a copy of all outputs that the key is of, unless one is there.

        Those go for it that were not asked for longest; one that there could not be room for is
        not kept.
        """

    def __len__(self) -> int: ...
    @property
    def held_bytes(self) -> int:
        """What they take, as it is counted."""

class QueryTimes:
    """
    Histograms of how long queries took that were answered well.

    One thread at a time adds, any reads.
    """

    def __init__(self) -> None: ...
    def add(self, whole_ns: int, executing_ns: int, waited_ns: int) -> None:
        """`waited_ns`: of `executing_ns`, for a lane; negative: as the last one."""

    def rows(self) -> list[tuple[list[int], int]]:
        """Of the whole, the queue and the computation: counts by bucket, and nanoseconds in all."""

    @staticmethod
    def bounds_us() -> list[int]:
        """Upper bounds of the buckets, in microseconds; the last bucket has none."""

class FrontTally:
    """What the front end counts of a version of a model, from one load of it to the next."""

    def __init__(self) -> None: ...
    def times(self) -> list[tuple[list[int], int]]:
        """As `QueryTimes.rows`, of the queries that were answered there."""

    def trouble(self) -> list[int]:
        """
        How many queries, by why they were not answered or not in time.

        Late, refused, queue full, memory, deadline, cancelled, shutdown, input, failed.
        """

class Route:
    """Which plan answers a model's next query, for the front end."""

    def __init__(self) -> None: ...
    def lead(
        self,
        plan: Plan,
        busy: Sequence[Plan] = [],
        found: int = 0,
        always: bool = False,
        by_neighbours: bool = False,
        who: int = 0,
        is_bounded: bool = False,
    ) -> None:
        """
        Lead queries so from now on.

        Parameters
        ----------
        busy
            The plans for while queries overlap, in turn; where one is wanted and none is there,
            Python is asked.
        found
            It is wanted where a query finds so many in flight; 0: not for that.
        always
            It is wanted for all.
        by_neighbours
            It is wanted while queries of other models come.
        who
            For which queries count, for other models; 0: for none.
        is_bounded
            The sizes of the inputs alone decide how long a query runs.
        """

    def close(self) -> None:
        """Lead none from now on: Python answers."""

class FrontModel:
    """A model that was offered to a front end."""

    @property
    def in_flight(self) -> int: ...
    @property
    def last_ns(self) -> int:
        """When the last query was answered well, monotonic; 0: none was."""

    def take_counts(self) -> list[tuple[int, int]]:
        """
        Counts and nanoseconds since the last call, by kind.

        Success, fail, refused, compute input, queue (of some queries), executing, compute output,
        cache hit, cache miss.
        """

class TlsContext:
    """A server's certificates, as their files were."""

    def __init__(self, certificate: str, key: str, client_ca: str = "") -> None:
        """
        Read PEM files; with `client_ca` who connects needs a certificate of its authorities.

        Raises RuntimeError without OpenSSL, and naming a file that does not do.
        """

    @staticmethod
    def check() -> str:
        """The library's name; raises RuntimeError saying why it cannot be opened."""

class RecentQueries:
    """
    The last queries that ended in a front end.

    A row is model, version, id and trace parent as the client gave them, plan (0: of another
    process) and arrival of its run, when it was received, started, ended and answered, what it
    waited for a lane (-1: not known), and its place in `FrontTally.trouble` (-1: in time).
    """

    def all(self) -> list[tuple[str, str, str, str, int, int, int, int, int, int, int, int]]:
        """1024 of them at most, the oldest first."""

    def sample(self, every: int, follows: bool) -> None:
        """Keep one query of so many, 0 none; with `follows` those of sampled traces, too."""

    def take_sampled(
        self,
    ) -> list[tuple[str, str, str, str, int, int, int, int, int, int, int, int]]:
        """Those that were kept since the last call, 1024 at most."""

class Frontend:
    """A thread that speaks gRPC and REST, and answers without Python."""

    def __init__(
        self,
        listeners: Sequence[tuple[int, str]],
        regions: SharedMemory,
        most_connections: int,
        most_streams: int,
        most_message_bytes: int,
        idle_ns: int,
        body_ns: int,
        tls: TlsContext | None = None,
        most_of_a_client: int = 0,
        handshake_ns: int = 5000000000,
        server: tuple[int, int, int] | None = None,
    ) -> None:
        """
        Serve sockets that listen, which are the front end's from now on.

        Each with what is spoken over its connections: grpc, rest, or either.

        Parameters
        ----------
        server
            Ends of a WorkerLink: answer its queries. The socket is the front end's.
        """

    def offer(
        self,
        name: str,
        version: str,
        inputs: Sequence[tuple[str, str, int, Sequence[int] | None]],
        outputs: Sequence[tuple[str, str, int, Sequence[int] | None]],
        route: Route | None,
        most_in_flight: int,
        worker: QueryLink | None = None,
        tally: FrontTally | None = None,
        answers: AnswerCache | None = None,
        load: int = 0,
    ) -> FrontModel:
        """
        Answer queries of a model; ports are (name, datatype, element type, extents or None).

        In the place of the one that is there, and counted in the same tally as that, if it is
        given. Without a route Python is asked, unless there is a worker, which is. Answers of
        that load are kept in `answers`, if it is given.
        """

    def withdraw(self, name: str, version: str) -> None:
        """Python is asked from now on."""

    def watch(self, worker: QueryLink) -> None:
        """Hear of its answers from now on, until it is gone."""

    def tell_readiness(
        self, name: str, version: str, is_ready: bool, is_unloaded: bool, route: Route | None = None
    ) -> None:
        """
        What health checks are told of a model from now on.

        While its route's devices are lost or held, Python is asked instead.
        """

    def open_readiness(self) -> None:
        """Answer health checks from now on: all models have been told of."""

    def renew(self, tls: TlsContext) -> None:
        """Show these certificates to who connects from now on."""

    def set_access(self, access: Access) -> None:
        """Ask it who may do what, from now on."""

    def leave(self) -> None:
        """Be ready no more, and answer queries all the same."""

    @staticmethod
    def check() -> str:
        """Where libnghttp2 is; raises RuntimeError saying why it cannot be opened."""

    @staticmethod
    def rest_missing() -> str:
        """Why REST cannot be spoken here; empty if it can."""

    def observe(self, wanted: bool) -> None:
        """Whether to count durations by buckets and remember queries; at first it does."""

    @property
    def recent(self) -> RecentQueries:
        """What ended here lately."""

    @property
    def event_fd(self) -> int: ...
    def take_events(
        self, most: int
    ) -> list[
        tuple[
            int,
            int,
            int,
            str,
            str,
            bytes | None,
            bool,
            int,
            tuple[str, list[tuple[str, str]]] | None,
            tuple[str, list[str]] | None,
            str,
        ]
    ]:
        """
        What came for Python since the last call, in its order; the first `most` of it.

        Kind (0 call, 1 message, 2 end, 3 item, 4 failed, 5 item failed, 6 gone, 7 request of
        REST), token of the call, number of the item, path (or why it failed), encoding (or the
        query's id), content, whether that is compressed, by when it is due (0: no limit), of a
        request its method and fields, of what begins who asks (header of authorization, names of
        the certificate that was shown), of a call or an item its trace parent.
        """

    def send(self, token: int, message: bytes) -> None: ...
    def end(self, token: int, status: int = 0, why: str = "") -> None: ...
    def answer_item(self, token: int, number: int, message: bytes) -> None: ...
    def answer(self, token: int, status: int, fields: str, body: bytes) -> None:
        """Answer a request of REST; fields of the head are lines with their ends."""

    def drain(self) -> None:
        """Answer no further query: Python is asked."""

    def abandon(self) -> None:
        """Cancel what is in flight."""

    def end_receipts(self) -> None:
        """End calls of whose message some has come, and not all."""

    @property
    def in_flight(self) -> int: ...
    def stop(self, grace_s: float) -> None:
        """Accept no more, write what is answered for up to that long, and end."""

class Recording:
    """What a finished traced run recorded, without its outputs."""

    def __init__(self, run: Run, moments: Sequence[int]) -> None: ...
    def spans(self) -> NDArray[numpy.int64]:
        """As Run.spans."""

    @property
    def stacked(self) -> int:
        """As Run.stacked."""

    @property
    def submitted_ns(self) -> int:
        """As Run.submitted_ns."""

    @property
    def moments(self) -> list[int]:
        """When the caller did what (CallTimes), on time.monotonic_ns()'s clock."""

    @property
    def done(self) -> bool: ...

class Query:
    """Arrays in, arrays out, for models of plain tensors."""

    def __init__(
        self,
        plan: Plan,
        array_type: type,
        inputs: Sequence[tuple[str, int, Sequence[int] | None]],
        outputs: Sequence[str],
        convert: Callable[[Value], object],
        zips: Mapping[int, tuple[list[Any], Sequence[int]]] = {},
    ) -> None:
        """
        `inputs` are (name, element type, extents) with -1 for any extent.

        All inputs, and outputs that are tensors, are of types that numpy has, or strings; `convert`
        makes Python's objects of other outputs. Rows of `zips` become dicts: by output, keys and
        their columns.
        """

    def answer(
        self, inputs: dict[str, numpy.ndarray], due_ns: int = 0
    ) -> dict[str, numpy.ndarray] | Run | None:
        """
        Outputs by name; the run where it failed; None where an input is not plain.

        Plain is an array of exactly `array_type` that is C-contiguous, aligned, and of the right
        element type and shape. What is not plain needs the careful path, which also says why.
        """

    def answer_traced(
        self, inputs: dict[str, numpy.ndarray], due_ns: int = 0
    ) -> tuple[dict[str, numpy.ndarray], Recording] | Run | None:
        """As answer, of a traced run, with what it recorded."""

    def submit(
        self,
        inputs: dict[str, numpy.ndarray],
        deadline_ns: int = 0,
        priority: int | None = None,
        due_ns: int = 0,
        best_effort: bool | None = None,
    ) -> Run | None:
        """
        Plan.submit of plain arrays; None where an input is not plain.

        What its owner can change is copied, a read-only array is read in place.
        """

    def outputs(self, run: Run) -> dict[str, numpy.ndarray]:
        """Outputs by name of a run that ended well, of any plan of the same model."""

def limit_calls(deadline_ns: int) -> int:
    """
    End what this thread runs, here or in plans, when that moment has passed.

    It is on time.monotonic_ns()'s clock; 0 is no limit. Returns what held before.
    """

class MemoryAccount:
    """
    How much memory the queries of a process hold, and how much they may.

    Thread-safe, and never blocks.
    """

    def __init__(self, limit_bytes: int = 0) -> None:
        """A limit of 0 is none."""

    def try_take(self, bytes: int) -> bool:
        """Take so many bytes; False, and nothing taken, where all would exceed the limit."""

    def give(self, bytes: int) -> None:
        """Give back what was taken."""

    @property
    def limit_bytes(self) -> int:
        """What may be held in all; 0 is no limit."""

    @limit_bytes.setter
    def limit_bytes(self, arg: int, /) -> None: ...
    @property
    def others_bytes(self) -> int:
        """What the process holds that nobody takes here, as it was measured last."""

    @others_bytes.setter
    def others_bytes(self, arg: int, /) -> None: ...
    @property
    def held_bytes(self) -> int:
        """What is taken now."""

    @property
    def refused(self) -> int:
        """How often something was refused."""

MEMORY_REFUSED: int = 1000

def process_memory() -> MemoryAccount:
    """
    The account that operators' tensors above 64 KiB count in; without a limit at first.

    A query that would exceed it fails, and ``Run.error_code`` is ``MEMORY_REFUSED``.
    """

def give_back_free_memory() -> None:
    """
    Give what no query uses of our own and of ONNX Runtime's memory back to the system.

    Raises
    ------
    RuntimeError
        If ONNX Runtime is not loaded.
    """

def taken_first(lanes: int, taken: Sequence[int], rows: NDArray[numpy.int64]) -> list[int]:
    """
    For tests: in which order one lane takes the nodes of each state from the core's queue.

    Parameters
    ----------
    lanes : int
        Of the device, of which one is free for the taker; others that are not taken are free, too.
    taken : list of int
        In how many and a half minutes each of the taken lanes is predicted to come free.
    rows : array of int64, shape (nodes, 8)
        State, ascending; priority; best effort; whether it is due; in how many and a half
        minutes; minutes that each of its two nodes takes; width; whether the first one has run.
        In a state earlier rows came earlier.

    Returns
    -------
    list of int
        For each state the rows' places in it as they are taken, then -1.
    """

def lent_lanes(rows: NDArray[numpy.int64], now_ns: int) -> list[int]:
    """
    For tests: which of each state's computing lanes the core would lend, -1 for none.

    Parameters
    ----------
    rows : array of int64, shape (runs, 7)
        State, ascending; priority; best effort; whether it is due; due_ns; arrival; predicted
        end_ns. A state's first row is of the run that waits, the others of what lanes compute.
    """

class AskedModels:
    """Who was asked lately, of models that are due."""

    def __init__(self, lately_ns: int = 1000000000) -> None:
        """How long queries of others count."""

    @staticmethod
    def of_process() -> AskedModels: ...
    def asked(self, who: int, now_ns: int, elsewhere_ns: int) -> bool:
        """
        A query of a model came; whether one of another came lately.

        `who` is any number that tells models apart, `elsewhere_ns` when one came to another
        process.
        """

    def take_news(self) -> bool:
        """Whether other processes came, as asked() was told, since the last call."""

def join_broker(path: str, name: str) -> None:
    """
    Share the cores with the other processes that have joined this file, made where it is not.

    `name` is shown to them. Again: says anew which CPUs this process may use. Raises RuntimeError
    naming the file and why it cannot be used.
    """

def has_joined_broker() -> bool: ...
def is_sharing_cores() -> bool:
    """Whether other processes have joined."""

def leases() -> list[dict[str, Any]]:
    """
    What computes now, or waits for its turn, in all processes that have joined.

    Times are on time.monotonic_ns()'s clock: when it began, when it will end, as predicted, when it
    is due (0: it is not). What dead processes left is freed before.
    """

def asked_elsewhere(now_ns: int) -> int:
    """
    Say that a query that is due came; when one came to another process last.

    1: none did, but one may; 0: no other process expects any.
    """

def expect_asked() -> int:
    """Say that queries that are due may come; the same of other processes, as asked_elsewhere()."""

class RegionError(RuntimeError):
    """A region of shared memory cannot be had or used.

    `fault` says why: unknown, exists, invalid, unreachable, shrunk or too_many.
    """

    fault: str

def use_cuda_of(runtime: str, driver: str = "") -> None:
    """Look for CUDA's functions there, for regions of GPUs; by the usual names where empty."""

class SharedMemory:
    """
    Regions of POSIX shared memory by the names that clients gave them.

    Thread-safe. Nothing is mapped: a region that its maker truncates fails the queries that use it,
    and nothing else. All methods raise RegionError.
    """

    def __init__(self, most: int = 512) -> None: ...
    def register(self, name: str, key: str, offset: int, byte_size: int) -> None:
        """Open the memory of a key of shm_open(3), of which a part is the region."""

    def unregister(self, name: str, of_gpu: bool = False) -> None:
        """Forget a region; nothing if there is none."""

    def register_of_gpu(self, name: str, handle: bytes, gpu: int, byte_size: int) -> None:
        """Open memory of a GPU by what cudaIpcGetMemHandle gave its process."""

    def clear(self, of_gpu: bool = False) -> None:
        """Forget all."""

    def rows(self, of_gpu: bool = False) -> list[dict[str, Any]]:
        """
        Name, key, offset and byte_size of each region, in the order of names.

        Of GPUs' name, device_id and byte_size.
        """

    def find(self, name: str) -> dict[str, Any]:
        """As one of `rows`."""

    def check(self, name: str, offset: int, byte_size: int) -> None:
        """Raise unless these bytes lie within the region."""

    def read(self, name: str, offset: int, byte_size: int) -> bytes:
        """Bytes of a region, read without the GIL."""

    def write(self, name: str, offset: int, data: bytes | memoryview | numpy.ndarray) -> None:
        """Write a contiguous buffer into a region, without the GIL."""
