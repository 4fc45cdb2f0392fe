"""The instruction set by which tables of libraries are told apart."""

from __future__ import annotations

import pytest

from surplus.engine.kernels.conformance.instruction_set import instruction_set, set_of


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ("sse4_1", "sse4"),
        ("sse4_1 avx2", "sse4"),  # without fused products its kernels are others
        ("sse4_1 avx2 fma", "avx2"),
        ("avx2 fma avx_vnni", "avx2-vnni"),
        ("avx2 fma avx512f", "avx2"),
        ("avx2 fma avx512f avx512bw", "avx512"),
        ("avx2 fma avx512f avx512bw avx512_vnni", "avx512-vnni"),
        ("avx512f avx512bw avx512_vnni amx_tile amx_int8 amx_bf16", "amx"),
        ("", "baseline"),
    ],
)
def test_a_processor_has_the_widest_set_whose_flags_it_has(flags: str, name: str) -> None:
    assert set_of(frozenset(flags.split())) == name


def test_this_one_has_one() -> None:
    assert instruction_set()
