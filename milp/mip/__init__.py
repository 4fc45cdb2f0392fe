"""The placement problem as a mixed integer linear program, for solvers that read MPS."""
