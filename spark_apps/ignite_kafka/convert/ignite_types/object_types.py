"""Binary types of the objects in records: fields declared, fields of the cluster, and fields learned from records.

The cluster's metadata decides for all tasks and runs: an existing field keeps its type, whatever a record holds. Only a
field missing there is learned, from its first value that is not null: integers become long, other numbers double,
arrays collections, and objects binary types of their own, named ``<type>.<field>``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ... import events
from ...common.record_limits import MAX_FIELDS
from ...errors import TypeClash, UnknownBinaryType
from ...ignite.binary.encode_sparse import Schema
from ...ignite.binary.object_layout import ObjectLayout, as_optional
from ...ignite.types.model import BinaryField, BinaryType
from ...ignite.types.type_table import MARK, TYPE_NAME, code_name, mark_of, type_code
from ...java.hash_code import java_hash
from ..rules.marked_fields import (
    ANY,
    OBJECT,
    UNKNOWN,
    any_kind,
    guessed,
    is_a,
    is_guessed,
    is_open,
    reference,
    settled,
    spelled,
    spelling,
    unknown,
)
from ..rules.parsed_json import QUOTED_FLOATS, Number, kind_of
from .entries import Types
from .held_types import declared_form, has_expected_fields, require_one_form
from .key_types import KeyTypes
from .known_type import KnownType
from .metadata_fields import metadata_code, metadata_field
from .object_schemas import ObjectSchemas
from .sql_columns import SqlColumns
from .type_names import TypeNames
from .unknown_classes import UnknownClasses


class ObjectTypes:
    """Binary types by name, read from the cluster when first needed and extended by fields learned from records.

    `version` rises with each learned field and each noted spelling, `rereads` with each type that is read again from
    the cluster.

    :param declared: fields that query entities declare, by name of the type.
    :param keys: types of keys and of objects within keys (:func:`~.key_types.types_of_keys`). If such a type is
        declared or known to the cluster, no record adds a field to it, as all its keys would become different keys.
    :param local: types that are never written and never registered.
    :param columns: columns of query entities that are no fields of a value, though records may have such fields.
    :param always: names in lower case of the declared fields that all values have, by name of the type.
    :param key_classes: types in `keys` of objects within keys; the cluster may hold several versions of such a type.
    """

    def __init__(
        self,
        types: Types,
        declared: Mapping[str, Sequence[pa.Field]] | None = None,
        keys: frozenset[str] = frozenset(),
        local: frozenset[str] = frozenset(),
        columns: SqlColumns | None = None,
        always: Mapping[str, tuple[str, ...]] | None = None,
        key_classes: frozenset[str] = frozenset(),
    ) -> None:
        self.types = types
        self._declared = declared or {}
        self._local = local
        self._always = always
        self._keys = KeyTypes(keys, self._declared)
        self._key_classes = key_classes
        self._schemas = ObjectSchemas(types)
        self.columns = columns or SqlColumns()
        self._classes = UnknownClasses(types)
        self.names = TypeNames(types)
        self._by_name: dict[str, KnownType] = {}
        self._hints: dict[str, pa.Field | None] = {}
        self._undo: list[Callable[[], object]] = []
        self.version = self.rereads = 0
        self.guessing = False
        self.lists: dict[str, str | None] = {}
        self.days: set[tuple[str, str]] = set()  # types and fields in lower case that records have as java.sql.Date

    def fields(self, type_name: str) -> tuple[pa.Field, ...]:
        """Return all fields of a type, in the order in which objects are written."""
        return self._type(type_name).written()

    def field(self, type_name: str, name: str) -> pa.Field | None:
        """Return a type's field by its name in any case; None without such a field."""
        return self._type(type_name).fields.get(name.lower())

    def same_id(self, type_name: str, name: str) -> str | None:
        """Return another field of the type with the same field id, a hash of the name; None without such a field."""
        object_type = self._type(type_name)
        other = object_type.ids.get(java_hash(name.lower()))
        return None if other is None or other == name.lower() else str(object_type.fields[other].name)

    def is_full(self, type_name: str) -> bool:
        """Return whether a type has the maximum number of fields, so that records cannot add more."""
        return len(self._type(type_name).ids) >= MAX_FIELDS

    def spell(self, type_name: str, name: str) -> None:
        """Record how JSON spells a field's name; the first spelling is kept."""
        fields = self._type(type_name).fields
        field = fields[name.lower()]
        if spelling(field) == name or spelling(field) != field.name:
            return
        self._note(lambda: fields.update({name.lower(): field}))
        fields[name.lower()] = spelled(field, name)

    def learn(self, type_name: str, name: str, value: Any) -> pa.Field | None:
        """Add a field from a record, or set the type of an untyped field; return None if the type accepts no field.

        A null member adds no field to the objects written, so any type accepts it; a full type does not note it.
        """
        object_type = self._type(type_name)
        if value is not None and (object_type.fixed or self.is_full(type_name)):
            return None
        old = object_type.fields.get(name.lower())
        label = old.name if old is not None else name
        field = unknown(label) if value is None else self._first(type_name, label, value)
        if value is None and len(object_type.fields) >= MAX_FIELDS:
            return field
        # tasks that learn a key type at the same time must write the same key with the same bytes
        by_name = self.of_key(type_name) and not object_type.fixed
        field = field if label == name else spelled(field, name)
        self._note(object_type.learn(name.lower(), field, by_name=by_name))
        return field

    def decide(self, type_name: str, name: str, *, is_object: bool) -> pa.Field | None:
        """Decide by a value whether a field of an unknown class holds objects or enums; None if it stays open.

        Return None if the class is still undecided.
        """
        object_type = self._type(type_name)
        old = object_type.fields[name.lower()]
        field = self._classes.by_value(old, is_object=is_object)
        if field is not None:
            field = field if spelling(old) == old.name else spelled(field, spelling(old))
            self._note(object_type.learn(name.lower(), field, by_name=False))
        return field

    def new_batch(self) -> None:
        """Start a batch: unknown classes may be looked up in the cluster again."""
        if self._classes.new_batch():
            self.rereads += 1

    def add_fields(
        self, type_name: str, fields: Sequence[pa.Field], *, of_key: bool = False, by_name: bool = False
    ) -> None:
        """Add the fields that a type lacks, in their order.

        Nothing is added to a full type (:meth:`is_full`), nor to a type of keys that is declared or in the cluster.

        :param of_key: objects of the type are keys, or within keys.
        :param by_name: a type of keys is written in the order of its fields' names, as with fields learned from JSON.
        """
        if of_key:
            self._keys.add(type_name)
        object_type = self._type(type_name)
        if of_key and object_type.registered is not None:
            object_type.fixed = True
        new = {
            field.name.lower(): field
            for field in fields
            if is_a(object_type.fields.get(field.name.lower(), unknown(field.name)), UNKNOWN)
        }
        by_name = by_name and self.of_key(type_name)
        for name, field in new.items():
            if not object_type.fixed and not self.is_full(type_name):
                self._note(object_type.learn(name, self.columns.key_field(type_name, name) or field, by_name=by_name))

    def _first(self, type_name: str, label: str, value: Any) -> pa.Field:
        """Return the Arrow field for a new field, typed by the first value.

        For a text such as NaN, the type is a guess: double, as converter `json` writes floats, or String in keys.
        """
        if (of_key := self.columns.key_field(type_name, label)) is not None:
            return of_key
        if type(value) is str and value in QUOTED_FLOATS:
            self.guessing = True
            return guessed(pa.field(label, pa.string() if self.of_key(type_name) else pa.float64()))
        inner = f"{type_name}.{label}"
        # the cluster's metadata has code Object for an object, which another task reads as a field of any type
        return any_kind(label, inner) if type(value) is dict else kind_of(value, inner, label)

    def reconsider(self, type_name: str, name: str, value: Any) -> pa.Field | None:
        """Change a guessed field type to the type of a contradicting value; None if the type was no guess."""
        object_type = self._type(type_name)
        old = object_type.fields[name.lower()]
        kind = pa.string() if type(value) is str else pa.float64() if type(value) is Number else None
        if kind is None or not is_guessed(old):
            return None
        field = settled(old).with_type(kind)
        self._note(lambda: object_type.put(name.lower(), old))
        object_type.put(name.lower(), field)
        return field

    def settle(self, type_name: str, name: str) -> None:
        """Make a guessed field type certain, because a value fits no other type."""
        fields = self._type(type_name).fields
        field = fields.get(name.lower())
        if field is not None and is_guessed(field):
            fields[name.lower()] = settled(field)

    def forget(self, version: int) -> None:
        """Undo all changes of types since a version, because the record that caused them is bad."""
        while self.version > version:
            self._undo.pop()()
            self.version -= 1

    def _note(self, undo: Callable[[], object]) -> None:
        self._undo.append(undo)
        self.version += 1

    def declare(self, type_name: str, field: pa.Field) -> None:
        """Add a field whose type is known, or replace it."""
        self._type(type_name).put(field.name.lower(), field)

    def hint(self, type_name: str, kind: pa.Field) -> None:
        """Remember the first value's type of a field that may hold any type, to read the field as a column.

        The field is first read as a column of this type; values of other types are read row by row. Doubles are not
        noted, because a column of doubles would also accept integers, nor are arrays, which may be nested.
        """
        if type_name not in self._hints:
            useful = not (pa.types.is_list(kind.type) or pa.types.is_floating(kind.type))
            self._hints[type_name] = kind if useful else None
            if useful:
                self._note(lambda: self._hints.pop(type_name))

    def remember(self, type_name: str, content: str) -> None:
        """Remember the content of an element type's lists: `text`, `number`, or `guess` if only texts such as NaN."""
        old, self.lists[type_name] = self.lists.get(type_name), content
        self._note(lambda: self.lists.update({type_name: old}))

    def expanded(self, root: pa.Field, within: tuple[str, ...] = ()) -> pa.Field:
        """Return a field with references replaced by structs, and fields of any type by the type of their first value.

        A type within itself stays a reference; a field of any type gets the type noted by :meth:`hint`.
        """
        kind = root.type
        name = (root.metadata or {}).get(TYPE_NAME, b"").decode()
        if pa.types.is_list(kind):
            element = kind.value_field
            # an array of Object would become an array of its elements' type
            fixed = is_a(element, ANY) and mark_of(root) != "collection"
            return root if fixed else root.with_type(pa.list_(self.expanded(element, within)))
        hint = self._hints.get(name) if is_a(root, ANY) else None
        if hint is not None:
            named = hint.with_name(root.name)
            return self.expanded(named if spelling(root) == root.name else spelled(named, spelling(root)), within)
        if not is_a(root, OBJECT) or name in within:
            return root
        inner = [as_optional(self.expanded(field, (*within, name)), field) for field in self.fields(name)]
        metadata = {key: value for key, value in root.metadata.items() if key != MARK}
        return root.with_type(pa.struct(inner)).with_metadata(metadata)

    def written(self, type_name: str) -> tuple[pa.Field, ...]:
        """Return the fields to write in objects: all fields with a known type."""
        return tuple(field for field in self.fields(type_name) if not is_open(field))

    def register(self) -> bool:
        """Register all types of the batch; return False if the batch must be read again with the cluster's types.

        This is so if the cluster has another form of a type.

        :raises TypeClash: a field is declared differently in a query entity and in the cluster's metadata, or a type of
            keys has several schemas.
        """
        return all(self._register(name) for name in list(self._by_name))

    def accepted(self, type_name: str, schemas: Sequence[Schema]) -> list[bool]:
        """Return, for each schema, whether objects of the type may be written with it.

        See :class:`~ignite_kafka.ignite.binary.encode_sparse.Schemas`.
        """
        return self._schemas.accepted(type_name, schemas, limited=not self.of_key(type_name))

    def use(self, type_name: str, schema: Schema) -> None:
        """Accept a schema for a type's objects, to be registered together with the type."""
        self._schemas.use(type_name, schema)

    def whole(self, type_name: str) -> tuple[pa.Field, ...]:
        """Return the fields to write for objects whose own schema was not accepted: all fields of the type."""
        return self.written(type_name)

    def _register(self, type_name: str) -> bool:
        object_type = self._by_name[type_name]
        fields = self.written(type_name)
        names = tuple(field.name for field in fields)
        schemas = self._schemas.new(type_name)
        if (object_type.registered == names and not schemas) or not names or type_name in self._local:
            return True
        layout = ObjectLayout(type_name, fields)
        coded = tuple(
            BinaryField(field.name, object_type.codes.get(field.name.lower(), metadata_code(field)), number)
            for field, number in zip(fields, layout.field_ids, strict=True)
        )
        schemas = {layout.schema_id: layout.field_ids} if object_type.dense else schemas
        expected = BinaryType(layout.type_id, type_name, None, coded, schemas)
        of_key = self.of_key(type_name)
        undeclared_key = of_key and not self._declared.get(type_name)  # known only to the cluster
        one_form = undeclared_key and not (object_type.fixed and type_name in self._key_classes)
        if one_form and object_type.fixed:
            require_one_form(self.types.binary_type(layout.type_id))
        try:
            held = self.types.register(expected, unless_known=of_key and not object_type.fixed)
        except TypeClash:
            # another task has meanwhile learned the field with another type: the cluster's type is used
            declared = self._declared.get(type_name, ())
            if not object_type.learned - {field.name.lower() for field in declared if not is_open(field)}:
                raise
            self._read_anew(type_name)
            return False
        if one_form:
            require_one_form(held)
        if of_key and not has_expected_fields(held, expected):
            # another task has meanwhile registered the key type: keys are written in the registered form
            self._read_anew(type_name)
            return False
        self._report_guesses(type_name, object_type)
        object_type.registered = names
        object_type.fixed = of_key
        object_type.learned = set()
        object_type.codes |= {field.name.lower(): field.type_code for field in held.fields}
        self._schemas.registered(type_name, held.schemas)
        return True

    def _read_anew(self, type_name: str) -> None:
        del self._by_name[type_name]
        self._schemas.forget(type_name)
        self.rereads += 1

    def _report_guesses(self, type_name: str, object_type: KnownType) -> None:
        """Report fields whose types were guessed, because a registered type never changes."""
        for name, field in object_type.fields.items():
            if is_guessed(field):
                events.emit(events.FLOAT_GUESSED, type=type_name, field=field.name, kind=code_name(type_code(field)))
                object_type.fields[name] = settled(field)

    def _type(self, type_name: str) -> KnownType:
        if type_name not in self._by_name:
            self._by_name[type_name] = self._read(type_name)
        return self._by_name[type_name]

    def _read(self, type_name: str) -> KnownType:
        listed = (*self.columns.undecided(type_name), *self._declared.get(type_name, ()))
        declared = {field.name.lower(): self._classes.decided(field) for field in listed}
        if type_name in self._local:
            return KnownType(declared, fixed=True)
        of_key = self.of_key(type_name)
        try:
            binary = self.types.binary_type(java_hash(type_name.lower()))
        except UnknownBinaryType:
            return KnownType(
                declared, fixed=of_key and bool(declared), always=None if of_key else self._always_of(type_name)
            )
        of_metadata = {}
        for field in binary.fields:
            name = field.name.lower()
            if self.columns.contract.lacks(type_name, name):
                continue
            of_metadata[name] = metadata_field(
                field, type_name, declared.get(name, self.columns.key_field(type_name, name))
            )
            inner = f"{type_name}.{field.name}"
            if is_a(of_metadata[name], ANY) and self.names.is_known(inner):
                # most likely objects, as in a field learned from a record
                self._hints.setdefault(inner, reference("", inner))
        held = {field.name.lower(): field.type_code for field in binary.fields}
        always = self._always_of(type_name)
        always = declared_form(binary, always) if of_key and always is not None else always
        return KnownType(
            of_metadata | {name: field for name, field in declared.items() if name not in of_metadata},
            held,
            of_key,
            always=always,
            of_key=of_key,
        )

    def _always_of(self, type_name: str) -> tuple[str, ...] | None:
        return None if self._always is None else self._always.get(type_name, ())

    def of_key(self, type_name: str) -> bool:
        """Return whether objects of a type are keys or within keys."""
        return type_name in self._keys
