"""``python -m bench``: every table of docs/PERFORMANCE.md, measured and stored.

``python -m bench NAME ...`` measures some; ``python -m bench NAME [OPTION ...]`` runs whatever of
this folder runs, with its own options; ``python -m bench --list`` says what there is.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

TABLES = (
    "dispatch",
    "hand_over",
    "tracing",
    "fan_out",
    "overlap",
    "models_cpu",
    "throughput",
    "co_run",
    "memory",
    "many_models",
    "size",
    "not_tensors",
    "plan_judgement",
    "start_up",
    "repository",
    "sir_tables",
    "optimum",
    "serving",
    "dstack_golden",
    "dstack_gains",
    "dstack_steps",
    "gpulet_interference",
    "gpulet_population",
    "gpulet_capacity",
    "gpulet_scaling",
    "colocation_conservation",
    "colocation_live",
)


def runnable() -> dict[str, str]:
    """What of this folder runs by itself, and the first line of what it says it does."""
    folder = Path(__file__).parent
    found = {}
    for path in (*folder.glob("*.py"), *folder.glob("*/__main__.py")):
        text = path.read_text(encoding="utf-8")
        is_folder = path.parent != folder
        if is_folder or ('__name__ == "__main__"' in text and path.name != "__main__.py"):
            name = path.parent.name if is_folder else path.stem
            found[name] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return dict(sorted(found.items()))


def main() -> int:
    """Run each in a process of its own, so that none warms or crowds the next."""
    words = sys.argv[1:]
    known = runnable()
    if words == ["--list"]:
        for name, text in known.items():
            print(f"{name:24} {text}")
        return 0
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    names, options = words[:first] or list(TABLES), words[first:]
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no bench {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    if options and len(names) > 1:
        print(f"{options[0]}: options are for one bench, not {len(names)}", file=sys.stderr)
        return 2
    commands = [[sys.executable, "-m", f"bench.{name}", *options] for name in names]
    failed = [
        name
        for name, command in zip(names, commands, strict=True)
        if subprocess.run(command, check=False).returncode
    ]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
