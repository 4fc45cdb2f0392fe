"""Figures of D-STACK (TCC'24) that need no device: knees, utilisations of its example, its ideal.

Knees by equation 6; the three models of Fig. 9 with Table VI's times; the kernel-granular ideal of
section 6.B, whose kernels were not published: here seven kernels of equal length, each model's
shares spread around its knee as stated in ``SPREAD``; a model at its knee waits for the wider ones.
Whole models are served by D-STACK's own planner and dispatcher, at both of its settings.
"""

from __future__ import annotations

from typing import Any

from bench.dstack.compared import AT_KNEE, COMPARED, DSTACK
from bench.dstack.convnets import always_busy, use_and_inferences
from bench.dstack.saturated import saturated_utilisation
from bench.infrastructure import result_file
from surplus.colocation.policies.dstack.kernel_ideal import KernelChain, ideal_schedule
from surplus.colocation.policies.dstack.kernel_model import KernelModel
from surplus.colocation.policies.dstack.knee import knee_by_derivative
from surplus.colocation.policies.dstack.session_plan import Runner, plan_session

MS = 1_000_000
SLOTS_PER_MS = 10
KNEES = {20: 9, 40: 24, 60: 31}
FIG_9 = {"alexnet": (30, 8, 25), "resnet50": (40, 28, 50), "vgg19": (50, 55, 100)}
"""Knee in percent, time of a batch of 16 and target in ms."""
CONVNETS = {"convnet1": (30, 10.3), "convnet2": (40, 14.6), "convnet3": (60, 15.4)}
SPREAD = tuple(1.4 - 0.8 * k / 6 for k in range(7))
"""Shares of the kernels over the model's knee; the paper's kernels were not published."""


def knee_rows() -> list[dict[str, Any]]:
    """Section 4.C: 50 kernels, 40 units a parallel operation, 10 a serial one."""
    rows = []
    for parallelism, paper in KNEES.items():
        model = KernelModel(parallelism)
        rows.append(
            {
                "N1": parallelism,
                "knee, processors": knee_by_derivative(model.time, range(1, 81)),
                "paper": paper,
            }
        )
    return rows


def utilisation_rows() -> list[dict[str, Any]]:
    """Fig. 9: slices in proportion to targets; once per target; and with the fill."""
    cycle_ms = sum(slo for _, _, slo in FIG_9.values())
    slices = sum(knee * slo for knee, _, slo in FIG_9.values()) / cycle_ms
    runners = [
        Runner(k, knee, took * MS, slo * MS) for k, (knee, took, slo) in enumerate(FIG_9.values())
    ]
    plain = plan_session(runners, 100 * MS)
    rows = [
        {"schedule": "slices in proportion to targets", "utilisation %": slices, "paper": 44},
        {
            "schedule": "plain spatio-temporal, once per target",
            "utilisation %": 100 * plain.utilisation,
            "paper": 60,
        },
    ]
    for reading, value in saturated_utilisation(FIG_9).items():
        rows.append({"schedule": reading, "utilisation %": 100 * value, "paper": 74})
    return rows


def chain(knee: int, took_ms: float) -> KernelChain:
    """Kernels around the knee; those above it are what a whole model at its knee waits for."""
    unit = took_ms * SLOTS_PER_MS / sum(max(1.0, part) for part in SPREAD)
    kernels = tuple(
        (min(100, round(knee * part)), max(1, round(unit * max(1.0, knee * part / 100))))
        for part in SPREAD
    )
    return KernelChain(str(knee), kernels, round(took_ms * SLOTS_PER_MS))


def ideal_rows(slots: int = 10_000) -> list[dict[str, Any]]:
    """Section 6.B: one model at a time, whole models, kernels."""
    models = [(knee, round(took * SLOTS_PER_MS)) for knee, took in CONVNETS.values()]
    length = sum(took for _, took in models)
    alone = sum(knee * took for knee, took in models) / length / 100
    scenario = always_busy(CONVNETS, slots * MS // SLOTS_PER_MS)
    paper, paper_done = use_and_inferences(scenario, COMPARED[DSTACK])
    knee, knee_done = use_and_inferences(scenario, COMPARED[AT_KNEE])
    ideal = ideal_schedule([chain(*own) for own in CONVNETS.values()], slots)
    best = sum(ideal.inferences)
    rows = (
        ("one model at a time", alone, slots / length * len(models), "-", "-"),
        ("D-STACK, by its paper's settings", paper, paper_done, 86, "> 90"),
        ("D-STACK at the knee", knee, knee_done, 86, "> 90"),
        ("kernels, ideal", ideal.utilisation, best, 95, 100),
    )
    return [
        {
            "schedule": name,
            "utilisation %": 100 * used,
            "paper": theirs,
            "throughput, % of the ideal's": 100 * count / best,
            "paper's": their_count,
        }
        for name, used, count, theirs, their_count in rows
    ]


def main() -> None:
    """Run and store the tables."""
    tables = {
        "dstack_knees": knee_rows(),
        "dstack_utilisation": utilisation_rows(),
        "dstack_ideal": ideal_rows(),
    }
    for name, rows in tables.items():
        result_file.show(name, rows)
        config = {"models": FIG_9, "convnets": CONVNETS, "spread": SPREAD}
        result_file.write(name, config, rows)


if __name__ == "__main__":
    main()
