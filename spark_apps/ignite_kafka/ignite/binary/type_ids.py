"""Search for the binary types used by entries; only fields that can hold a binary type are read."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...common.arrays import Mask
from ..types import type_codes as codes
from ..types.model import class_id
from .container_elements import Elements, element_places, tree_places
from .decode_columns import ColumnDecoder
from .decode_scalars import lengths
from .entry_bounds import EntryBounds
from .java_classes import SYSTEM_TYPES, TREE_MAP, TREE_SET, metadata, refreshed
from .object_headers import Headers, read_headers
from .optimized_transcode import classes_of
from .page_buffer import PageBuffer, Positions

Ids = npt.NDArray[np.int32]

_ENUMS = (codes.ENUM, codes.BINARY_ENUM)
_LISTS = (codes.COLLECTION, codes.MAP, codes.OBJECT_ARRAY, codes.ENUM_ARRAY)
_HOLDERS = frozenset({codes.OBJECT, *_ENUMS, *_LISTS, codes.WRAPPED, codes.PROXY, codes.OPTIMIZED})
"""Type codes under which a binary type can occur; fields declared with other codes hold none."""
_NESTED = frozenset({codes.OBJECT, codes.OPTIMIZED, *_LISTS})


def type_ids_within(wire: PageBuffer, bounds: EntryBounds, *, max_depth: int | None = None) -> set[int]:
    """Collect the ids of all binary types and enums in keys and values, except Ignite's own types.

    Of objects whose fields are all simple, only headers are read. Of objects with raw data, only their own type counts.
    Values of Java's optimized marshaller name classes, not binary types: their ids are those of
    :func:`~ignite_kafka.ignite.types.model.class_id`. A node refuses a put whose classes it does not know.
    java.util.TreeSet is such a class, too: nodes do not know its name by themselves.

    Each object is visited once, and each container measured once, whatever the nesting.

    :param max_depth: maximum levels of objects and containers in a value; then no two fields may share an object. None:
        no limit, and objects may be shared.
    :raises DecodeError: bytes that do not decode; with `max_depth` also bytes of an object that belong to two fields.
    :raises UnsupportedType: a value is nested deeper.
    """
    walker = _Walker(ColumnDecoder(wire), max_depth)
    walker.left = [(bounds.key_start, bounds.key_end, 0), (bounds.value_start, bounds.value_end, 0)]
    while walker.left:
        walker.visit(*walker.left.pop())
    return walker.type_ids - SYSTEM_TYPES - {0}


@dataclass
class _Walker:
    """Visits nested values level by level, and collects type ids.

    :param left: places, ends and depths of values that are not visited yet.
    :param visited: by position, True for visited objects: fields of broken data may share objects on each level, so
        that the number of paths grows exponentially.
    """

    decoder: ColumnDecoder
    max_depth: int | None
    type_ids: set[int] = field(default_factory=set)
    left: list[tuple[Positions, Positions, int]] = field(default_factory=list)
    visited: Mask | None = None

    def visit(self, at: Positions, end: Positions, depth: int) -> None:
        """Collect the types of the values at positions `at` (-1: absent), and queue their inner values."""
        wire = self.decoder.wire
        is_present = at >= 0
        wire.require(at[is_present], at[is_present] + 1, end[is_present], "A value")
        # the target of a handle is visited at its own position
        is_present[is_present] = wire.data[at[is_present]] != codes.HANDLE
        place, limit = self.decoder.resolve(at[is_present], end[is_present])
        code = wire.data[place]
        for type_code in np.unique(code).tolist():
            rows = np.flatnonzero(code == type_code)
            self._visit_code(type_code, place[rows], limit[rows], depth)

    def _visit_code(self, code: int, at: Positions, end: Positions, depth: int) -> None:
        wire = self.decoder.wire
        if self.max_depth is not None and depth >= self.max_depth and code in _NESTED:
            raise wire.unsupported(int(at[0]), f"A value is nested deeper than {self.max_depth} levels")
        if code in _ENUMS:
            wire.require(at, at + 9, end, "An enum")
            self._add_constants(wire.at(at + 1, "<i4"), wire.at(at + 5, "<i4"))
        elif code == codes.OPTIMIZED:
            self._add_classes(at, end)
        elif code in _LISTS:
            self._queue_elements(element_places(wire, code, at, end), depth)
        elif code == codes.OBJECT:
            new = self._mark_visited(at, depth)
            if self.max_depth is not None and not new.all():
                raise wire.error(int(at[~new][0]), "Two fields share the bytes of an object")
            headers = read_headers(wire, at[new], end[new])
            for type_id in np.unique(headers.type_id).tolist():
                self._visit_objects(type_id, headers.of(np.flatnonzero(headers.type_id == type_id)), depth)

    def _mark_visited(self, at: Positions, depth: int) -> Mask:
        """Flag the objects that were not visited before, and mark all as visited.

        Whole keys and values are never shared, so they need no marks.
        """
        if not depth:
            return np.ones(at.size, bool)
        if self.visited is None:
            self.visited = np.zeros(self.decoder.wire.data.size, bool)
        new: Mask = ~self.visited[at]
        self.visited[at] = True
        return new

    def _add_constants(self, type_ids: Ids, ordinals: Ids) -> None:
        """Collect the type ids of enums; metadata that lack a constant are read again."""
        for type_id in np.unique(type_ids).tolist():
            self.type_ids.add(type_id)
            if type_id:
                names = metadata(self.decoder.wire.types, type_id).enum_values
                if names and not names.keys() >= set(np.unique(ordinals[type_ids == type_id]).tolist()):
                    refreshed(self.decoder.wire.types, type_id)

    def _add_classes(self, at: Positions, end: Positions) -> None:
        wire = self.decoder.wire
        sizes = lengths(wire, at, end, 5, 1, "An object of Java's optimized marshaller")
        for start, size in zip((at + 5).tolist(), sizes.tolist(), strict=True):
            self.type_ids.update(class_id(name) for name in classes_of(wire.data[start : start + size].data))

    def _queue_elements(self, places: Elements, depth: int) -> None:
        if places.at.size:
            self.left.append((places.at, places.end, depth + 1))

    def _visit_objects(self, type_id: int, headers: Headers, depth: int) -> None:
        wire = self.decoder.wire
        self.type_ids.add(class_id(type_id) if type_id == TREE_SET else type_id)
        if type_id in (TREE_MAP, TREE_SET):
            self._queue_elements(tree_places(wire, headers.start, headers.stop, 2 if type_id == TREE_MAP else 1), depth)
            return
        raw = (headers.flags & codes.FLAG_HAS_RAW) != 0
        self._check_raw_schemas(type_id, headers.of(np.flatnonzero(raw)))
        headers = headers.of(np.flatnonzero(~raw))
        if headers.start.size == 0 or self._holds_no_type(type_id, headers):
            return
        binary, places = self.decoder.places(type_id, headers)
        for place, binary_field in zip(places.at, binary.fields, strict=True):
            if binary_field.type_code in _HOLDERS and (place >= 0).any():
                wire.spend(1024 + place.size, int(headers.start[0]))
                self.left.append((place, headers.footer, depth + 1))

    def _check_raw_schemas(self, type_id: int, headers: Headers) -> None:
        """Check that the type's metadata has the schemas of objects with raw data.

        The schemas of other objects are checked when their fields are located.
        """
        layout = codes.FLAG_HAS_SCHEMA | codes.FLAG_COMPACT
        rows = np.flatnonzero((headers.flags & layout) == layout)
        schema_ids = np.unique(headers.schema_id[rows]).tolist()
        types = self.decoder.wire.types
        for schema in schema_ids:
            if schema not in metadata(types, type_id).schemas and schema not in refreshed(types, type_id).schemas:
                what = f"The metadata of {metadata(types, type_id).name} has no schema {schema}"
                raise self.decoder.wire.error(int(headers.start[rows[0]]), what, type_id)

    def _holds_no_type(self, type_id: int, headers: Headers) -> bool:
        """Return whether no field of the objects can hold a binary type, so that they need not be read."""
        binary = metadata(self.decoder.wire.types, type_id)
        simple = not any(field.type_code in _HOLDERS for field in binary.fields)
        return simple and all(schema in binary.schemas for schema in np.unique(headers.schema_id).tolist())
