"""Errors of the optimiser. Bad arguments are ValueErrors, as everywhere."""


class SolverUnavailableError(RuntimeError):
    """The solver or the modelling layer is not installed, or has no licence."""
