"""JSON objects of many records as one column of texts for each member: the form between schemaless transforms of a chain.

A column without a schema is usually of whole texts. Between two transforms it may be a struct of the members' texts instead, so that a
chain splits texts once and joins them once. A member that an object lacks is null in its column; the text ``null`` is a member's null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...common.arrow_layout import null_mask
from ..connect.columns import ConnectColumn
from .batch import ConnectBatch
from .json_split import split
from .json_tokens import NULL, text_token

_BINARY = pa.binary()
_NOTHING, _OPEN, _CLOSE = (pa.scalar(one, _BINARY) for one in (b"", b"{", b"}"))


@dataclass(frozen=True)
class JsonObjects:
    """N objects.

    :param count: N.
    :param members: texts of each member by name, in order; null where the object lacks it.
    :param missing: N flags of those that are Java's null; None: none is.
    """

    count: int
    members: Mapping[str, pa.BinaryArray] = field(default_factory=dict)
    missing: pa.BooleanArray | None = None

    def column(self) -> ConnectColumn:
        """The objects as a column of the form of this module."""
        if not self.members:
            empty = pa.repeat(pa.scalar(b"{}", _BINARY), self.count)
            return ConnectColumn(empty if self.missing is None else pc.if_else(self.missing, pa.scalar(None, _BINARY), empty), None)
        data = pa.StructArray.from_arrays(list(self.members.values()), list(self.members), mask=self.missing)
        return ConnectColumn(data, None)

    def with_members(self, members: Mapping[str, pa.BinaryArray]) -> JsonObjects:
        """The same objects with other members."""
        return replace(self, members=members)

    def tokens(self, name: str) -> pa.BinaryArray:
        """The texts of a member, null for each object that lacks it."""
        found = self.members.get(name)
        return pa.nulls(self.count, _BINARY) if found is None else found


def objects_of(column: ConnectColumn) -> JsonObjects | None:
    """The objects of a column without a schema; None if a value is no object, or one that only rows can hold."""
    data = column.data
    if is_split(column):
        members = {one.name: data.field(number) for number, one in enumerate(data.type)}
        return JsonObjects(len(data), members, null_mask(data))
    if not pa.types.is_binary(data.type) or data.null_count == len(data):
        return None
    there = ~_nulls(data)
    texts = data if there.all() else data.filter(pa.array(there))
    found = split(texts)
    if not len(texts) or not found.fit.all():
        return None
    if there.all():
        return JsonObjects(len(data), found.members)
    places = pa.array(np.maximum(np.cumsum(there) - 1, 0), mask=~there)
    return JsonObjects(len(data), {name: tokens.take(places) for name, tokens in found.members.items()}, pa.array(~there))


def _nulls(data: pa.BinaryArray) -> Mask:
    nulls: Mask = np.asarray(pc.fill_null(pc.equal(data, NULL), True))
    return nulls


def is_split(column: ConnectColumn) -> bool:
    """Whether a column without a schema is in the form of this module."""
    return column.schema is None and pa.types.is_struct(column.data.type) and column.data.type.num_fields > 0


def joined(column: ConnectColumn) -> ConnectColumn:
    """A column whose values without a schema are whole texts."""
    if not is_split(column):
        return column
    data = column.data
    pieces: list[pa.Array | pa.Scalar] = []
    for number, one in enumerate(data.type):
        tokens, name = data.field(number), pa.scalar(b"," + text_token(one.name) + b":", _BINARY)
        if tokens.null_count:
            pieces.append(pc.binary_join_element_wise(name, tokens, _NOTHING).fill_null(b""))
        else:
            pieces += [name, tokens]
    if data.field(0).null_count:
        made = pc.binary_join_element_wise(_OPEN, *pieces, _CLOSE, _NOTHING)
        made = pc.replace_substring(made, "{,", "{", max_replacements=1)
    else:
        pieces[0] = pa.scalar(b"{" + pieces[0].as_py()[1:], _BINARY)
        made = pc.binary_join_element_wise(*pieces, _CLOSE, _NOTHING)
    return ConnectColumn(pc.if_else(data.is_valid(), made, pa.scalar(None, _BINARY)) if data.null_count else made, None)


def joined_sides(batch: ConnectBatch) -> ConnectBatch:
    """A batch whose values without a schema are whole texts."""
    if not is_split(batch.key) and not is_split(batch.value):
        return batch
    return replace(batch, key=joined(batch.key), value=joined(batch.value))
