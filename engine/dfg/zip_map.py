"""An output that is a dict for each row of a tensor (zip_maps.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surplus.engine.element_type import ElementType

if TYPE_CHECKING:
    from surplus.engine._core import Value


@dataclass(frozen=True)
class ZipMap:
    """An output that is a dict for each row of a tensor of floats.

    Parameters
    ----------
    output : str
    keys : tuple of int or of str
        In ascending order, as ONNX Runtime's maps have them.
    columns : tuple of int
        Of each key.
    """

    output: str
    keys: tuple[int | str, ...]
    columns: tuple[int, ...]

    @property
    def key_type(self) -> int:
        """Element type of the keys."""
        is_text = isinstance(self.keys[0], str)
        return int(ElementType.STRING if is_text else ElementType.INT64)

    def dicts(self, rows: Value) -> list[dict[Any, float]]:
        """The answer.

        Raises
        ------
        ValueError
            If the rows have more or fewer columns than there are keys.
        """
        return rows.zip_rows(list(self.keys), list(self.columns))

    @staticmethod
    def from_dict(raw: dict[str, Any]) -> ZipMap:
        """The inverse of ``dataclasses.asdict``, JSON in between or not."""
        return ZipMap(str(raw["output"]), tuple(raw["keys"]), tuple(raw["columns"]))
