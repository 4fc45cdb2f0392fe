"""gRPC's health service."""

import grpc
import pytest

from surplus.engine.serving.messages import SERVICE, message_type
from tests.serving.fakes import WAIT_S, identity

Request = message_type("HealthCheckRequest", "grpc.health.v1")
Response = message_type("HealthCheckResponse", "grpc.health.v1")


@pytest.fixture
def channel(own_server):
    with grpc.insecure_channel(own_server.url) as channel:
        yield channel


def _check(channel, service=""):
    call = channel.unary_unary("/grpc.health.v1.Health/Check")
    data = call(Request(service=service).SerializeToString(), timeout=WAIT_S)
    return Response.FromString(data).status


@pytest.mark.parametrize("service", ["", SERVICE])
def test_it_serves_once_its_models_are_ready(own_server, channel, service):
    model = own_server.call(own_server.server.plane.models.add, "slow")
    assert _check(channel, service) == Response.NOT_SERVING
    own_server.call(model.set_ready, identity())
    assert _check(channel, service) == Response.SERVING


def test_an_unknown_service_is_not_found(channel):
    with pytest.raises(grpc.RpcError) as caught:
        _check(channel, "another.Service")
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND
    call = channel.unary_stream("/grpc.health.v1.Health/Watch")
    found = call(Request(service="another.Service").SerializeToString(), timeout=WAIT_S)
    assert Response.FromString(next(found)).status == Response.SERVICE_UNKNOWN
    found.cancel()


def test_who_watches_hears_of_changes(own_server, channel):
    model = own_server.call(own_server.server.plane.models.add, "slow")
    call = channel.unary_stream("/grpc.health.v1.Health/Watch")
    found = call(Request().SerializeToString(), timeout=WAIT_S)
    assert Response.FromString(next(found)).status == Response.NOT_SERVING
    own_server.call(model.set_ready, identity())
    assert Response.FromString(next(found)).status == Response.SERVING
    found.cancel()


def test_malformed_requests(channel):
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    with pytest.raises(grpc.RpcError) as caught:
        check(b"\xff\xff", timeout=WAIT_S)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"\xff\xff", timeout=WAIT_S)
    with pytest.raises(grpc.RpcError) as caught:
        next(watch)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
