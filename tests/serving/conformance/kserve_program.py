"""KServe's own client, unmodified, as a program in the environment of `make peers`.

``kserve_program.py GRPC_ADDRESS HTTP_ADDRESS`` asks a server of the suite's models in every way
and prints what it got, as JSON: who runs it compares.
"""

import asyncio
import json
import sys

import numpy as np
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest, RESTConfig

VALUES = {
    "FP32": np.array([0.5, -1.5, 3.25], np.float32),
    "FP16": np.array([0.5, -1.5, 3.25], np.float16),
    "INT64": np.array([-(2**62), 0, 7], np.int64),
    "UINT8": np.array([0, 255], np.uint8),
    "BOOL": np.array([True, False]),
    "BYTES": np.array([b"one", b"", "zwölf".encode()], object),
}


def request(datatype, binary):
    sent = InferInput("x", VALUES[datatype].shape, datatype)
    sent.set_data_from_numpy(VALUES[datatype], binary_data=binary)
    return InferRequest(f"identity_{datatype}", [sent], request_id=f"id-{datatype}")


def plain(answer):
    """Id, and values of the output; of text its bytes, as latin-1."""
    (output,) = answer.outputs
    rows = output.as_numpy().reshape(-1).tolist()
    texts = [row.encode() if isinstance(row, str) else row for row in rows]
    return (
        answer.id,
        output.datatype,
        [text.decode("latin-1") if isinstance(text, bytes) else text for text in texts],
    )


async def refused(call):
    """What the client raised."""
    try:
        await call
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "answered"


async def over_grpc(address):
    client = InferenceGRPCClient(address)
    said = {
        "live": await client.is_server_live(),
        "ready": await client.is_server_ready(),
        "model ready": await client.is_model_ready("arithmetic"),
    }
    for datatype in VALUES:
        for binary in (True, False):
            if datatype == "FP16" and not binary:
                continue  # typed contents have no field for it
            said[f"{datatype} {binary}"] = plain(await client.infer(request(datatype, binary)))
    nobody = InferRequest("nobody", request("FP32", True).inputs)
    said["unknown"] = await refused(client.infer(nobody))
    await client.close()
    return said


async def over_rest(address):
    client, url = InferenceRESTClient(RESTConfig(protocol="v2", retries=0)), f"http://{address}"
    said = {
        "live": await client.is_server_live(url),
        "ready": await client.is_server_ready(url),
        "model ready": await client.is_model_ready(url, "arithmetic"),
    }
    for datatype in VALUES:
        for binary in (True, False):
            if datatype == "FP16" and not binary:
                continue  # JSON has no such numbers, says the protocol
            sent = request(datatype, binary)
            said[f"{datatype} {binary}"] = plain(
                await client.infer(url, sent, model_name=sent.model_name)
            )
    nobody = InferRequest("nobody", request("FP32", True).inputs)
    said["unknown"] = await refused(client.infer(url, nobody, model_name="nobody"))
    await client.close()
    return said


async def main(grpc_address, http_address):
    print(
        json.dumps({"grpc": await over_grpc(grpc_address), "rest": await over_rest(http_address)})
    )


asyncio.run(main(*sys.argv[1:]))
