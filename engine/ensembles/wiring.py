"""What is wrong with how an ensemble's steps lead to one another, whatever their models are."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.engine.dfg.topological import topological_order
from surplus.engine.ensembles.ensemble import Ensemble, EnsembleStep, Port


def ordered_steps(ensemble: Ensemble) -> list[EnsembleStep]:
    """The steps such that each comes after those that it reads of.

    Raises
    ------
    ConfigError
        If a tensor is made twice, read but never made, or made of itself; if an input is read by no
        step, or an output made by none. It names file, step and tensor.
    """
    makers = _makers(ensemble)
    _check_reads(ensemble, makers)
    _check_ends(ensemble, makers)
    before = [
        {makers[name] for name in step.inputs.values() if name in makers} for step in ensemble.steps
    ]
    order = topological_order(before)
    if len(order) < len(ensemble.steps):
        raise _cycle(ensemble, [i for i in range(len(before)) if i not in set(order)])
    return [ensemble.steps[i] for i in order]


def _makers(ensemble: Ensemble) -> dict[str, int]:
    """Which step makes each tensor."""
    given = {port.name for port in ensemble.inputs}
    makers: dict[str, int] = {}
    for index, step in enumerate(ensemble.steps):
        for output, name in step.outputs.items():
            at = f"{step.at}.output_map"
            if name in given:
                raise ensemble.wrong(
                    at, f"{step} makes {name!r} of its {output!r}, but that is an input"
                )
            if name in makers:
                other = ensemble.steps[makers[name]]
                raise ensemble.wrong(at, f"{step} makes {name!r}, as {other} does already")
            makers[name] = index
    return makers


def _check_reads(ensemble: Ensemble, makers: dict[str, int]) -> None:
    known = {port.name for port in ensemble.inputs} | set(makers)
    for step in ensemble.steps:
        for model_input, name in step.inputs.items():
            if name not in known:
                raise ensemble.wrong(
                    f"{step.at}.input_map",
                    f"{step} reads {name!r} for its {model_input!r}, which no step makes and is no"
                    f" input; there are {_listed(sorted(known))}",
                )


def _check_ends(ensemble: Ensemble, makers: dict[str, int]) -> None:
    read = {name for step in ensemble.steps for name in step.inputs.values()}
    _require(ensemble, [p for p in ensemble.inputs if p.name not in read], "is read by no step")
    _require(ensemble, [p for p in ensemble.outputs if p.name not in makers], "is made by no step")


def _require(ensemble: Ensemble, left_over: Sequence[Port], why: str) -> None:
    if left_over:
        raise ensemble.wrong(left_over[0].at, f"{left_over[0].name!r} {why}")


def _cycle(ensemble: Ensemble, among: Sequence[int]) -> Exception:
    steps = [ensemble.steps[i] for i in among]
    names = {name for step in steps for name in step.outputs.values()}
    read = next(name for step in steps for name in step.inputs.values() if name in names)
    listed = _listed([step.model for step in steps])
    return ensemble.wrong(
        f"{steps[0].at}.input_map",
        f"steps {listed} wait for one another: {read!r} is made of itself",
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
