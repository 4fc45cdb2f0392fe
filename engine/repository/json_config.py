"""Reads a configuration from JSON, as Triton's clients send one with a load."""

from __future__ import annotations

from pathlib import Path

from google.protobuf import json_format

from surplus.engine.errors import ConfigError
from surplus.engine.repository.config_checks import check_config
from surplus.engine.repository.config_message import empty_config
from surplus.engine.repository.field_lines import FieldLines
from surplus.engine.repository.model_config import ModelConfig

PARAMETER = "parameter 'config'"


def parse_json(text: str, name: str, folder: Path) -> ModelConfig:
    """The configuration of a model.

    Parameters
    ----------
    folder : Path
        Where the files lie that it names.

    Raises
    ------
    ConfigError
        Naming the field.
    """
    message = empty_config()
    try:
        json_format.Parse(text, message)
    except (json_format.ParseError, RecursionError) as error:
        why = str(error).partition("\n")[0]
        raise ConfigError(f"{PARAMETER} of model {name!r}: {why}") from error
    lines = FieldLines(folder / PARAMETER)
    check_config(message, lines, name)
    return ModelConfig(name, message, lines)
