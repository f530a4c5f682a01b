"""JSON objects of many records, split into one column of texts per member, between transforms without schemas.

A column without a schema usually has whole texts. Between two transforms it may be a struct of the members' texts
instead, each text with the member's name, so that a chain splits and joins texts only once. A missing member is null in
its column; a member with the value null has the text ``null``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrow_layout import null_mask
from ..connect.columns import ConnectColumn
from .batch import ConnectBatch
from .json_split import Split, pieces, split
from .json_tokens import bytes_of, text_token
from .sides import present

_BINARY = pa.binary()
_NOTHING, _OPEN, _CLOSE, _COMMA = (pa.scalar(token, _BINARY) for token in (b"", b"{", b"}", b","))


@dataclass(frozen=True)
class Pairs:
    """Members of one name in N JSON objects, as texts ``"name":value``; null where an object lacks it.

    The value is extracted only if a transform reads it.
    """

    texts: pa.BinaryArray


@dataclass(frozen=True)
class JsonObjects:
    """N JSON objects, as one column for each of their members.

    :param count: N.
    :param members: members by name, in order: the texts of a member's values, null if an object does not have the
        member, or the member as :class:`Pairs`.
    :param missing: N flags: whether the object is Java's null; None if no object is.
    """

    count: int
    members: Mapping[str, pa.BinaryArray | Pairs] = field(default_factory=dict)
    missing: pa.BooleanArray | None = None

    def column(self) -> ConnectColumn:
        """Return the objects as a struct column with the texts of their members."""
        if not self.members:
            empty = pa.repeat(pa.scalar(b"{}", _BINARY), self.count)
            return ConnectColumn(
                empty if self.missing is None else pc.if_else(self.missing, pa.scalar(None, _BINARY), empty), None
            )
        pairs = [
            member.texts if isinstance(member, Pairs) else _with_name(name, member)
            for name, member in self.members.items()
        ]
        return ConnectColumn(pa.StructArray.from_arrays(pairs, list(self.members), mask=self.missing), None)

    def with_members(self, members: Mapping[str, pa.BinaryArray | Pairs]) -> JsonObjects:
        """Return the same objects with these members instead of their own."""
        return replace(self, members=members)

    def chosen(self, names: Iterable[tuple[str, str]]) -> JsonObjects:
        """Return the objects with only the given members, each under a new name."""
        return self.with_members({new: self.members[name] if new == name else self.tokens(name) for name, new in names})

    def all_have_members(self) -> bool:
        """Return whether every object has at least one of the members."""
        lacking = [
            (member.texts if isinstance(member, Pairs) else member).is_null() for member in self.members.values()
        ]
        return bool(lacking) and not pc.any(functools.reduce(pc.and_, lacking)).as_py()

    def tokens(self, name: str) -> pa.BinaryArray:
        """Return the JSON texts of a member's values; null where an object lacks the member."""
        member = self.members.get(name)
        if member is None:
            return pa.nulls(self.count, _BINARY)
        return _without_name(name, member.texts) if isinstance(member, Pairs) else member


def _with_name(name: str, tokens: pa.BinaryArray) -> pa.BinaryArray:
    return pc.binary_join_element_wise(pa.scalar(text_token(name) + b":", _BINARY), tokens, _NOTHING)


def _without_name(name: str, pairs: pa.BinaryArray) -> pa.BinaryArray:
    offsets, block = bytes_of(pairs)
    begins = np.minimum(offsets[:-1] + len(text_token(name)) + 1, offsets[1:])  # a null has no bytes
    return pieces(block, begins, offsets[1:])


def objects_of(column: ConnectColumn) -> JsonObjects | None:
    """Split a column of JSON texts into the members of its objects; None if a value cannot be split.

    Values other than objects cannot be split, nor can some objects (:func:`~.json_split.split`).
    """
    data = column.data
    if is_split(column):
        members = {field.name: Pairs(data.field(number)) for number, field in enumerate(data.type)}
        return JsonObjects(len(data), members, null_mask(data))
    is_present = present(column)
    if not pa.types.is_binary(data.type) or not is_present.any():
        return None
    parts = split(data if is_present.all() else data.filter(pa.array(is_present)))
    if not parts.fit.all():
        return None
    if is_present.all():
        return split_objects(len(data), parts)
    places = pa.array(np.maximum(np.cumsum(is_present) - 1, 0), mask=~is_present)
    members = {name: Pairs(pairs.take(places)) for name, pairs in parts.members.items()}
    return JsonObjects(len(data), members, pa.array(~is_present))


def split_objects(count: int, parts: Split) -> JsonObjects:
    """Convert the result of :func:`~.json_split.split`, all of whose texts were split, to objects."""
    return JsonObjects(count, {name: Pairs(pairs) for name, pairs in parts.members.items()})


def is_split(column: ConnectColumn) -> bool:
    """Return whether a column without a schema holds split members instead of whole JSON texts."""
    return column.schema is None and pa.types.is_struct(column.data.type) and column.data.type.num_fields > 0


def joined(column: ConnectColumn) -> ConnectColumn:
    """Return a column with whole JSON texts, joined again if its members were split."""
    if not is_split(column):
        return column
    data = column.data
    pairs = [data.field(number) for number in range(data.type.num_fields)]
    if any(pair.null_count for pair in pairs):
        # pyarrow 26 would lose a row of only nulls, so the bracket is joined with them
        begun = pc.binary_join_element_wise(_OPEN, *pairs, _COMMA, null_handling="skip")
        begun = pc.replace_substring(begun, "{,", "{", max_replacements=1)
        objects = pc.binary_join_element_wise(begun, _CLOSE, _NOTHING)
    else:
        objects = pc.binary_join_element_wise(_OPEN, pc.binary_join_element_wise(*pairs, _COMMA), _CLOSE, _NOTHING)
    return ConnectColumn(
        pc.if_else(data.is_valid(), objects, pa.scalar(None, _BINARY)) if data.null_count else objects, None
    )


def joined_sides(batch: ConnectBatch) -> ConnectBatch:
    """Return a batch whose keys and values without a schema are whole JSON texts."""
    if not is_split(batch.key) and not is_split(batch.value):
        return batch
    return replace(batch, key=joined(batch.key), value=joined(batch.value))
