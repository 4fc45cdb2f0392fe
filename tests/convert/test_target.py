"""``MODULE:FACTORY``: found, called and checked, with a plain class in torch's place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from surplus.engine.convert.target import import_path, make_module, split_target
from surplus.engine.errors import ConfigError, ConversionError

NETS = """
class Holder:
    make = staticmethod(lambda: 3)
number = 4
text = "no module"
def fails():
    raise ValueError("no weights\\nhere")
def leaves():
    raise SystemExit(3)
def words():
    return "words"
"""


@pytest.fixture
def nets(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "target_nets.py").write_text(NETS)
    (tmp_path / "target_broken.py").write_text("x = 1\nimport no_such_dependency\n")
    (tmp_path / "target_syntax.py").write_text("\ndef f(:\n")
    with import_path([tmp_path]):
        yield tmp_path
    for name in ("target_nets", "target_broken", "target_syntax"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("name", "made"), [("Holder.make", 3), ("number", 4)])
def test_a_factory_or_the_thing_itself(nets: Path, name: str, made: int) -> None:
    assert make_module(f"target_nets:{name}", int) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target_nets:nothing", "module target_nets has no 'nothing'"),
        ("target_nets:Holder.nothing", "has no 'Holder.nothing'"),
        ("target_nets:text", "of type str, neither a torch.nn.Module nor callable"),
        ("target_nets:words", "made something of type str, not a torch.nn.Module"),
        ("target_nets:fails", "fails at target_nets.py:7: ValueError: no weights here"),
        ("target_nets:leaves", "fails at target_nets.py:9: SystemExit: 3"),
        ("no_such_module.nets:f", "no module named 'no_such_module' in the current folder"),
        ("target_nets.inner:f", "no module named 'target_nets.inner'"),
        ("target_broken:f", "importing target_broken fails at target_broken.py:2"),
        ("target_syntax:f", "importing target_syntax fails at target_syntax.py:2: SyntaxError"),
    ],
)
def test_what_cannot_be_made(nets: Path, text: str, message: str) -> None:
    with pytest.raises(ConversionError) as raised:
        make_module(text, int)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nets", "expected package.module:factory"),
        ("nets:", "expected package.module:factory"),
        (":f", "expected package.module:factory"),
        ("a/nets.py:f", "expected package.module:factory"),
        ("nets:f()", "expected package.module:factory"),
        ("nets.py:f", "has no .py, try nets:f"),
    ],
)
def test_malformed_targets(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        split_target(text)
    assert message in str(raised.value)


def test_import_path_is_put_back(tmp_path: Path) -> None:
    before = list(sys.path)
    with import_path([tmp_path]):
        assert sys.path[:2] == [str(tmp_path), str(Path.cwd())]
    assert sys.path == before
    with pytest.raises(ConfigError, match="no such folder"), import_path([tmp_path / "no"]):
        pass
