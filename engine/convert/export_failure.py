"""Why an exporter failed, in one line: from the chain of errors that it raises."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from surplus.engine.convert.source import DecidesError
from surplus.engine.convert.target import typed_line
from surplus.engine.errors import ConversionError

_NO_FUNCTION = re.compile(r"No ONNX function found for <OpOverload\(op='([^']+)'")
_NO_SYMBOLIC = re.compile(r"the operator '([^']+)'|unrecognized namespace (\S+?)\.? ")
_CONFLICT = re.compile(r"inferred a static shape of (\d+) for dimension inputs\['(\w+)'\]")
_USER_LINE = re.compile(r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]+)')
_USER_FRAME = re.compile(r"The following call raised this error:|from user code:")
_DATA_DEPENDENT = ("GuardOnDataDependentSymNode", "data-dependent", "Data-dependent")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_BOILERPLATE = "## Exception summary"


def failure_of(error: BaseException) -> ConversionError:
    """Read what torch raised.

    Where a module decides by its data, an exporter that traces freezes the decision: what that one
    writes is right only for data that decide alike, which the comparison may or may not find.
    """
    texts = [_COLOURS.sub("", f"{type(e).__name__}: {e}") for e in _chain(error)]
    whole = "\n".join(texts)
    for pattern in (_NO_FUNCTION, _NO_SYMBOLIC):
        match = pattern.search(whole)
        if match:
            return ConversionError(f"operator {_operator(match)} has no ONNX form")
    if any(mark in whole for mark in _DATA_DEPENDENT):
        return DecidesError(f"forward decides by the data{_user_line(whole)}; use torch.where")
    match = _CONFLICT.search(whole)
    if match:
        return ConversionError(f"forward fixes a dynamic axis of {match[2]!r} to {match[1]}")
    return ConversionError(typed_line(_root(error)))


def _operator(match: re.Match[str]) -> str:
    """``aten.foo`` and ``aten::foo`` are the same."""
    name: str = next(filter(None, match.groups()))
    return name if "::" in name else name.replace(".", "::", 1)


def _user_line(text: str) -> str:
    """The user's line, which torch quotes behind a heading; empty if it does not."""
    heading = _USER_FRAME.search(text)
    lines = _USER_LINE.findall(text, heading.end()) if heading else []
    if not lines:
        return ""
    file, number, code = lines[0]
    return f" at {Path(file).name}:{number} ({code.strip()})"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _root(error: BaseException) -> BaseException:
    """The first error that is not torch's advice on what to do about an error."""
    chain = list(_chain(error))
    return next((e for e in chain if _BOILERPLATE not in str(e)), chain[-1])
