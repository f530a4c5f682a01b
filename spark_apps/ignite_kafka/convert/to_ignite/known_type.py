"""One binary type as records give it fields: its fields, their ids, and how each learned field is taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from ...ignite.types.java_hash import java_hash
from .marked_fields import UNKNOWN, is_a


@dataclass
class KnownType:
    """One binary type: its fields by lower-cased name in the order written, and the codes that the cluster has for them.

    :param by_name: the fields are written in the order of their names.
    :param ids: names in lower case of the fields of known type, by Ignite's field id.
    """

    fields: dict[str, pa.Field]
    codes: dict[str, int] = field(default_factory=dict)
    fixed: bool = False
    learned: set[str] = field(default_factory=set)
    registered: tuple[str, ...] | None = None
    by_name: bool = False
    ids: dict[int, str] = field(init=False)

    def __post_init__(self) -> None:
        self.ids = {java_hash(name): name for name, one in self.fields.items() if not is_a(one, UNKNOWN)}

    def put(self, name: str, one: pa.Field) -> None:
        """Add a field under its name in lower case, or replace the field of that name."""
        self.fields[name] = one
        if not is_a(one, UNKNOWN):
            self.ids[java_hash(name)] = name

    def learn(self, name: str, one: pa.Field, *, by_name: bool) -> Callable[[], None]:
        """Put a field that records have; returns what takes it back.

        Only this field is kept for that, not all: a copy for each field would be quadratic in the fields of a record.
        """
        old, was_learned, was_by_name = self.fields.get(name), name in self.learned, self.by_name
        self.put(name, one)
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
