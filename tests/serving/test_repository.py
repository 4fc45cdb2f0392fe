import pytest

from surplus.engine.errors import ConfigError
from surplus.engine.serving.repository import RepositoryEntry, find_models


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
    for ignored in (
        "README",
        "b/config.pbtxt",
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
