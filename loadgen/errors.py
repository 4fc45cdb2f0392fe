"""Every error that the load generator raises on purpose.

::

    LoadgenError
    ├── TargetError     the server cannot be reached, or does not know the model
    ├── PayloadError    the inputs cannot be made, or do not fit the model
    ├── BadOptionError  what was asked for makes no sense
    ├── ResultError     a file is no result of ours, or cannot be used so
    └── ClientError     one query failed; its kind is what the statistics count
"""


class LoadgenError(Exception):
    """Base of every error that a caller may want to catch."""


class TargetError(LoadgenError):
    """The server cannot be reached, or does not know the model."""


class PayloadError(LoadgenError, ValueError):
    """The inputs of the queries cannot be made, or do not fit the model."""


class BadOptionError(LoadgenError):
    """What was asked for makes no sense."""


class ResultError(LoadgenError):
    """A file is no result of ours, or not one that can be used so."""


class ClientError(LoadgenError):
    """One query failed.

    Parameters
    ----------
    kind : str
        What errors are counted by, for example ``RESOURCE_EXHAUSTED``. Not empty.
    message : str
        Details of this one failure.
    """

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message
