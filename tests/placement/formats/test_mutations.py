"""Whatever happened to a file: it is a problem, or one line says what is wrong with it."""

from pathlib import Path
from random import Random

import pytest

from surplus.placement import Problem, ProblemError
from surplus.placement.formats import read_problem
from tests.placement.formats.fixture_files import FILES

TIMES = 400
LETTERS = '0123456789-+.eE"{}[],:# \n\tax\x00\u00e9'
WORDS = ("1e400", "-1", "null", "true", "1e305", "9" * 30, "9" * 400, "[]", "{}", '""', "NaN")


def damaged(random: Random, text: str) -> str:
    """Letters replaced, taken away, put in or doubled; or a number replaced by something odd."""
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + random.choice((0, 1, 1, 2, 9)))
        put = random.choice((random.choice(LETTERS), random.choice(WORDS), "", text[at:end] * 2))
        text = text[:at] + put + text[end:]
    return text


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_a_problem_or_refused_in_a_line(name: str, tmp_path: Path) -> None:
    random, text = Random(name), FILES[name].read_text()
    path, read, refused = tmp_path / "damaged", 0, []
    for _ in range(TIMES):
        path.write_text(damaged(random, text))
        try:
            read += isinstance(read_problem(path, name), Problem)
        except ProblemError as error:
            refused.append(str(error))
    assert read > 0
    assert len(refused) == TIMES - read > 0
    assert [line for line in refused if "\n" in line or not line.startswith(f"{path}: ")] == []
