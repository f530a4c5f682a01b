"""A binary type that learns fields from records, each change with a way to undo it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from ...ignite.binary.object_layout import optional
from ...java.hash_code import java_hash
from ..rules.marked_fields import UNKNOWN, is_a

MAX_DENSE_FIELDS = 256
"""Maximum number of fields of a type whose objects have all fields written, like objects of a Java class.

See docs/decisions/0040-fields-of-a-row.md.
"""


@dataclass
class KnownType:
    """A binary type: its fields in the order written, and the type codes that the cluster stores for them.

    :param by_name: the fields are written in the order of their names.
    :param always: names in lower case of the fields that all objects have, in the order written. The other fields are
        optional and follow in the order of their names, unless the type is dense. None: objects have all fields.
    :param of_key: the type was a type of keys when it was read from the cluster.
    :param ids: names in lower case of the fields with a known type, by Ignite's field id.
    """

    fields: dict[str, pa.Field]
    codes: dict[str, int] = field(default_factory=dict)
    fixed: bool = False
    learned: set[str] = field(default_factory=set)
    registered: tuple[str, ...] | None = None
    by_name: bool = False
    always: tuple[str, ...] | None = None
    of_key: bool = False
    ids: dict[int, str] = field(init=False)

    def __post_init__(self) -> None:
        self.ids = {java_hash(name): name for name, field in self.fields.items() if not is_a(field, UNKNOWN)}

    @property
    def dense(self) -> bool:
        """Whether objects are written with all fields of the type, null fields included."""
        return self.always is None or (not self.of_key and len(self.fields) <= MAX_DENSE_FIELDS)

    def written(self) -> tuple[pa.Field, ...]:
        """Return the fields in the order in which objects are written; optional fields are marked."""
        if self.dense or self.always is None:
            return (
                tuple(field for _, field in sorted(self.fields.items()))
                if self.by_name
                else tuple(self.fields.values())
            )
        first = {name: self.fields[name] for name in self.always if name in self.fields}
        return (*first.values(), *(optional(field) for name, field in sorted(self.fields.items()) if name not in first))

    def put(self, name: str, field: pa.Field) -> None:
        """Add a field under its lower-case name, or replace the field that has this name."""
        self.fields[name] = field
        if not is_a(field, UNKNOWN):
            self.ids[java_hash(name)] = name

    def learn(self, name: str, field: pa.Field, *, by_name: bool) -> Callable[[], None]:
        """Add or replace a field learned from a record; return a function that undoes it.

        The function keeps this field only: a copy of all fields for each field would be quadratic.
        """
        old = self.fields.get(name)
        was_learned = name in self.learned
        was_by_name = self.by_name
        self.put(name, field)
        self.learned.add(name)
        self.by_name = by_name or was_by_name

        def undo() -> None:
            if old is None:
                del self.fields[name]
            else:
                self.fields[name] = old
            if old is None or is_a(old, UNKNOWN):
                self.ids.pop(java_hash(name), None)
            if not was_learned:
                self.learned.discard(name)
            self.by_name = was_by_name

        return undo
