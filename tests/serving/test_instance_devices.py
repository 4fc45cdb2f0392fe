import pytest

from surplus.engine.repository.model_config import parse_config
from surplus.engine.serving.instance_devices import devices_for

DEVICES = "cpu:2,cuda:0,cuda:1[tf32]:2"


def config(tmp_path, text):
    return parse_config(text, tmp_path / "config.pbtxt", "model")


@pytest.mark.parametrize(
    ("groups", "devices"),
    [
        ("", DEVICES),
        ("{ kind: KIND_AUTO }", DEVICES),
        ("{ kind: KIND_CPU }", "cpu:2"),
        ("{ kind: KIND_GPU }", DEVICES),
        ("{ kind: KIND_GPU gpus: [ 1 ] }", "cpu:2,cuda:1[tf32]:2"),
        ("{ kind: KIND_CPU }, { kind: KIND_GPU gpus: 0 }", "cpu:2,cuda:0"),
        ("{ gpus: [ 0 ] }", "cpu:2,cuda:0"),
    ],
)
def test_a_group_leaves_a_model_some_devices(tmp_path, caplog, groups, devices):
    written = config(tmp_path, f"instance_group [ {groups} ]")
    assert devices_for(written, DEVICES) == devices
    assert not caplog.records


def test_a_gpu_that_is_not_there_is_told(tmp_path, caplog):
    written = config(tmp_path, "instance_group [ { kind: KIND_GPU\n gpus: [ 3 ] } ]")
    assert devices_for(written, "cpu:1") == "cpu:1"
    assert devices_for(written, "") == ""
    assert devices_for(written, DEVICES) == DEVICES
    texts = [record.getMessage() for record in caplog.records]
    assert texts[0].endswith(
        "config.pbtxt:1: instance_group[0].kind: KIND_GPU, but the server has no GPU"
    )
    assert texts[2].endswith(":2: instance_group[0].gpus: GPU 3, but the server has 2")
