"""The mixed integer program of a placement problem and the solvers for it."""
