import math
import pickle
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from tritonclient.grpc import model_config_pb2

from surplus.engine.errors import ConfigError
from surplus.engine.repository.config_fields import HONOURED, IGNORED, field_rows
from surplus.engine.repository.config_message import FULL_NAME, POOL
from surplus.engine.repository.model_config import parse_config, read_config

DENSENET = """
name: "densenet_onnx"
platform: "onnxruntime_onnx"
max_batch_size : 0
input [
  {
    name: "data_0"
    data_type: TYPE_FP32
    format: FORMAT_NCHW
    dims: [ 3, 224, 224 ]
    reshape { shape: [ 1, 3, 224, 224 ] }
  }
]
output [
  {
    name: "fc6_1"
    data_type: TYPE_FP32
    dims: [ 1000 ]
    reshape { shape: [ 1, 1000, 1, 1 ] }
    label_filename: "densenet_labels.txt"
  }
]
"""


@dataclass(frozen=True)
class Tensor:
    name: str
    dtype: str
    shape: tuple[int, ...] | None
    optional: bool = False


X = Tensor("x", "FP32", (-1, 3, -1))
Y = Tensor("y", "FP32", (-1, 10))


def written(folder, text, file="config.pbtxt"):
    folder.joinpath(file).write_text(text)
    return read_config(folder, "model")


def all_messages(message):
    """The message and all that it is made of, each once."""
    found, waiting = {}, [message]
    while waiting:
        here = waiting.pop()
        if here.full_name not in found:
            found[here.full_name] = here
            waiting += [field.message_type for field in here.fields if field.message_type]
    return found


def facts(message):
    return {
        field.name: (
            field.number,
            field.type,
            field.is_repeated,
            field.containing_oneof and field.containing_oneof.name,
        )
        for field in message.fields
    }


OURS = all_messages(POOL.FindMessageTypeByName(FULL_NAME))
THEIRS = all_messages(model_config_pb2.ModelConfig.DESCRIPTOR)


def test_the_message_is_tritons():
    assert {name: facts(message) for name, message in OURS.items()} == {
        name: facts(message) for name, message in THEIRS.items()
    }


def test_its_enums_are_tritons():
    def values(messages):
        return {
            field.enum_type.full_name: {
                value.name: value.number for value in field.enum_type.values
            }
            for message in messages.values()
            for field in message.fields
            if field.enum_type
        }

    assert values(OURS) == values(THEIRS)


def reached(message, under=()):
    """Names of the messages whose fields need rows: those that are not ignored as a whole."""
    if message.full_name in under:
        return set()
    name = message.full_name.removeprefix("inference.")
    names = set() if message.GetOptions().map_entry else {name}
    for field in message.fields:
        if field.message_type and field.name not in IGNORED.get(name, {}):
            names |= reached(field.message_type, (*under, message.full_name))
    return names


def test_every_field_of_the_message_is_honoured_or_ignored_with_a_reason():
    for name in reached(POOL.FindMessageTypeByName(FULL_NAME)):
        fields = {field.name for field in OURS[f"inference.{name}"].fields}
        honoured, ignored = set(HONOURED.get(name, {})), set(IGNORED.get(name, {}))
        assert honoured | ignored == fields, name
        assert not honoured & ignored, name


def test_no_row_is_of_a_field_that_there_is_not():
    for table in (HONOURED, IGNORED):
        for name, rows in table.items():
            assert set(rows) <= set(OURS[f"inference.{name}"].fields_by_name), name
            assert all(rows.values())


def test_the_manual_has_every_field():
    rows = [
        f"| `{path}` | {'honoured' if is_honoured else 'warned of'} | {why} |"
        for path, is_honoured, why in field_rows(POOL.FindMessageTypeByName(FULL_NAME))
    ]
    manual = Path(__file__).parents[2] / "docs" / "how_to" / "repository.md"
    text = manual.read_text()
    table = [line for line in text.splitlines() if re.match(r"\| `[\w.]+` \| (hon|warned)", line)]
    assert table == rows, "the table is to be:\n" + "\n".join(rows)


def filled(descriptor, choice, text=""):
    """Text of a message in which each field is set once, and of choices the one of this number."""
    for field in descriptor.fields:
        oneof = field.containing_oneof
        if oneof and oneof.fields[choice % len(oneof.fields)].name != field.name:
            continue
        if field.message_type:
            text += f"{field.name} {{ {filled(field.message_type, choice)} }}\n"
        elif field.enum_type:
            text += f"{field.name}: {field.enum_type.values[-1].name}\n"
        elif field.type == field.TYPE_STRING:
            text += f'{field.name}: "1"\n'
        else:
            text += f"{field.name}: {'true' if field.type == field.TYPE_BOOL else 1}\n"
    return text


def warnings_of_all_choices(file):
    """What is warned of where everything is set that can be set together, and of what cannot."""
    message = POOL.FindMessageTypeByName(FULL_NAME)
    sizes = {len(oneof.fields) for each in OURS.values() for oneof in each.oneofs}
    for choice in range(math.lcm(*sizes)):
        text = filled(message, choice)
        platform = "ensemble" if "ensemble_scheduling" in text else "onnxruntime_onnx"
        text = text.replace('platform: "1"', f'platform: "{platform}"').replace('backend: "1"', "")
        text = text.replace("response_cache { enable: true", "response_cache { ")
        yield from parse_config(text, file, "1").warnings()


def test_each_field_that_is_set_and_ignored_is_warned_of_by_name_and_line(tmp_path):
    file = tmp_path / "config.pbtxt"
    warnings = list(warnings_of_all_choices(file))
    for name in reached(POOL.FindMessageTypeByName(FULL_NAME)):
        for field, why in IGNORED.get(name, {}).items():
            assert any(line.endswith(f"{field} is not honoured: {why}") for line in warnings), field
    assert all(line.startswith(f"{file}:") for line in warnings)


def test_a_warning_names_the_line(tmp_path):
    config = written(tmp_path, "max_batch_size: 8\n\noptimization { cuda {\n graphs: true } }\n")
    assert config.warnings() == [
        f"{tmp_path}/config.pbtxt:3: optimization is not honoured: plans are chosen by measurement"
    ]


def test_tritons_quick_start_is_read(tmp_path):
    folder = tmp_path / "densenet_onnx"
    folder.mkdir()
    folder.joinpath("config.pbtxt").write_text(DENSENET)
    folder.joinpath("densenet_labels.txt").write_text("TENCH\nGOLDFISH\n")
    config = read_config(folder).completed(
        [Tensor("data_0", "FP32", (1, 3, 224, 224))], [Tensor("fc6_1", "FP32", (1, 1000, 1, 1))]
    )
    assert config.message.input[0].dims == [3, 224, 224]
    assert config.message.backend == "onnxruntime"
    assert config.labels == {"fc6_1": ("TENCH", "GOLDFISH")}
    assert config.message.version_policy.latest.num_versions == 1
    assert [w.split(": ")[1] for w in config.warnings()] == ["input[0].format is not honoured"]


def test_nothing_written_is_completed_from_the_model(tmp_path):
    config = read_config(tmp_path, "model").completed([X], [Y])
    assert not config.is_written
    assert config.message.max_batch_size == 0
    assert config.message.input[0].dims == [-1, 3, -1]
    assert config.message.output[0].name == "y"


def test_the_batch_is_not_among_dims(tmp_path):
    config = written(tmp_path, "max_batch_size: 8").completed([X], [Y])
    assert config.message.input[0].dims == [3, -1]
    assert config.message.output[0].dims == [10]


def test_batching_without_a_size_gets_one_where_the_model_allows_for_it(tmp_path):
    text = "dynamic_batching { preferred_batch_size: [ 2, 6 ] }"
    assert written(tmp_path, text).completed([X], [Y]).message.max_batch_size == 6
    fixed = Tensor("y", "FP32", (1, 10))
    assert written(tmp_path, text).completed([X], [fixed]).message.max_batch_size == 0


WRONG = [
    ("max_batch_size: x", ":1:17: "),
    ("max_batch_size: 8\nno_such: 1", ':2:1: Message type "inference.ModelConfig" has no field'),
    ("input {\n  name: 'x'\n  data_type: TYPE_FP31\n}", ":3:14: "),
    ("\ninput {\n", ":2:7: "),
    ("name: 'other'", ":1: name: is 'other', but the model's folder is 'model'"),
    ("\nbackend: 'python'", ":2: backend: 'python' is not served; served: onnxruntime, surplus"),
    ("platform: 'tensorrt_plan'", ":1: platform: 'tensorrt_plan' is not served"),
    ("max_batch_size: -1", ":1: max_batch_size: is -1"),
    ("input [\n{ name: 'x' },\n{ name: 'x' }\n]", ":3: input[1].name: 'x' is there twice"),
    ("input {\n name: 'x'\n dims: [ 0 ] }", ":3: input[0].dims: has 0"),
    ("input {\n name: 'x'\n dims: 4\n reshape { shape: 5 } }", ":4: input[0].reshape: [5] holds"),
    ("version_policy { latest {} }", ":1: version_policy.latest.num_versions: is 0"),
    ("version_policy: { specific {} }", ":1: version_policy.specific.versions: names no version"),
    (
        "instance_group [{ kind: KIND_CPU,\n gpus: [0] }]",
        ":2: instance_group[0].gpus: KIND_CPU has",
    ),
    (
        "max_batch_size: 4\ndynamic_batching {\n preferred_batch_size: 8 }",
        ":3: dynamic_batching.preferred_batch_size: 8 is more than max_batch_size, 4",
    ),
    (
        "dynamic_batching {\n priority_levels: 2 }",
        ":1: dynamic_batching.default_priority_level: is 0",
    ),
    ("platform: 'ensemble'", ":1: platform: platform: 'ensemble' and ensemble_scheduling go"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_file_is_named_with_line_and_field(tmp_path, text, message):
    with pytest.raises(ConfigError) as error:
        written(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path}/config.pbtxt{message}")


AGAINST = [
    ("input {\n name: 'z' }", ":2: input[0].name: the model has no input 'z'; it has 'x'"),
    (
        "input { name: 'x'\n data_type: TYPE_FP16 }",
        ":2: input[0].data_type: is TYPE_FP16, but the model's is TYPE_FP32",
    ),
    (
        "max_batch_size: 2\ninput { name: 'x'\n\n dims: [ 4, -1 ] }",
        ":4: input[0].dims: is [4, -1], but the model's is [3, -1] behind the batch dimension",
    ),
    (
        "output { name: 'y' dims: [ -1, -1 ] }",
        ":1: output[0].dims: is [-1, -1], but the model's is [-1, 10]",
    ),
    ("input { name: 'x' optional: true }", ":1: input[0].optional: is true, but the model needs"),
]


@pytest.mark.parametrize(("text", "message"), AGAINST)
def test_what_contradicts_the_model_is_named_with_line_and_field(tmp_path, text, message):
    with pytest.raises(ConfigError) as error:
        written(tmp_path, text).completed([X], [Y])
    assert str(error.value).startswith(f"{tmp_path}/config.pbtxt{message}")


def test_a_model_without_an_open_batch_dimension_is_not_batched(tmp_path):
    with pytest.raises(ConfigError, match=r":1: max_batch_size: is 2, but the first dimension of"):
        written(tmp_path, "max_batch_size: 2").completed([X], [Tensor("y", "FP32", (1, 10))])


@pytest.mark.parametrize("name", ["missing.txt", "../outside.txt"])
def test_labels_that_cannot_be_read_are_named_by_field(tmp_path, name):
    folder = tmp_path / "model"
    folder.mkdir()
    tmp_path.joinpath("outside.txt").write_text("secret")
    config = written(folder, f"output {{ name: 'y'\n label_filename: '{name}' }}")
    with pytest.raises(ConfigError, match=rf":2: output\[0\]\.label_filename: '{name}'"):
        config.completed([X], [Y])


def test_a_configuration_goes_to_another_process(tmp_path):
    config = written(tmp_path, "max_batch_size: 8\nparameters { key: 'a' value: {} }")
    again = pickle.loads(pickle.dumps(config))
    assert again.message.max_batch_size == 8
    assert again.lines.place("parameters").endswith("config.pbtxt:2: parameters")
    completed = config.completed([X], [Y]).message.SerializeToString()
    assert again.told(completed).message.input[0].dims == [3, -1]
    with pytest.raises(ConfigError, match="no configuration"):
        again.told(b"\xff\xff")


def test_an_input_that_the_model_needs_must_be_named(tmp_path):
    with pytest.raises(ConfigError, match=r"input: does not name 'z', which the model needs"):
        written(tmp_path, "input { name: 'x' }").completed([X, Tensor("z", "FP32", (1,))], [Y])


def test_lines_of_toml_and_text_are_found_alike(tmp_path):
    text = """
max_batch_size = 8
parameters.colour.string_value = "red"

[[input]]
name = "x"
dims = [3, -1]

[[input]]
name = "z"

[dynamic_batching]
max_queue_delay_microseconds = 100
priority_levels = 2
default_priority_level = 1
[dynamic_batching.priority_queue_policy.2]
max_queue_size = 7
"""
    config = written(tmp_path, text, "config.toml")
    message = config.message
    assert config.parameters == {"colour": "red"}
    assert [entry.name for entry in message.input] == ["x", "z"]
    assert message.dynamic_batching.priority_queue_policy[2].max_queue_size == 7
    assert config.lines.place("input[1].name").endswith("config.toml:10: input[1].name")
    place = config.lines.place("dynamic_batching.priority_levels")
    assert place.endswith(":14: dynamic_batching.priority_levels")


WRONG_TOML = [
    ("max_batch_size = 1 2", ":1:20: no TOML: "),
    ("max_batch_size = ", ":1: no TOML: "),
    ("\nno_such = 1", ":2: no_such: there is no such field; known: name, "),
    ("max_batch_size = 1.5", ":1: max_batch_size: "),
    ("max_batch_size = true", ":1: max_batch_size: is True, expected no truth value"),
    ("[[input]]\nname = 'x'\ndata_type = 'FP32'", ":3: input[0].data_type: is 'FP32', expected"),
    ("[[input]]\nname = 'x'\n[input.reshape]\nsize=1", ":4: input[0].reshape.size: there is no"),
    ("input = 3", ":1: input: expected an array"),
    ("[parameters]\na = 'b'", ":2: parameters.a: is 'b', expected a table"),
    ("[dynamic_batching]\n[sequence_batching]", ":2: sequence_batching: cannot stand beside dyn"),
    ("[dynamic_batching.priority_queue_policy.a]", ":1: dynamic_batching.priority_queue_policy.a"),
    ("max_batch_size = -3", ":1: max_batch_size: is -3"),
]


@pytest.mark.parametrize(("text", "message"), WRONG_TOML)
def test_wrong_toml_is_named_with_line_and_field(tmp_path, text, message):
    with pytest.raises(ConfigError) as error:
        written(tmp_path, text, "config.toml")
    assert str(error.value).startswith(f"{tmp_path}/config.toml{message}")


def test_a_model_has_one_configuration(tmp_path):
    tmp_path.joinpath("config.toml").write_text("")
    with pytest.raises(ConfigError, match=r"config\.pbtxt: there is config\.toml, too"):
        written(tmp_path, "")


def test_checked_in_descriptor_is_current(tmp_path):
    protoc = pytest.importorskip("grpc_tools.protoc")
    folder = files("surplus.engine.repository")
    target = tmp_path / "current.binpb"
    arguments = ["protoc", f"-I{folder}", f"--descriptor_set_out={target}", "model_config.proto"]
    assert protoc.main(arguments) == 0
    current, checked_in = (
        descriptor_pb2.FileDescriptorSet.FromString(data)
        for data in (target.read_bytes(), folder.joinpath("model_config.binpb").read_bytes())
    )
    assert checked_in == current, "compile model_config.proto again, its first lines say how"
