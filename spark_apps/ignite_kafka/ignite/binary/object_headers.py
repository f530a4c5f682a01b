"""Reading of the headers (24 bytes) and footers of many binary objects at once.

Layout (`BinaryWriterExImpl`, `BinaryUtils` of Ignite 2.17), little-endian: code 103, protocol version 1, int16 flags,
int32 type id, int32 hash, int32 length, int32 schema id, int32 schema offset; then fields, then the footer: for each
field of the schema its offset from the object's start in 1, 2 or 4 bytes (by flags), each after an int32 field id
unless the compact flag is set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..types import type_codes as codes
from ..types.model import BinaryType
from .page_buffer import PageBuffer, Positions

_LAYOUT = codes.FLAG_HAS_SCHEMA | codes.FLAG_OFFSET_1 | codes.FLAG_OFFSET_2 | codes.FLAG_COMPACT


@dataclass(frozen=True)
class Headers:
    """Parsed headers of N binary objects, with absolute positions of start, footer and end."""

    start: Positions
    type_id: npt.NDArray[np.int32]
    schema_id: npt.NDArray[np.int32]
    flags: npt.NDArray[np.uint16]
    footer: Positions
    stop: Positions

    def of(self, rows: Positions) -> Headers:
        """Select the headers of some objects."""
        return Headers(
            self.start[rows], self.type_id[rows], self.schema_id[rows], self.flags[rows], self.footer[rows],
            self.stop[rows]
        )  # fmt: skip


def read_headers(wire: PageBuffer, at: Positions, end: Positions) -> Headers:
    """Parse the headers of the objects at positions `at`; DecodeError if a header is broken or beyond its `end`."""
    wire.require(at, at + codes.HEADER, end, "The header of a binary object")
    type_id = wire.at(at + 4, "<i4")
    _refuse(wire, at, wire.data[at + 1] != 1, "A binary object is not of protocol version 1", type_id)
    flags = wire.at(at + 2, "<u2")
    length = wire.ints(at + 12)
    _refuse(
        wire,
        at,
        (length < codes.HEADER) | (at + length > end),
        "The length of a binary object is outside its page or object",
        type_id,
    )
    footer = wire.ints(at + 20)
    schemaless = (flags & codes.FLAG_HAS_SCHEMA) == 0
    if schemaless.any():
        footer[schemaless] = length[schemaless]
    _refuse(
        wire,
        at,
        (footer < codes.HEADER) | (footer > length),
        "The footer of a binary object is outside the object",
        type_id,
    )
    return Headers(at, type_id, wire.at(at + 16, "<i4"), flags, at + footer, at + length)


def _refuse(
    wire: PageBuffer, at: Positions, bad: npt.NDArray[np.bool_], what: str, type_id: npt.NDArray[np.int32]
) -> None:
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise wire.error(int(at[first]), what, int(type_id[first]))


@dataclass(frozen=True)
class FieldPlaces:
    """Positions of the fields of n objects of one type, found in their footers.

    :param at: for each field of the metadata, the absolute position of its value in each object (n), -1 where it is
        absent.
    :param schemas: the distinct schemas, each the field ids in the order of the footer.
    :param schema_of: for each object the index of its schema (n); None if all have the same.
    """

    at: list[Positions]
    schemas: tuple[tuple[int, ...], ...]
    schema_of: Positions | None = None


def field_places(wire: PageBuffer, binary: BinaryType, headers: Headers) -> FieldPlaces:
    """Find the position of each field of a type in each object, from headers and footers."""
    raw = (headers.flags & codes.FLAG_HAS_RAW) != 0
    if raw.any():
        where = int(headers.start[np.flatnonzero(raw)[0]])
        raise wire.unsupported(
            where, f"An object of {binary.name} has raw data, which has no fields to read", binary.type_id
        )
    layout = (headers.schema_id.astype(np.int64) << 16) | (headers.flags & _LAYOUT)
    if (layout == layout[0]).all():
        place_of = _places_of_schema(wire, binary, headers)
        absent = np.full(headers.start.size, -1, np.int64)
        return FieldPlaces([place_of.get(field.field_id, absent) for field in binary.fields], (tuple(place_of),))
    places = [np.full(headers.start.size, -1, np.int64) for _ in binary.fields]
    schemas: dict[tuple[int, ...], int] = {}
    schema_of = np.zeros(headers.start.size, np.int64)
    kind_of = np.unique(layout, return_inverse=True)[1].ravel()
    by_kind = np.split(np.argsort(kind_of, kind="stable"), np.cumsum(np.bincount(kind_of))[:-1])
    for rows in by_kind:
        place_of = _places_of_schema(wire, binary, headers.of(rows))
        for index, field in enumerate(binary.fields):
            if field.field_id in place_of:
                places[index][rows] = place_of[field.field_id]
        schema_of[rows] = schemas.setdefault(tuple(place_of), len(schemas))
    return FieldPlaces(places, tuple(schemas), schema_of if len(schemas) > 1 else None)


def _places_of_schema(wire: PageBuffer, binary: BinaryType, headers: Headers) -> dict[int, Positions]:
    """Read the footers of objects with one schema: positions by field id, in the footers' order."""
    flags = int(headers.flags[0])
    if not flags & codes.FLAG_HAS_SCHEMA:
        return {}
    offset = "<u1" if flags & codes.FLAG_OFFSET_1 else "<u2" if flags & codes.FLAG_OFFSET_2 else "<i4"
    if flags & codes.FLAG_COMPACT:
        ids = _schema(wire, binary, headers)
        entry = np.dtype([("offset", offset)])
    else:
        entry = np.dtype([("id", "<i4"), ("offset", offset)])
        first = wire.data[int(headers.footer[0]) : int(headers.stop[0])]
        ids = tuple(first[: first.size - first.size % entry.itemsize].view(entry)["id"].tolist())
    width = entry.itemsize * len(ids)
    wrong = headers.stop - headers.footer != width
    _refuse(wire, headers.start, wrong, f"The footer of {binary.name} does not fit its schema", headers.type_id)
    if not ids:
        return {}
    wire.spend(width * headers.start.size, int(headers.start[0]))
    block = wire.at(headers.footer, f"V{width}").view(entry).reshape(-1, len(ids))
    if "id" in (entry.names or ()):
        wrong = np.asarray((block["id"] != np.array(ids, np.int32)).any(axis=1))
        _refuse(
            wire,
            headers.start,
            wrong,
            f"The footer of {binary.name} has other fields than its schema id says",
            headers.type_id,
        )
    return _absolute(wire, binary, headers, ids, np.ascontiguousarray(block["offset"].T).astype(np.int64))


def _absolute(
    wire: PageBuffer, binary: BinaryType, headers: Headers, ids: tuple[int, ...], offsets: Positions
) -> dict[int, Positions]:
    field_ids = {field.field_id for field in binary.fields}
    for field_id in ids:
        if field_id not in field_ids:
            raise wire.error(
                int(headers.start[0]), f"The metadata of {binary.name} has no field of id {field_id}", binary.type_id
            )
    outside = np.any((offsets < codes.HEADER) | (offsets >= headers.footer - headers.start), axis=0)
    _refuse(
        wire, headers.start, np.asarray(outside), f"A field of {binary.name} begins outside its object", headers.type_id
    )
    offsets += headers.start
    return dict(zip(ids, offsets, strict=True))


def _schema(wire: PageBuffer, binary: BinaryType, headers: Headers) -> tuple[int, ...]:
    """Look up the field ids of an object's schema in the metadata, in the order of the footer."""
    schema_id = int(headers.schema_id[0])
    if schema_id not in binary.schemas:
        raise wire.error(
            int(headers.start[0]), f"The metadata of {binary.name} has no schema {schema_id}", binary.type_id
        )
    return binary.schemas[schema_id]
