"""Cache of the schemas in JSON records, by the schemas' JSON text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property

from ..connect.schema import ConnectSchema
from ..json.values import Refused
from .payload_columns import decimal_members
from .payload_rows import PayloadReader

SchemaOf = Callable[[str], ConnectSchema | None]


class KnownSchema:
    """A schema with its reader of single values.

    :param defaults: see :class:`.PayloadReader`.
    """

    def __init__(self, schema: ConnectSchema | None, *, defaults: bool) -> None:
        self.schema = schema
        self._defaults = defaults

    @cached_property
    def reader(self) -> PayloadReader | None:
        """Reader of single values; None without a schema."""
        return None if self.schema is None else PayloadReader(self.schema, defaults=self._defaults)

    @cached_property
    def decimals(self) -> frozenset[tuple[str, int]]:
        """Names and scales of the decimals in the schema; see :func:`.decimal_members`."""
        return frozenset() if self.schema is None else frozenset(decimal_members(self.schema))


class KnownSchemas:
    """Cache of the most recently used schemas, by their JSON text.

    :param schema_of: function that returns the schema for a text, or raises Refused.
    :param most: maximum number of schemas kept.
    """

    def __init__(self, schema_of: SchemaOf, most: int, *, defaults: bool) -> None:
        self._schema_of = schema_of
        self._most = max(most, 1)
        self._defaults = defaults
        self._kept: OrderedDict[str, KnownSchema | str] = OrderedDict()

    def get(self, text: str) -> KnownSchema:
        """Return the schema that a JSON text describes; raise Refused if it describes none."""
        entry = self._kept.get(text)
        if entry is None:
            try:
                entry = KnownSchema(self._schema_of(text), defaults=self._defaults)
            except Refused as error:
                entry = error.reason
            self._kept[text] = entry
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(text)
        if isinstance(entry, str):
            raise Refused(entry)
        return entry
