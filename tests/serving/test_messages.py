from importlib.resources import files

import pytest
from google.protobuf import descriptor_pb2
from tritonclient.grpc import model_config_pb2, service_pb2

from surplus.engine.serving.messages import DESCRIPTORS, SERVICE, message_type, request_types

MESSAGES = [
    *(type_().DESCRIPTOR.name for type_ in request_types().values()),
    "ServerLiveResponse", "ServerReadyResponse", "ModelReadyResponse", "ServerMetadataResponse",
    "ModelMetadataResponse", "ModelInferResponse", "ModelConfigResponse", "ModelStatisticsResponse",
    "RepositoryIndexResponse", "ModelConfig", "ModelInput", "ModelOutput", "InferParameter",
    "InferTensorContents", "InferStatistics", "StatisticDuration", "ModelStatistics",
    "InferBatchStatistics", "ModelRepositoryParameter", "SystemSharedMemoryStatusResponse",
    "SystemSharedMemoryRegisterResponse", "SystemSharedMemoryUnregisterResponse",
    "CudaSharedMemoryStatusResponse", "CudaSharedMemoryRegisterResponse",
    "CudaSharedMemoryUnregisterResponse", "TraceSettingResponse", "LogSettingsResponse",
]  # fmt: skip


def _wire_form(descriptor):
    """Everything that the wire depends on."""
    return {
        field.number: (field.name, field.type, field.is_repeated) for field in descriptor.fields
    } | {nested.name: _wire_form(nested) for nested in descriptor.nested_types}


def _is_part_of(ours, theirs):
    return all(
        _is_part_of(value, theirs[key]) if isinstance(value, dict) else value == theirs[key]
        for key, value in ours.items()
    )


@pytest.mark.parametrize("name", sorted(set(MESSAGES)))
def test_messages_agree_with_tritons_client(name):
    module = service_pb2 if hasattr(service_pb2, name) else model_config_pb2
    theirs = getattr(module, name).DESCRIPTOR
    assert _is_part_of(_wire_form(message_type(name).DESCRIPTOR), _wire_form(theirs))


def test_service_agrees_with_tritons_client():
    theirs = service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"]
    assert theirs.full_name == SERVICE
    for name, request in request_types().items():
        assert theirs.methods_by_name[name].input_type.name == request.DESCRIPTOR.name


def test_datatypes_of_the_configuration_agree_with_tritons_client():
    theirs = dict(model_config_pb2.DataType.items())
    ours = message_type("ModelInput").DESCRIPTOR.fields_by_name["data_type"].enum_type
    assert {value.name: value.number for value in ours.values} == theirs


def test_our_classes_are_apart_from_theirs():
    assert message_type("ModelInferRequest") is not service_pb2.ModelInferRequest
    assert message_type("ModelInferRequest").DESCRIPTOR.file.pool is not (
        service_pb2.DESCRIPTOR.pool
    )


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_checked_in_descriptors_are_current(tmp_path, name):
    protoc = pytest.importorskip("grpc_tools.protoc")
    folder = files("surplus.engine.serving")
    target = tmp_path / "current.binpb"
    imported = f"-I{files('surplus.engine.repository')}"
    sources = [f"-I{folder}", imported, f"{name}.proto"]
    arguments = ["protoc", *sources, f"--descriptor_set_out={target}"]
    assert protoc.main(arguments) == 0
    current, checked_in = (
        descriptor_pb2.FileDescriptorSet.FromString(data)
        for data in (target.read_bytes(), folder.joinpath(f"{name}.binpb").read_bytes())
    )
    assert checked_in == current, f"compile {name}.proto again, its first lines say how"
