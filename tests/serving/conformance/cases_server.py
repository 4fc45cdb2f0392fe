"""What a server says of itself and its models, and what of it can be set."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.serving.conformance.case import Cases
from tests.serving.conformance.clients import Client, given, status

cases = Cases("server")

_X = given("x", "INT16", np.arange(5, dtype=np.int16))


@cases((True, True, True))
def it_is_live_and_ready(client: Client) -> Any:
    return (
        client.call("is_server_live"),
        client.call("is_server_ready"),
        client.call("is_model_ready", "arithmetic"),
    )


@cases(
    {
        "name": "arithmetic",
        "versions": ["1"],
        "inputs": [("a", "FP32", [-1, 4]), ("b", "FP32", [-1, 4])],
        "outputs": [("sum", "FP32", [-1, 4]), ("difference", "FP32", [-1, 4])],
    }
)
def metadata_of_a_model(client: Client) -> Any:
    document = client.document("get_model_metadata", "arithmetic")
    tensors = {
        kind: [(t["name"], t["datatype"], list(map(int, t["shape"]))) for t in document[kind]]
        for kind in ("inputs", "outputs")
    }
    return {"name": document["name"], "versions": document["versions"], **tensors}


@cases(("arithmetic", 0, [("a", "TYPE_FP32", ["-1", "4"]), ("b", "TYPE_FP32", ["-1", "4"])]))
def configuration_of_a_model(client: Client) -> Any:
    document = client.document("get_model_config", "arithmetic")
    config = document if client.is_http else document["config"]
    inputs = [(i["name"], i["data_type"], list(map(str, i["dims"]))) for i in config["input"]]
    return config["name"], int(config.get("max_batch_size", 0)), inputs


@cases((3, 3, [(1, 3)], True))
def statistics_grow_with_queries(client: Client) -> Any:
    def counts() -> Any:
        document = client.document("get_inference_statistics", "identity_INT16")
        (row,) = document["model_stats"]
        batches = {
            int(batch["batch_size"]): int(batch["compute_infer"]["count"])
            for batch in row.get("batch_stats", ())
        }
        stats = row.get("inference_stats", {})
        success = int(stats.get("success", {}).get("count", 0))
        return success, int(row.get("execution_count", 0)), batches, int(row["last_inference"])

    client.infer("identity_INT16", [_X])  # so that every counter is there
    success, executed, batches, last_ms = counts()
    for _ in range(3):
        client.infer("identity_INT16", [_X])
    after = counts()
    grown = [(size, count - batches[size]) for size, count in after[2].items()]
    return after[0] - success, after[1] - executed, grown, after[3] >= last_ms > 10**12


@cases(True)
def the_index_lists_models(client: Client) -> Any:
    document = client.document("get_model_repository_index")
    rows = document if client.is_http else document["models"]
    return ("arithmetic", "READY") in [(row["name"], row.get("state")) for row in rows]


def _plain(document: Any, client: Client) -> dict[str, Any]:
    """Settings by name, each a value or a list of them."""
    if client.is_http:
        return dict(document)
    return {
        name: next(iter(setting.values()), None) for name, setting in document["settings"].items()
    }


@cases(("OFF", "1000", "-1", "0"))
def trace_settings(client: Client) -> Any:
    found = _plain(client.document("get_trace_settings"), client)
    names = ("trace_level", "trace_rate", "trace_count", "log_frequency")
    return tuple(found[n][0] if isinstance(found[n], list) else found[n] for n in names)


@cases("OK")
def tracing_stays_off(client: Client) -> Any:
    return status(client.call, "update_trace_settings", settings={"trace_level": ["OFF"]})


@cases("UNIMPLEMENTED", triton="INVALID_ARGUMENT")
def tracing_cannot_be_turned_on(client: Client) -> Any:
    return status(client.call, "update_trace_settings", settings={"trace_level": ["TIMESTAMPS"]})


@cases([True, False, True])
def the_log_can_be_told_what_to_write(client: Client) -> Any:
    found = []
    for wanted in (None, False, True):
        if wanted is None:
            document = client.document("get_log_settings")
        else:
            document = client.document("update_log_settings", {"log_warning": wanted})
        found.append(_plain(document, client)["log_warning"])
    return found


@cases("INVALID_ARGUMENT", ("grpc", "grpc_aio"), triton="INTERNAL")
def the_log_takes_no_text_for_a_level(client: Client) -> Any:
    return status(client.call, "update_log_settings", {"log_warning": "yes"})


@cases("UNIMPLEMENTED")
def clients_choose_no_files_of_the_server(client: Client) -> Any:
    return status(client.call, "update_log_settings", {"log_file": "surplus-conformance.log"})
