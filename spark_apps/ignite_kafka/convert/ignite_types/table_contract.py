"""Contract of records with a cache's SQL tables: fields of values that have no column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ... import events
from ...ignite.types.model import CacheInfo, QueryEntity
from ...ignite.types.type_table import java_code
from ...settings.schema_contracts import CLOSED, DISCARD_FIELD, STORE

_MOST_NAME = 200  # characters of a field's name in an event


class ContractBreach(str):
    """Reason of a record that breaks a schema contract; `contract` is the value of the setting `schema_contract`."""

    contract: str

    def __new__(cls, text: str, contract: str) -> ContractBreach:
        """Make a reason from its text."""
        breach = super().__new__(cls, text)
        breach.contract = contract
        return breach


@dataclass(frozen=True)
class TableContract:
    """Columns of a cache's SQL tables, and what happens to a value's field without a column.

    :param contract: value of the setting `schema_contract`.
    :param columns: names of the fields that have columns in lower case, by the binary type of values. A type without
        an item takes every field.
    """

    contract: str = STORE
    cache: str = ""
    columns: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def lacks(self, type_name: str, name: str) -> bool:
        """Return whether values of a binary type may not have a field, because it has no column."""
        columns = self.columns.get(type_name)
        return columns is not None and name.lower() not in columns

    def refusal(self, type_name: str, name: str) -> ContractBreach | None:
        """Return the reason why a record with a field is refused, as the predicate of a sentence; None if it is not."""
        if self.contract == DISCARD_FIELD or not self.lacks(type_name, name):
            return None
        what = f"is no column of the SQL table of cache {self.cache}, and schema_contract is {self.contract}"
        return ContractBreach(what, self.contract)

    def discards(self, type_name: str, name: str) -> bool:
        """Return whether a field is left out of values; the driver then emits an event for it, see :func:`.note`."""
        if self.contract != DISCARD_FIELD or not self.lacks(type_name, name):
            return False
        events.note(events.FIELD_DISCARDED, cache=self.cache, field=repr(name[:_MOST_NAME])[1:-1])
        return True


def table_contract(cache: CacheInfo, contract: str) -> TableContract:
    """Return the contract of records with a cache's SQL tables.

    :param cache: description of the cache, with the present columns of its tables.
    :param contract: value of the setting `schema_contract`.
    """
    if contract not in CLOSED:
        return TableContract(contract, cache.name)
    columns = {
        entity.value_type: frozenset(_names(entity))
        for entity in cache.query_entities
        if java_code(entity.value_type) is None
    }
    return TableContract(contract, cache.name, columns)


def _names(entity: QueryEntity) -> Iterator[str]:
    """Yield the names of fields of a table in lower case; a column such as `address.city` is in field `address`."""
    for column in entity.fields:
        yield column.name.partition(".")[0].lower()
    for name in (entity.key_field, entity.value_field):
        if name:
            yield name.lower()
