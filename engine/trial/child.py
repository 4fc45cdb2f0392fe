"""The child: opens a model, runs it once, and says how far it got.

Executed as a file by a bare interpreter: it imports the core and nothing else of the engine, and of
Python only what its C sources hold, which takes some 30 ms with ONNX Runtime, half of that the
interpreter. Only given inputs take numpy and surplus.engine.values.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal and threading take milliseconds
import _thread
import importlib.machinery
import marshal
import os
import resource
import select
import sys

TYPE_CHECKING = False  # as type checkers read it without typing
if TYPE_CHECKING:
    from typing import Any, NoReturn

_IDLE_S = 10
"""A server that nobody asks for so long ends."""

_LARGE_KB = 256 << 10
"""A process that has been larger is not kept for the next trial."""

_NO_MORE = 3
"""Exit status of a process that was not asked again."""


def main() -> None:
    """Answer the one question on standard input, a line for each step."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # Ctrl-C is the parent's
    lifeline = int(sys.argv[1])
    if len(sys.argv) > 2:
        _serve(lifeline, *sys.argv[2:])
        return
    _end_with(lifeline)
    question = marshal.load(sys.stdin.buffer)
    _try(_loaded(question["core"], question["library"]), question)


def _serve(lifeline: int, core_path: str, library: str) -> None:
    """Answer in a fork, one question after another, and say how each ended (servers.py).

    Forking and what is then copied takes longer than most models' first runs. It ends when a fork
    has crashed.
    """
    core = _loaded(core_path, library)
    code = 0
    while code == 0 and (question := _next_question()) is not None:
        child = os.fork()
        if child == 0:
            _end_with(lifeline)
            _answer(core, question)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code != _NO_MORE:
            _say_ended(code)


def _answer(core: Any, question: dict[str, Any] | None) -> NoReturn:
    """In a fork: this question and those that follow, while the process is small."""
    while question is not None:
        _try(core, question)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _LARGE_KB:
            os._exit(0)
        _say_ended(0)
        question = _next_question()
        if question is not None:
            _say("used", "")
    os._exit(_NO_MORE)


def _next_question() -> dict[str, Any] | None:
    """None when there is none for long, or will be none."""
    if not select.select([sys.stdin], [], [], _IDLE_S)[0]:
        return None
    try:
        question: dict[str, Any] = marshal.load(sys.stdin.buffer)
    except EOFError:
        return None
    return question


def _say_ended(code: int) -> None:
    print("ended", code, flush=True)


def _loaded(core_path: str, library: str) -> Any:
    core = _module(core_path)
    sys.modules["surplus.engine._core"] = core
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    core.open_runtime(library)
    return core


def _try(core: Any, question: dict[str, Any]) -> None:
    try:
        for library in question["operators"]:
            core.add_custom_operators(library)
        session = core.Session(
            question["model"], **question["session"], when_read=lambda: _say("read", "")
        )
        _say("opened", "")
        values = _values(core, session, question["inputs"])
        if values is not None:
            session.run(values)
        _say("ok", "")
    except (RuntimeError, MemoryError) as error:
        _say("error", str(error))


def _say(step: str, text: str) -> None:
    print(f'["{step}", {_quoted(text)}]', flush=True)


def _quoted(text: str) -> str:
    if not text:
        return '""'
    import json  # only of errors

    return json.dumps(text)


def _module(path: str) -> Any:
    """The core, without the package that it lies in."""
    loader = importlib.machinery.ExtensionFileLoader("surplus.engine._core", path)
    spec = importlib.machinery.ModuleSpec("surplus.engine._core", loader, origin=path)
    module = loader.create_module(spec)
    loader.exec_module(module)
    return module


def _end_with(lifeline: int) -> None:
    _thread.start_new_thread(_end_with_parent, (lifeline,))


def _end_with_parent(lifeline: int) -> None:
    """The parent writes nothing; when it ends, so does this process, in a kernel or not."""
    os.read(lifeline, 1)
    os._exit(1)


def _values(core: Any, session: Any, inputs: bytes | None) -> dict[str, Any] | None:
    """The inputs to run on; None where only somebody who knows the model can make them."""
    if inputs is None:
        rows = session.input_info
        plain = all(kind == "tensor" for _, kind, _, _ in rows)
        return {name: _made(core, t, shape) for name, _, t, shape in rows} if plain else None
    import pickle

    from surplus.engine.values import to_value

    types = {row[0]: row[2] for row in session.input_info}
    return {
        name: None if array is None else to_value(array, types[name] or None)
        for name, array in pickle.loads(inputs).items()
        if name in types
    }


def _made(core: Any, elem_type: int, shape: list[int | str] | None) -> Any:
    """Zeros of the least size that is not empty."""
    return core.Value.zeros(elem_type, [_extent(dim) for dim in shape or ()])


def _extent(dim: int | str) -> int:
    return dim if isinstance(dim, int) and dim >= 0 else 1


if __name__ == "__main__":
    main()
