from io import StringIO

from surplus.milp.live import live
from surplus.milp.params import Progress

STEPS = [
    Progress(0.1, None, 5_000),
    Progress(0.2, 20_000, 5_000),
    Progress(0.3, 20_000, 6_000),
    Progress(1.4, 10_000, 8_000),
    Progress(1.5, 10_000, 10_000),
]


class Terminal(StringIO):
    def isatty(self):
        return True


def shown(stream):
    with live(stream) as listener:
        for step in STEPS:
            listener(step)
    return stream.getvalue()


def test_a_terminal_has_one_line_that_changes():
    text = shown(Terminal())
    assert text.count("\r") == len(STEPS)
    assert text.count("\n") == 1
    assert text.endswith("plan 10.0 us  bound 10.0 us  gap 0.000%\n")


def test_elsewhere_there_is_a_line_a_second_and_the_last():
    lines = shown(StringIO()).splitlines()
    assert [line.split(" s ")[0].strip() for line in lines] == ["0.1", "1.4", "1.5"]
    assert lines[0].endswith("plan -  bound 5.0 us  gap -")


def test_elsewhere_there_may_be_nothing():
    stream = StringIO()
    with live(stream, lines=False) as listener:
        listener(STEPS[0])
    assert stream.getvalue() == ""


def test_nothing_to_show_is_no_line():
    stream = Terminal()
    with live(stream):
        pass
    assert stream.getvalue() == ""
