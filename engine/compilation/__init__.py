"""Versions of a model's layers, compiled by TVM ahead of serving; needs the extra ``compiled``.

From operators to layers (``read_layers``), to candidates (``templates``), of which VELTAIR's
Algorithm 1 picks some (``choice``), to a shared library and a manifest (``compile_model``).
"""
