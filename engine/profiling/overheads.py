"""What running segments costs beside the times of their operators."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Overheads:
    """Part of a profile, so that another machine's may say other numbers.

    The defaults were measured on two cores of a Xeon at 2.5 GHz, by what each field says; nothing
    measures them anew by itself (docs/PERFORMANCE.md has the fits).

    Parameters
    ----------
    boundary_ns : int
        What starting one segment costs more than running its operators: a session of ONNX Runtime
        on a CPU.
    wide_boundary_ns : int
        The same for a segment of more than one lane: lanes are collected and a thread pool is
        woken. Also keeps noise from making a tiny segment wide.
    tensor_ns : int
        What a tensor costs that a segment of the CPU takes over or hands on: 200 ns in warm caches
        where sessions were repeated alone, 500 to 2,000 within plans.
    cold_segment_ns, cold_operator_ns : int
        What a segment of the CPU and each operator in it take longer where the CPU waits for a GPU
        in between: nothing of them is in the caches then. Least squares over 144 segments of
        Faster R-CNN in place; repeated alone, these took what their operators add up to.
    move_ns, move_bytes_per_us : int
        What a Slice or Concat of a shard of the batch takes: to start, and to move what it makes.
    fixed_ppm : int
        Millionths of an operator's time that are taken not to depend on the number of rows.
    """

    boundary_ns: int = 650
    wide_boundary_ns: int = 20_000
    tensor_ns: int = 500
    cold_segment_ns: int = 15_000
    cold_operator_ns: int = 2_500
    move_ns: int = 1_000
    move_bytes_per_us: int = 5_000
    fixed_ppm: int = 100_000

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 0:
                raise ValueError(f"{field.name} must be >= 0, got {getattr(self, field.name)}")
        if self.move_bytes_per_us < 1 or self.fixed_ppm > 1_000_000:
            raise ValueError("move_bytes_per_us must be >= 1 and fixed_ppm at most 1,000,000")
