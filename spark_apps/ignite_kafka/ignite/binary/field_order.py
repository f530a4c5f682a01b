"""The order of an object's fields, which no node, task or run decides.

It comes from the schema that the object's footer names.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..types.model import BinaryType
from .decode_scalars import Column
from .object_headers import FieldPlaces
from .page_buffer import Positions

ORDER = "order"
"""Mark of a struct's last child that names, for each row, the children that its object has.

Their indexes, in the object's order.
"""


class FieldOrder(Enum):
    """Which fields a decoded object has, and in which order.

    TYPE: all fields of the type in one order, for tables. OWN_FIRST: those of the object's own schema in its order,
    then the type's others by name, for values. OWN: those of its own schema alone, for keys: a field that the type gets
    later changes no older key.
    """

    TYPE = 0
    OWN_FIRST = 1
    OWN = 2


def field_orders(
    binary: BinaryType, places: FieldPlaces, order: FieldOrder
) -> tuple[list[tuple[int, ...]], Positions | None]:
    """Return the distinct orders of fields of some objects, and for each object the number of its order.

    An order is a tuple of indexes into the type's fields. The numbers are None if there is one order.
    """
    if order is FieldOrder.TYPE:
        return [tuple(range(len(binary.fields)))], None
    index = {field.field_id: at for at, field in enumerate(binary.fields)}
    by_name = sorted(range(len(binary.fields)), key=lambda at: binary.fields[at].name.lower())
    numbers: dict[tuple[int, ...], int] = {}
    number = []
    for schema in places.schemas:
        own = dict.fromkeys(index[field_id] for field_id in schema)
        whole = own if order is FieldOrder.OWN else own | dict.fromkeys(by_name)
        number.append(numbers.setdefault(tuple(whole), len(numbers)))
    return list(numbers), None if len(numbers) == 1 or places.schema_of is None else np.array(number)[places.schema_of]


def order_column(orders: Sequence[Sequence[int]], order_of: Positions, shown: Sequence[int]) -> Column:
    """Build the child marked ``order`` of a struct with the fields `shown` as its children."""
    child = {field: at for at, field in enumerate(shown)}
    texts = [" ".join(str(child[field]) for field in order) for order in orders]
    return Column(pa.DictionaryArray.from_arrays(pa.array(order_of, pa.int32()), pa.array(texts, pa.string())), ORDER)


def orders_of(column: pa.DictionaryArray) -> tuple[list[list[int]], npt.NDArray[np.int64]]:
    """Invert :func:`order_column`: distinct orders as indexes of children, and each row's number.

    0 where the row is null.
    """
    orders = [[int(at) for at in text.split()] for text in column.dictionary.to_pylist()]
    return orders, np.asarray(column.indices.fill_null(0)).astype(np.int64)
