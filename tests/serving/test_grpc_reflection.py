"""gRPC's reflection service: what grpcurl asks before it can ask anything else."""

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from surplus.engine.serving.grpc_reflection import VERSIONS
from surplus.engine.serving.messages import SERVICE, message_type
from tests.serving.fakes import WAIT_S


@pytest.fixture(params=VERSIONS)
def ask(request, served):
    """Questions of one version to their answers."""
    package = f"grpc.reflection.{request.param}"
    question = message_type("ServerReflectionRequest", package)
    answer = message_type("ServerReflectionResponse", package)
    with grpc.insecure_channel(served.url) as channel:
        call = channel.stream_stream(f"/{package}.ServerReflection/ServerReflectionInfo")

        def ask(*questions):
            sent = [question(**asked).SerializeToString() for asked in questions]
            return [answer.FromString(data) for data in call(iter(sent), timeout=WAIT_S)]

        yield ask


def test_services_are_listed(ask):
    (answer,) = ask({"list_services": "*", "host": "here"})
    names = [service.name for service in answer.list_services_response.service]
    assert {SERVICE, "grpc.health.v1.Health", "surplus.Tails"} < set(names)
    assert {f"grpc.reflection.{version}.ServerReflection" for version in VERSIONS} < set(names)
    assert answer.valid_host == answer.original_request.host == "here"


def test_a_client_can_speak_what_it_was_told(ask, served):
    """As grpcurl does: descriptors first, then a call with messages made of them."""
    (answer,) = ask({"file_containing_symbol": SERVICE})
    pool = descriptor_pool.DescriptorPool()
    for data in answer.file_descriptor_response.file_descriptor_proto:
        pool.Add(descriptor_pb2.FileDescriptorProto.FromString(data))
    (method,) = (m for m in pool.FindServiceByName(SERVICE).methods if m.name == "ServerMetadata")
    request, response = map(
        message_factory.GetMessageClass, (method.input_type, method.output_type)
    )
    with grpc.insecure_channel(served.url) as channel:
        call = channel.unary_unary(
            f"/{SERVICE}/ServerMetadata", request.SerializeToString, response.FromString
        )
        assert call(request(), timeout=WAIT_S).name == "surplus"


def test_several_questions_in_one_stream(ask):
    by_name, by_symbol, unknown, nothing, extension = ask(
        {"file_by_filename": "open_inference.proto"},
        {"file_containing_symbol": "inference.ModelInferRequest"},
        {"file_containing_symbol": "inference.Nothing"},
        {},
        {"file_containing_extension": {"containing_type": "inference.ModelInferRequest"}},
    )
    assert by_name.file_descriptor_response == by_symbol.file_descriptor_response
    assert len(by_name.file_descriptor_response.file_descriptor_proto) == 2  # and its import
    assert (unknown.error_response.error_code, nothing.error_response.error_code) == (5, 3)
    assert "inference.Nothing" in unknown.error_response.error_message
    assert extension.error_response.error_code == 5


def test_messages_have_no_extensions(ask):
    (answer,) = ask({"all_extension_numbers_of_type": "inference.ModelInferRequest"})
    found = answer.all_extension_numbers_response
    assert (found.base_type_name, list(found.extension_number)) == (
        "inference.ModelInferRequest",
        [],
    )
