"""The registry: names, parameters, errors, and that importing it costs little."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from surplus import models
from surplus.models.lenet import LenetParams, build_lenet, lenet_inputs


def test_names_are_sorted_and_known() -> None:
    names = models.model_names()
    assert names == sorted(names)
    assert {"fork_join", "lenet", "resnet50"} <= set(names)


@pytest.mark.parametrize("name", models.model_names())
def test_info_describes_every_model(name: str) -> None:
    info = models.info(name)
    assert info.name == name
    assert info.description
    assert info.family
    assert "seed" in info.parameters


def test_parameters_come_with_their_defaults() -> None:
    assert models.info("fork_join").parameters == {
        "branches": 80,
        "depth": 6,
        "size": 256,
        "kind": "elementwise",
        "seed": 0,
    }


def test_unknown_name_lists_what_exists() -> None:
    with pytest.raises(ValueError, match=r"'resnet'.*lenet.*resnet50"):
        models.build("resnet")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"depht": 3}, "depht.*it has: branches, depth"),  # unknown name
        ({"depth": 0}, "depth must be at least 1, got 0"),  # out of range
        ({"depth": "3"}, "depth must be of type int, got '3'"),  # text is for parse()
        ({"depth": True}, "depth must be of type int"),  # a bool is no size
        ({"kind": "conv"}, "kind must be one of elementwise, matmul, got 'conv'"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.build("fork_join", **params)


@pytest.mark.parametrize("name", models.model_names())
def test_a_size_that_no_memory_holds_is_refused_with_its_bound(name: str) -> None:
    info = models.info(name)
    for key, default in info.parameters.items():
        if type(default) is not int or key == "seed":
            continue
        most = max(1_000_000, 1_000 * default)
        for value in (most + 1, 10**20):
            with pytest.raises(ValueError, match=f"^{key} must be at most {most}, got {value}$"):
                info.build(**{key: value})
            with pytest.raises(ValueError, match=f"^{key} must be at most {most}"):
                info.example_inputs(**{key: value})


def test_sizes_up_to_the_bound_are_taken() -> None:
    inputs = models.example_inputs("fork_join", size=1_000_000, seed=2**63 - 1)
    assert inputs["x"].shape == (1, 1_000_000)


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_is_named_when_it_is_none(seed: int) -> None:
    with pytest.raises(ValueError, match=f"seed must be within 0..9223372036854775807, got {seed}"):
        models.build("lenet", seed=seed)


def test_parse_converts_text_by_the_default() -> None:
    parsed = models.info("fork_join").parse({"depth": "3", "kind": "matmul"})
    assert parsed == {"depth": 3, "kind": "matmul"}


@pytest.mark.parametrize("texts", [{"depth": "three"}, {"depht": "3"}])
def test_parse_rejects(texts: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(texts))):
        models.info("fork_join").parse(texts)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="'lenet' is registered already"):
        models.register(
            "lenet",
            family="classifier",
            description="another",
            params=LenetParams,
            build=build_lenet,
            example_inputs=lenet_inputs,
        )


def test_import_is_cheap() -> None:
    # Neither onnx nor a builder is loaded before a model is asked for.
    code = "import sys, models; models.model_names(); print('onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
