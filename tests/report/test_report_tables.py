import io

from rich.console import Console

from surplus.engine.report.tables import print_mapping, print_rows


def _text(show, *arguments):
    console = Console(width=120, file=io.StringIO())
    show(*arguments, console)
    return console.file.getvalue()


def test_rows_have_a_column_per_key_in_order_of_appearance():
    rows = [{"policy": "qd", "makespan_ns": 1_500_000}, {"policy": "sd", "moved": 1234}]
    lines = _text(print_rows, "placements", rows).splitlines()
    assert lines[0].strip() == "placements"
    assert lines[2].index("policy") < lines[2].index("makespan ms") < lines[2].index("moved")
    assert "1.500" in lines[4]
    assert "1,234" in lines[5]


def test_values_are_shown_for_people():
    values = {"gap": None, "proven": True, "ratio": 0.98765, "ops": {"Conv": 3}, "dims": [1, 2]}
    text = _text(print_mapping, "result", values)
    for shown in ("-", "yes", "0.988", "Conv 3", "1, 2"):
        assert shown in text


def test_names_are_not_read_as_markup():
    assert "[red]x[/red]" in _text(print_rows, "[b]t", [{"[i]k": "[red]x[/red]"}])


def test_no_rows_are_an_empty_table():
    text = _text(print_rows, "models", [])
    assert "models" in text
    assert "(no rows)" in text
