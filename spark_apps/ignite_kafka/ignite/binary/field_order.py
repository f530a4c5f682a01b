"""Order of the fields of decoded objects, which must be the same in all tasks and runs.

It comes from the schema named in the object's footer.
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
"""Mark of a struct's last child: for each row the indexes of the children that the row's object has.

The indexes are in the object's order.
"""


class FieldOrder(Enum):
    """Which fields decoded objects have, and in which order.

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
    """Determine the distinct field orders of objects, and which order each object has.

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
    """Build a struct's extra child ``order``, which stores the field order of each row."""
    child = {field: at for at, field in enumerate(shown)}
    texts = [" ".join(str(child[field]) for field in order) for order in orders]
    return Column(pa.DictionaryArray.from_arrays(pa.array(order_of, pa.int32()), pa.array(texts, pa.string())), ORDER)


def orders_of(column: pa.DictionaryArray) -> tuple[list[list[int]], npt.NDArray[np.int64]]:
    """Read a struct's extra child ``order``: the distinct field orders, and which one each row has.

    An order has indexes of children. The number of a null row is 0.
    """
    orders = [[int(at) for at in text.split()] for text in column.dictionary.to_pylist()]
    return orders, np.asarray(column.indices.fill_null(0)).astype(np.int64)
