"""Which levels of the log are written, as clients set them."""

import logging

import pytest

from surplus.engine.errors import InputError, UnsupportedError
from surplus.engine.serving.log_settings import LogSettings


@pytest.fixture
def log(fresh_name):
    """A logger as the package's is, what it wrote, and its settings."""
    logger = logging.getLogger(fresh_name)
    logger.propagate = False
    written = []
    handler = logging.Handler()
    handler.emit = lambda record: written.append(record.getMessage())
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    yield logger, written, LogSettings(fresh_name)
    logger.removeHandler(handler)


def _write(logger, written):
    written.clear()
    child = logger.getChild("part")
    for level in ("debug", "info", "warning", "error"):
        getattr(child, level)(level)
    return list(written)


def test_levels_are_on_and_off_each_by_itself(log):
    logger, written, settings = log
    assert _write(logger, written) == ["warning", "error"]
    settings.update({"log_info": True, "log_warning": False})
    assert _write(logger, written) == ["info", "error"]
    settings.update({"log_verbose_level": 1, "log_error": None})
    assert _write(logger, written) == ["debug", "info", "error"]
    assert settings.values() == {
        "log_file": "",
        "log_format": "default",
        "log_info": True,
        "log_warning": False,
        "log_error": True,
        "log_verbose_level": 1,
    }


def test_nothing_at_all(log):
    logger, written, settings = log
    settings.update({"log_warning": False, "log_error": False})
    assert _write(logger, written) == []


def test_the_log_is_left_as_it_was(log):
    logger, written, settings = log
    settings.update({"log_info": True})
    settings.update({"log_info": False})
    assert logger.level == logging.WARNING
    assert not any(settings.shows in handler.filters for handler in logger.handlers)
    assert _write(logger, written) == ["warning", "error"]


def test_other_loggers_are_not_touched(log):
    logger, written, settings = log
    settings.update({"log_error": False})
    handler = logger.handlers[0]
    record = logging.LogRecord(f"{settings._logger.name}s", logging.ERROR, "", 0, "said", (), None)
    handler.handle(record)
    assert written == ["said"]


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"log_warning": "no"}, InputError, "'log_warning' must be true or false"),
        ({"log_verbose_level": True}, InputError, "'log_verbose_level' must be a number"),
        ({"log_verbose_level": -1}, InputError, "'log_verbose_level' must be a number"),
        ({"log_everything": True}, InputError, "unknown log setting 'log_everything'"),
        ({"log_file": "/etc/passwd"}, UnsupportedError, "clients do not choose files"),
        ({"log_format": "ISO8601"}, UnsupportedError, "chosen at the start"),
    ],
)
def test_what_cannot_be_set_changes_nothing(log, asked, error, message):
    logger, written, settings = log
    with pytest.raises(error, match=message):
        settings.update({"log_info": True, **asked})
    assert _write(logger, written) == ["warning", "error"]
    settings.update({"log_file": "", "log_format": "default"})
