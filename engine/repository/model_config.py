"""How one model is to be served: what its ``config.pbtxt`` or ``config.toml`` says of it.

Whoever honours a field reads the message itself, under Triton's names (model_config.proto)::

    config.message.max_batch_size                    0: shapes are whole, queries are not stacked
    config.message.HasField("dynamic_batching")      only then read .dynamic_batching
        .dynamic_batching.preferred_batch_size       list of int; empty: any
        .dynamic_batching.max_queue_delay_microseconds
        .dynamic_batching.priority_levels            0: none; else 1, the most urgent, to this
        .dynamic_batching.default_queue_policy       .timeout_action (0 REJECT, 1 DELAY),
                                                     .default_timeout_microseconds,
                                                     .allow_timeout_override, .max_queue_size
        .dynamic_batching.priority_queue_policy      dict: level -> such a policy
    config.message.HasField("sequence_batching")     .WhichOneof("strategy_choice") is "direct",
                                                     "oldest" or None, which means "direct"
    config.message.HasField("ensemble_scheduling")   .ensemble_scheduling.step: .model_name,
                                                     .model_version (-1, or 0: the newest),
                                                     .input_map and .output_map: dicts of str
    config.message.instance_group                    .kind by enum_name("ModelInstanceGroup.Kind",
                                                     group.kind), .count (0 means 1), .gpus
    config.message.response_cache.enable             bool
    config.message.model_warmup                      .name, .batch_size, .count (0 means 1) and
                                                     .inputs: dict of .data_type, .dims and
                                                     .WhichOneof("input_data_type")
    config.parameters                                dict of str to str

What is not written is what protobuf gives for it: 0, empty, false. A field that is wrong in a way
that :func:`read_config` does not look for is refused by ``config.lines.wrong(path, why)``, which
names file and line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from surplus.engine.errors import ConfigError
from surplus.engine.repository.against_model import ModelTensor, complete
from surplus.engine.repository.config_checks import check_config
from surplus.engine.repository.config_fields import field_warnings
from surplus.engine.repository.config_message import empty_config
from surplus.engine.repository.field_lines import FieldLines
from surplus.engine.repository.labels import read_labels
from surplus.engine.repository.pbtxt import parse_pbtxt
from surplus.engine.repository.toml_config import parse_toml

_READERS: dict[str, Callable[[str, Path], tuple[Any, FieldLines]]] = {
    "config.pbtxt": parse_pbtxt,
    "config.toml": parse_toml,
}

CONFIG_FILES = tuple(_READERS)
"""Names of the files, of which a model has one or none."""

MOST_BYTES = 16 << 20
"""Of a file: more is none that somebody wrote."""


@dataclass(frozen=True)
class ModelConfig:
    """A model's configuration; not to be changed.

    Parameters
    ----------
    name : str
        The model's.
    message : Any
        A ``ModelConfig`` message. As it is written, or completed from the model
        (:meth:`completed`).
    lines : FieldLines
        Where its fields stand.
    labels : mapping of str to tuple of str
        Of the classes of outputs that have some; known once it is completed.
    """

    name: str
    message: Any
    lines: FieldLines
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_written(self) -> bool:
        """Whether there is a file of it."""
        return self.lines.file.name in CONFIG_FILES

    @property
    def parameters(self) -> dict[str, str]:
        """The ``parameters`` of the model by name."""
        return {name: value.string_value for name, value in self.message.parameters.items()}

    @property
    def is_ensemble(self) -> bool:
        """Whether it is of steps, and has no file of its own."""
        return bool(self.message.HasField("ensemble_scheduling"))

    def warnings(self) -> list[str]:
        """What is written and not honoured: a line each, with file, line and field."""
        return field_warnings(self.message, self.lines)

    def completed(
        self, inputs: Sequence[ModelTensor], outputs: Sequence[ModelTensor]
    ) -> ModelConfig:
        """The same with all that is left to the model.

        Raises
        ------
        ConfigError
            If it contradicts the model; the message names file, line and field.
        """
        message = empty_config()
        message.CopyFrom(self.message)
        complete(message, self.lines, self.name, inputs, outputs)
        return ModelConfig(self.name, message, self.lines, read_labels(message, self.lines))

    def told(self, serialized: bytes) -> ModelConfig:
        """The same as another process has completed it, which says so in protobuf's bytes.

        Raises
        ------
        ConfigError
            If those are none of a configuration.
        """
        message = empty_config()
        try:
            message.ParseFromString(serialized)
        except DecodeError as error:
            raise ConfigError(f"model {self.name!r}: no configuration: {error}") from error
        return ModelConfig(self.name, message, self.lines, read_labels(message, self.lines))

    def __getstate__(self) -> tuple[str, bytes, FieldLines, Mapping[str, tuple[str, ...]]]:
        """For other processes: classes of messages are not known by name there."""
        return self.name, self.message.SerializeToString(), self.lines, self.labels

    def __setstate__(
        self, state: tuple[str, bytes, FieldLines, Mapping[str, tuple[str, ...]]]
    ) -> None:
        message = empty_config()
        message.ParseFromString(state[1])
        name, _, lines, labels = state
        self.__init__(name, message, lines, labels)  # type: ignore[misc]


def unwritten(name: str, folder: Path | None = None) -> ModelConfig:
    """The configuration of a model that has no file of it."""
    return ModelConfig(name, empty_config(), FieldLines(folder or Path(name)))


def read_config(folder: Path, name: str = "") -> ModelConfig:
    """The configuration in a model's folder; an empty one if there is no file of it.

    Parameters
    ----------
    name : str
        The model's; by default the folder's.

    Raises
    ------
    ConfigError
        If there are two files, or one cannot be read or is wrong; the message names the file, the
        line and the field.
    """
    name = name or folder.name
    found = [folder / file for file in CONFIG_FILES if (folder / file).is_file()]
    if len(found) > 1:
        raise ConfigError(f"{found[0]}: there is {found[1].name}, too; keep one of them")
    if not found:
        return unwritten(name, folder)
    return parse_config(_text(found[0]), found[0], name)


def parse_config(text: str, file: Path, name: str) -> ModelConfig:
    """The configuration of a text.

    Parameters
    ----------
    file : Path
        Where it is from, for messages; its name says how it is written.

    Raises
    ------
    ConfigError
        As :func:`read_config`.
    """
    message, lines = _READERS[file.name](text, file)
    check_config(message, lines, name)
    return ModelConfig(name, message, lines)


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{file}: larger than {MOST_BYTES >> 20} MiB")
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: no UTF-8: byte {error.start}") from error
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
