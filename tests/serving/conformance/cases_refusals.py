"""What is wrong with a query, and the status it gets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.serving.conformance.case import NOT_ASKED, Cases
from tests.serving.conformance.clients import Client, Wanted, fresh, given, status

cases = Cases("refusals")

_X = given("x", "FP32", np.ones(3, np.float32))
_A = given("a", "FP32", np.ones((2, 4), np.float32))
_B = given("b", "FP32", np.ones((2, 4), np.float32))


def _refused(model: str, inputs: list[Any], *wanted: Wanted, **options: Any) -> Any:
    return lambda client: status(client.infer, model, inputs, wanted, **options)


for _name, _case in {
    "unknown model": (_refused("nobody", [_X]), "NOT_FOUND"),
    "unknown version": (_refused("identity_FP32", [_X], model_version="7"), "NOT_FOUND"),
    "missing input": (_refused("arithmetic", [_A]), "INVALID_ARGUMENT"),
    "unknown input": (_refused("arithmetic", [_A, _B, _X]), "INVALID_ARGUMENT"),
    "input twice": (_refused("arithmetic", [_A, _A]), "INVALID_ARGUMENT"),
    "unknown output": (_refused("identity_FP32", [_X], Wanted("z")), "INVALID_ARGUMENT"),
    "another datatype": (
        _refused("identity_FP32", [given("x", "FP64", np.ones(3))]),
        "INVALID_ARGUMENT",
    ),
    "another rank": (
        _refused("identity_FP32", [given("x", "FP32", np.ones((1, 3), np.float32))]),
        "INVALID_ARGUMENT",
    ),
    "another size": (
        _refused("arithmetic", [_A, given("b", "FP32", np.ones((2, 3), np.float32))]),
        "INVALID_ARGUMENT",
    ),
}.items():
    cases.add(_name, *_case)


@cases("INVALID_ARGUMENT", triton=NOT_ASKED)  # over HTTP it answers 500
def a_negative_number_of_classes(client: Client) -> Any:
    return status(client.infer, "identity_FP32", [_X], [Wanted("y", classes=-2)])


@cases("UNAVAILABLE")
def loading_where_models_stay_as_they_are(client: Client) -> Any:
    return status(client.call, "load_model", "arithmetic")


@cases("UNAVAILABLE")
def unloading_where_models_stay_as_they_are(client: Client) -> Any:
    return status(client.call, "unload_model", "arithmetic")


@cases("NOT_FOUND")
def metadata_of_an_unknown_model(client: Client) -> Any:
    return status(client.call, "get_model_metadata", "nobody")


@cases("NOT_FOUND")
def configuration_of_an_unknown_model(client: Client) -> Any:
    return status(client.call, "get_model_config", "nobody")


@cases("NOT_FOUND", triton="INVALID_ARGUMENT")
def statistics_of_an_unknown_model(client: Client) -> Any:
    return status(client.call, "get_inference_statistics", "nobody")


@cases("NOT_FOUND")
def metadata_of_an_unknown_version(client: Client) -> Any:
    return status(client.call, "get_model_metadata", "arithmetic", "7")


@cases(False)
def an_unknown_version_is_not_ready(client: Client) -> Any:
    return client.call("is_model_ready", "arithmetic", "7")


@cases(False)
def an_unknown_model_is_not_ready(client: Client) -> Any:
    return client.call("is_model_ready", fresh("model"))
