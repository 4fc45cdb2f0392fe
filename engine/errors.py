"""Every error that the engine raises on purpose.

::

    EngineError
    ├── ModelError            the ONNX file cannot be read, is invalid or unsupported
    ├── InputError            a query's inputs do not fit the model (name, type, shape)
    ├── DeviceError           a device string is wrong, or a device failed
    │   ├── DeviceLostError   a device was lost while a model was loaded, measured or tuned on it
    │   └── LeftBehindError   the process was forked, and the model's threads stayed in its parent
    ├── ProfileError          a profile is missing, malformed or of another model
    │   └── PlanningTimeError the time for planning was over before a model was profiled
    ├── PlacementError        a placement does not fit the model, the devices or memory
    ├── RuntimeLibraryError   ONNX Runtime is missing or too old
    ├── ExecutionError        a segment failed while it ran
    ├── UnknownModelError     no model of that name or version is served
    ├── UnknownQueryError     no such query is among those that are remembered
    ├── UnsupportedError      the protocol has it, and this server does not
    ├── SharedMemoryError     the system does not open, read or write a region of shared memory
    │   ├── UnknownRegionError no region of that name is registered
    │   ├── RegionExistsError one of that name is registered already
    │   └── TooManyRegionsError as many as there may be are registered
    ├── UnauthenticatedError  it is not known who asks: no token, a wrong one, one that has expired
    ├── ForbiddenError        who asks has no right to it
    ├── UnavailableError      the model or the server is not ready, or is shutting down
    │   └── TurnedAwayError   by the model's queue policy: the queue is full, or it waited too long
    ├── QueueFullError        a bounded queue turned the query away
    ├── MemoryLimitError      the query would take more memory than the process may hold
    ├── RefusedError          the query would be late, or wait for too long, as predicted
    ├── CancelledError        the caller cancelled the query
    ├── DeadlineError         the query's deadline passed before it finished
    ├── NotCompiledError      an operator that no template of engine/compilation computes
    ├── ConversionError       a torch module has no ONNX form, or one that answers otherwise
    └── ConfigError           a configuration file or option is wrong

No transport codes live here: each face (CLI, gRPC, HTTP) maps the tree once.
"""

import concurrent.futures


class EngineError(Exception):
    """Base of every error that a caller may want to catch."""


class ModelError(EngineError):
    """The ONNX model cannot be read, is invalid, or uses what no device supports."""


class InputError(EngineError, ValueError):
    """A query's inputs do not fit the model; the message names the input."""


class DeviceError(EngineError):
    """A device specification is wrong, or a device failed."""


class DeviceLostError(DeviceError):
    """A device was lost before there was a model to go on with; the message says when and why."""


class LeftBehindError(DeviceError):
    """The process was forked after the model was loaded, whose threads stayed in the parent."""


class ProfileError(EngineError):
    """A profile is missing, malformed, or belongs to another model."""


class PlanningTimeError(ProfileError):
    """The time for planning was over before all operators were profiled."""


class PlacementError(EngineError):
    """A placement does not fit the model, the devices or their memory."""


class RuntimeLibraryError(EngineError):
    """The ONNX Runtime library is missing, too old or lacks a function."""


class ExecutionError(EngineError):
    """A segment failed while it ran; the message names the segment and the cause.

    Attributes
    ----------
    status : int
        What the library of its kernels numbers it, of ONNX Runtime's an ``OrtErrorCode``; or 0.
    """

    status = 0


class UnknownModelError(EngineError, LookupError):
    """No model of that name, or no such version of it, is served."""


class UnknownQueryError(EngineError, LookupError):
    """No query of the last ones is the one that is asked for."""


class UnsupportedError(EngineError):
    """Asked for what the protocol has and this server does not; the message names it."""


class SharedMemoryError(EngineError):
    """The system does not open, read or write a region of shared memory; the message says why."""


class UnknownRegionError(SharedMemoryError, LookupError):
    """No region of shared memory of that name is registered."""


class RegionExistsError(SharedMemoryError):
    """A region of shared memory of that name is registered already."""


class TooManyRegionsError(SharedMemoryError):
    """As many regions of shared memory are registered as there may be."""


class UnauthenticatedError(EngineError):
    """It is not known who asks: there is no token, a wrong one, or one that has expired."""


class ForbiddenError(EngineError):
    """Who asks is known and has no right to it; the message names both."""


class UnavailableError(EngineError):
    """The model or the server is not ready yet, or is shutting down."""


class TurnedAwayError(UnavailableError):
    """The policy of the model's queue ended the query: as with Triton, another server may do."""


class QueueFullError(EngineError):
    """A bounded queue is full and the query was turned away at once."""


class MemoryLimitError(EngineError):
    """The query would take more memory than the process may hold at the moment."""


class RefusedError(EngineError):
    """The query would be late, or wait for too long, as predicted, and was turned away at once.

    One that was admitted, and then could not be in time any more, ends with it, too.

    Attributes
    ----------
    by_ns : int
        How late it would have been, or by how much it would have waited longer than it may.
    """

    def __init__(self, message: str, by_ns: int = 0) -> None:
        super().__init__(message)
        self.by_ns = by_ns


class CancelledError(EngineError, concurrent.futures.CancelledError):
    """The caller cancelled the query."""


class DeadlineError(EngineError, TimeoutError):
    """The query's deadline passed before it finished."""


class NotCompiledError(EngineError):
    """An operator that no template computes; the message says which, and why."""


class ConversionError(EngineError):
    """A torch module cannot be made into an ONNX model, or into one that answers otherwise."""


class ConfigError(EngineError, ValueError):
    """A configuration file, option or environment value is wrong."""


def one_line(error: BaseException, most: int | None = None) -> str:
    """What an error says, without its line breaks and cut at ``most`` characters; else its type.

    ONNX Runtime, torch and the system write messages of many lines, which logs and the commands'
    one line of error must not.
    """
    text = " ".join(str(error).split()) or type(error).__name__
    return text if most is None or len(text) <= most else text[: most - 3] + "..."
