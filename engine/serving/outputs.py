"""A query's outputs in the form in which they are wanted, before a face writes them down."""

from __future__ import annotations

from collections.abc import Mapping

from surplus.engine.errors import ExecutionError
from surplus.engine.serving.classification import Classes, classified
from surplus.engine.serving.codec import encode_raw
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.servable import Array
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.shared_memory import SharedRegions
from surplus.engine.serving.tensor_parameters import AS_IT_IS, Delivery


class Outputs:
    """How one query's outputs are delivered.

    Parameters
    ----------
    deliveries : mapping of str to Delivery
        By the name of the output; those that are not there are answered as they are.
    regions : SharedRegions
        Where those in shared memory go to.

    Raises
    ------
    InputError, UnknownRegionError
        If an output is to go where no region is: said before the query runs.
    """

    def __init__(self, deliveries: Mapping[str, Delivery], regions: SharedRegions) -> None:
        self._deliveries = deliveries
        self._regions = regions
        for delivery in deliveries.values():
            if delivery.part is not None:
                regions.check(delivery.part)

    def shown(self, model: ServedModel, name: str, array: Array) -> tuple[str, Array]:
        """Datatype of an output, and what is answered: itself, or its classes.

        Raises
        ------
        ExecutionError
            If the protocol has no datatype for it.
        InputError
            If it has no classes.
        """
        try:
            datatype = datatype_of(array)
        except ValueError as error:
            raise ExecutionError(f"{model}, output {name!r}: {error}") from error
        count = self._deliveries.get(name, AS_IT_IS).classes
        if not count:
            return datatype, array
        return "BYTES", classified(name, array, count, _classes(model, name))

    def put_away(self, name: str, array: Array) -> bool:
        """Write an output into shared memory, if it is wanted there; whether it was.

        Raises
        ------
        EngineError
            As ``SharedRegions.write`` does.
        """
        part = self._deliveries.get(name, AS_IT_IS).part
        if part is None:
            return False
        self._regions.write(name, part, encode_raw(array))
        return True


def _classes(model: ServedModel, name: str) -> Classes:
    config = model.config
    return Classes(config.labels.get(name, ()), config.message.max_batch_size > 0)
