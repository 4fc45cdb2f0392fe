import pytest

from surplus.engine.errors import ConfigError
from surplus.engine.repository.layout import RepositoryEntry, find_models


def _touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_single_file(tmp_path):
    path = _touch(tmp_path / "net.onnx")
    assert find_models(path) == [RepositoryEntry("net", "1", path)]
    assert find_models(str(path)) == find_models(path)


def test_repository(tmp_path):
    ten = _touch(tmp_path / "b" / "10" / "model.onnx")
    nine = _touch(tmp_path / "b" / "9" / "model.onnx")
    large = _touch(tmp_path / "a" / "1" / "model.onnx" / "model.onnx")
    tmp_path.joinpath("b", "config.pbtxt").write_text("version_policy { all {} }")
    for ignored in (
        "README",
        "b/draft/model.onnx",
        "b/01/x",
        ".git/1/model.onnx",
    ):
        _touch(tmp_path / ignored)
    assert find_models(tmp_path) == [
        RepositoryEntry("a", "1", large),
        RepositoryEntry("b", "9", nine),
        RepositoryEntry("b", "10", ten),
    ]


@pytest.mark.parametrize(
    ("files", "target", "message"),
    [
        ([], "missing", "no such file"),
        (["net.pt"], "net.pt", "expected an .onnx file"),
        (["README"], "", "no model in it"),
        (["net/model.onnx/x"], "", "no version in it"),  # the version folder left out
        (["net/0/model.onnx"], "", "no version in it"),  # versions start at 1
        (["net/1/other.onnx"], "", "no model.onnx in it"),
        (["net/1/model.onnx/data"], "", "no model.onnx in it"),
    ],
)
def test_errors_name_the_path(tmp_path, files, target, message):
    for file in files:
        _touch(tmp_path / file)
    with pytest.raises(ConfigError, match=rf"^{tmp_path}.*{message}"):
        find_models(tmp_path / target)


POLICIES = [
    ("", ["10"]),
    ("version_policy: { latest: { num_versions: 2 } }", ["9", "10"]),
    ("version_policy: { latest { num_versions: 7 } }", ["1", "9", "10"]),
    ("version_policy { all {} }", ["1", "9", "10"]),
    ("version_policy { specific { versions: [ 9, 1 ] } }", ["1", "9"]),
]


@pytest.mark.parametrize(("policy", "versions"), POLICIES)
def test_versions_are_served_by_their_policy(tmp_path, policy, versions):
    for version in ("9", "10", "1"):
        _touch(tmp_path / "net" / version / "model.onnx")
    tmp_path.joinpath("net", "config.pbtxt").write_text(policy)
    assert [entry.version for entry in find_models(tmp_path)] == versions


def test_a_version_that_is_not_there_cannot_be_served(tmp_path):
    _touch(tmp_path / "net" / "1" / "model.onnx")
    policy = "\nversion_policy { specific { versions: 3 } }"
    tmp_path.joinpath("net", "config.pbtxt").write_text(policy)
    with pytest.raises(ConfigError, match=r"config\.pbtxt:2: .*: there is no version 3"):
        find_models(tmp_path)


def test_the_file_may_have_another_name(tmp_path):
    path = _touch(tmp_path / "net" / "1" / "net.onnx")
    tmp_path.joinpath("net", "config.pbtxt").write_text('default_model_filename: "net.onnx"')
    assert [entry.path for entry in find_models(tmp_path)] == [path]


def test_what_is_wrong_with_one_model_is_not_with_the_others(tmp_path):
    _touch(tmp_path / "good" / "1" / "model.onnx")
    _touch(tmp_path / "wrong" / "4" / "model.onnx")
    tmp_path.joinpath("wrong", "config.pbtxt").write_text("max_batch_size: many")
    good, wrong = find_models(tmp_path)
    assert (good.name, good.error) == ("good", "")
    assert (wrong.name, wrong.version) == ("wrong", "4")
    assert wrong.error.startswith(f"{tmp_path}/wrong/config.pbtxt:1:17: ")


def test_models_come_from_several_places(tmp_path):
    single = _touch(tmp_path / "single.onnx")
    _touch(tmp_path / "one" / "a" / "1" / "model.onnx")
    _touch(tmp_path / "two" / "b" / "1" / "model.onnx")
    found = find_models(tmp_path / "two", tmp_path / "one", single)
    assert [entry.name for entry in found] == ["a", "b", "single"]
    with pytest.raises(ConfigError, match=r"model 'b' is at .*two/b, too"):
        find_models(tmp_path / "two", tmp_path / "two")
