import pytest

from surplus.engine.devices.kinds.cuda import allows_tf32, instance, ordinal
from surplus.engine.devices.parsing import available_cores, parse_devices
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.errors import DeviceError


def test_cpu_with_lanes() -> None:
    assert parse_devices("cpu:2") == (DeviceSpec("cpu", "cpu", 2),)


def test_cpu_takes_all_cores_by_default() -> None:
    assert parse_devices("cpu")[0].lanes == available_cores() >= 1


@pytest.mark.parametrize(
    ("text", "cores", "lanes"),
    [
        ("cuda:0:4", 16, 15),
        ("cpu,cuda:0", 16, 15),
        ("cpu,emulated:gpu,plugin:webgpu", 16, 14),
        ("cuda:0[64sm],cuda:0[32sm]", 16, 15),
        ("cuda:0:4,cuda:1:4", 16, 14),
        ("cuda:0:4,cuda:0.1:4", 16, 14),
        ("cuda:0", 1, 1),
        ("cpu:16,cuda:0", 16, 16),
    ],
)
def test_each_gpus_submitting_thread_has_a_core(
    text: str, cores: int, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surplus.engine.devices.parsing.available_cores", lambda: cores)
    assert parse_devices(text)[0].lanes == lanes


def test_cpu_comes_first_and_an_emulated_device_has_one_lane() -> None:
    host, gpu = parse_devices("emulated:gpu, cpu:1")
    assert host == DeviceSpec("cpu", "cpu", 1)
    assert gpu == DeviceSpec("emulated", "emulated:gpu", 1, "titan_rtx")
    assert (host.memory, gpu.memory) == ("host", "emulated:gpu")


def test_the_host_is_added() -> None:
    assert [d.name for d in parse_devices("emulated:gpu:4")] == ["cpu", "emulated:gpu"]
    assert parse_devices("emulated:gpu:4")[1].lanes == 4


def test_options() -> None:
    _, a, b = parse_devices("cpu:1,emulated:a[h200,replay]:2,emulated:b[replay]")
    assert (a.preset, a.replay, a.lanes) == ("h200", True, 2)
    assert (b.preset, b.replay, b.lanes) == ("titan_rtx", True, 1)


@pytest.mark.parametrize(("lanes", "widths"), [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4, 6))])
def test_widths(lanes: int, widths: tuple[int, ...]) -> None:
    assert DeviceSpec("cpu", "cpu", lanes).widths == widths
    assert DeviceSpec("emulated", "emulated:gpu", lanes).widths == (1,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not understood"),
        ("cpu:2,", "not understood"),
        ("cpu:0", "lanes must be"),
        ("cpu:-1", "not understood"),
        ("cpu:99999", "lanes must be"),
        ("cpu:big", "no name"),
        ("cpu[h200]", "no options"),
        ("tpu:1", "unknown kind 'tpu'"),
        ("cpu:1,cpu:2", "appears twice"),
        ("cpu,emulated", "needs a name"),
        ("cpu,plugin", "needs a name, as in plugin:webgpu"),
        ("plugin:webgpu[0]", "no options and one lane"),
        ("plugin:webgpu:2", "no options and one lane"),
        ("cpu,emulated:gpu[h900]", "h200"),
        ("cpu,emulated:gpu[h200,t4]", "options are"),
        ("cpu,emulated:gpu[h200", "not understood"),
        ("cuda", "a CUDA device is a number"),
        ("cuda:gpu", "a CUDA device is a number"),
        ("cuda:0[64]", "options are the SMs of a partition"),
        ("cuda:0[64sm,32sm]", "options are the SMs of a partition"),
        ("cuda:0[fp16]", "options are the SMs of a partition"),
        ("cuda:0[tf32", "a CUDA device is a number"),
        ("cuda:0,cuda:0[tf32]", "with and without tf32"),
        ("cuda:0[64sm,tf32],cuda:0[32sm]", "with and without tf32"),
        ("cuda:0[64sm,tensorrt],cuda:0[32sm]", "with and without tensorrt"),
        ("cuda:0[0sm]", "at least one SM"),
        ("cuda:0:0", "lanes must be"),
        ("cuda:0,cuda:0", "appears twice"),
        ("cuda:0,cuda:0[64sm]", "whole and by partitions"),
        ("cuda:0[64sm],cuda:0.1", "several times and by partitions"),
        ("cuda:0.0", "a CUDA device is a number"),
    ],
)
def test_mistakes_are_named_with_examples(text: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message) as caught:
        parse_devices(text)
    assert "examples: cpu:2" in str(caught.value)


def test_emulated_options_are_kept() -> None:
    gpu = parse_devices("cpu:1,emulated:gpu[t4,pageable,uncaptured]:4")[1]
    assert gpu == DeviceSpec("emulated", "emulated:gpu", 4, "t4", pageable=True, captured=False)


def test_cuda_devices_have_lanes_and_partitions() -> None:
    whole = parse_devices("cpu:1,cuda:0:4")[1]
    assert whole == DeviceSpec("cuda", "cuda:0", 4)
    _, left, right, other = parse_devices("cpu:1,cuda:0[64sm]:2,cuda:0[32sm],cuda:1")
    assert left == DeviceSpec("cuda", "cuda:0[64sm]", 2, sms=64)
    assert right == DeviceSpec("cuda", "cuda:0[32sm]", 1, sms=32)
    assert not allows_tf32(left)
    # Partitions of a GPU share its memory.
    assert (left.memory, right.memory, other.memory) == ("cuda:0", "cuda:0", "cuda:1")


def test_a_gpu_may_be_several_devices() -> None:
    _, first, second = parse_devices("cpu:1,cuda:3:2,cuda:3.1[tf32]:2")
    assert (ordinal(first), instance(first), first.memory) == (3, 0, "cuda:3")
    assert (ordinal(second), instance(second), second.memory) == (3, 1, "cuda:3.1")
    assert parse_devices(f"cpu:1,{first.text},{second.text}")[1:] == (first, second)


def test_tensorrt_is_asked_for_by_an_option() -> None:
    gpu = parse_devices("cpu:1,cuda:0[tensorrt;64sm;tf32]:2")[1]
    assert gpu == DeviceSpec("cuda", "cuda:0[64sm,tf32,tensorrt]", 2, sms=64)


def test_tf32_is_allowed_by_an_option() -> None:
    gpu = parse_devices("cpu:1,cuda:0[tf32;64sm]:4")[1]
    assert gpu == DeviceSpec("cuda", "cuda:0[64sm,tf32]", 4, sms=64)
    assert allows_tf32(gpu)
    assert gpu.memory == "cuda:0"


@pytest.mark.parametrize(
    "text",
    [
        "cpu:2",
        "emulated:gpu[t4,replay,pageable,uncaptured]:4",
        "cuda:0[64sm]:2",
        "cuda:0[tf32]:4",
        "cuda:0[64sm,tf32]:1",
        "cuda:1:3",
        "plugin:webgpu:1",
    ],
)
def test_a_device_as_text_is_read_back(text: str) -> None:
    spec = next(
        s for s in parse_devices(f"cpu:2,{text}" if text != "cpu:2" else text) if s.text == text
    )
    assert next(s for s in parse_devices(spec.text) if s.name == spec.name) == spec


def test_a_cuda_device_that_is_not_here_is_named_when_it_is_needed() -> None:
    cpu, gpu = parse_devices("cpu:1,cuda:0")
    cpu.check_present()
    with pytest.raises(DeviceError, match=r"device 'cuda:0': .*CUDA.*emulated:gpu stands in"):
        gpu.check_present()
