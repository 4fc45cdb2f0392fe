"""What verbs print and log commands no terminal, and floods no log."""

from __future__ import annotations

import io
import logging
import sys
from contextlib import suppress
from pathlib import Path

import onnx
import pytest

from surplus.engine.cli.main import main
from surplus.engine.cli.terminal import OnceASecond, PrintableStream, printable_streams
from surplus.engine.printable import printable

HOSTILE = "\x1b]0;title\x07\x1b[2Jname\r\x9b31m\u202e"


def test_control_characters_are_shown() -> None:
    assert printable(HOSTILE) == r"\x1b]0;title\x07\x1b[2Jname\r\x9b31m\u202e"
    assert printable("a\tb\nµs ü 漢") == "a\tb\nµs ü 漢"


def hostile_model(folder: Path) -> Path:
    value = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("Neg", [HOSTILE], ["y" + HOSTILE], name=HOSTILE)
    inputs, outputs = [value(HOSTILE, 1, [3])], [value("y" + HOSTILE, 1, [3])]
    graph = onnx.helper.make_graph([node], "hostile", inputs, outputs)
    opset = [onnx.helper.make_opsetid("", 18)]
    path = folder / f"hostile{HOSTILE}.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


@pytest.mark.parametrize("more", [["inspect"], ["inspect", "--json"], ["run"], ["inspect", "-x"]])
def test_names_of_a_model_reach_no_terminal_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    verb, *options = more
    with suppress(SystemExit):
        main([verb, str(hostile_model(tmp_path)), "--cache", str(tmp_path / "cache"), *options])
    said = capsys.readouterr()
    assert said.out or said.err
    for text in (said.out, said.err):
        assert not set(text) & {"\x1b", "\x07", "\r", "\x9b", "\u202e"}


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(tmp_path / HOSTILE)]) == 1
    assert r"\x1b[2Jname" in capsys.readouterr().err


def test_streams_are_as_before_afterwards() -> None:
    before = sys.stdout, sys.stderr
    with printable_streams():
        assert isinstance(sys.stdout, PrintableStream)
    assert (sys.stdout, sys.stderr) == before


class Log:
    """A logger of this test's own, on a clock that it sets."""

    def __init__(self) -> None:
        self.now_ns = 0
        self._stream = io.StringIO()
        handler = logging.StreamHandler(self._stream)
        handler.addFilter(OnceASecond(lambda: self.now_ns))
        self.logger = logging.Logger("test")
        self.logger.addHandler(handler)

    def lines(self) -> list[str]:
        return self._stream.getvalue().splitlines()


def test_a_repeated_line_is_written_once_a_second_with_a_count() -> None:
    log = Log()
    for moment in range(30):
        log.now_ns = moment * 100_000_000
        log.logger.error("out of %s", "files")
    assert log.lines() == ["out of files", *["out of files (and 9 more like it)"] * 2]


def test_lines_that_differ_are_written_up_to_ten_a_second() -> None:
    log = Log()
    for number in range(1000):
        log.logger.warning("model %d is damaged", number)
    assert len(log.lines()) == 10
    log.now_ns = 1_000_000_000
    log.logger.warning("model %d is damaged", 1)
    assert log.lines()[-1] == "model 1 is damaged (and 990 more like it)"


def test_addresses_of_objects_make_no_other_line() -> None:
    """As gRPC's own errors have them: a traceback for each call."""
    log = Log()
    for number in range(100):
        try:
            raise RuntimeError(f"failed: <Operation at {number:#x}>")
        except RuntimeError as error:
            log.logger.error("raised in <Call at %#x>", number, exc_info=error)
    assert sum("raised in" in line for line in log.lines()) == 1


def test_what_is_raised_again_and_again_is_one_line() -> None:
    log = Log()
    for _ in range(5):
        try:
            raise OSError("too many open files")
        except OSError:
            log.logger.exception("accept failed")
    assert len([line for line in log.lines() if line == "accept failed"]) == 1


def test_other_lines_pass_meanwhile() -> None:
    log = Log()
    log.logger.error("a")
    log.logger.error("b")
    assert log.lines() == ["a", "b"]
