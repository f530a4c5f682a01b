"""Derivation of the columns in caches and records for lineage, from settings and query entities.

Uncertain schemas are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ignite_kafka.ignite.types.model import QueryEntity
from ignite_kafka.settings.converters import FIELDLESS
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.transforms import chain_of, touches
from ignite_kafka.sql import SelectedField, parse_columns

if TYPE_CHECKING:
    from ignite_kafka.convert.transforms.replace_field import ReplaceField

Column = tuple[str, str | None]
"""Name and Java type of a column; the type is None if unknown."""


def cache_columns(entities: Iterable[QueryEntity]) -> tuple[Column, ...]:
    """Return the SQL columns of a cache for lineage, each name once."""
    return tuple(dict(column for entity in entities for column in _columns_of(entity)).items())


def _columns_of(entity: QueryEntity) -> list[Column]:
    column_of = dict(entity.aliases)
    return [(column_of.get(field.name, field.name), field.java_type) for field in entity.fields]


def record_columns(settings: SourceSettings, cache: str, entities: Sequence[QueryEntity]) -> tuple[Column, ...]:
    """Derive the fields of the values in a cache's records for lineage; empty if they are uncertain.

    Without ``select`` the fields are unknown, because values have all fields of their types in the cluster and query
    entities declare only some of these fields. Fields are also unknown after transforms other than ReplaceField and
    MaskField.

    :returns: empty if the fields are not known for certain.
    """
    own = settings.of(cache)
    if not own.select or own.value_converter in FIELDLESS:
        return ()
    selected = [_selected(column, entities) for column in parse_columns(own.select)]
    columns = [column for column in selected if column is not None]
    return _transformed(own, columns) if len(columns) == len(selected) else ()


def _selected(selected: SelectedField, entities: Iterable[QueryEntity]) -> Column | None:
    """Find name and type of a field in `select`; None if upper and lower case of its name are uncertain."""
    own_name = selected.name.lower()
    fields = [
        field for entity in entities for field in entity.fields if not field.is_key and field.name.lower() == own_name
    ]
    names = {field.name for field in fields}
    types = {field.java_type for field in fields}
    java_type = types.pop() if len(types) == 1 else None
    if selected.alias != selected.name:
        return selected.alias, java_type
    return (names.pop(), java_type) if len(names) == 1 else None


def _transformed(settings: SourceSettings, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Apply the transforms to columns; no columns if a transform makes unknown ones."""
    chain = chain_of(settings)
    if not touches(chain, "value"):
        return tuple(columns)
    # a user's function: its columns are unknown, and this process does not import its module
    if any(transform.is_own for transform in chain):
        return ()
    from ignite_kafka.convert.transforms.mask_field import MaskField  # loads Arrow, which only a listener needs
    from ignite_kafka.convert.transforms.replace_field import ReplaceField
    from ignite_kafka.convert.transforms.steps import make_steps

    left = tuple(columns)
    for transform, step in zip(chain, make_steps(settings), strict=True):
        match step.transform:
            case _ if not touches([transform], "value"):
                continue
            case MaskField(fields=masked):
                left = tuple((name, None if name in masked else java_type) for name, java_type in left)
            case ReplaceField() as replacing if step.predicate is None:
                left = _replaced(replacing, left)
            case _:
                return ()
    return left


def _replaced(replacing: ReplaceField, columns: Iterable[Column]) -> tuple[Column, ...]:
    """Apply the transform ReplaceField to columns; return none if two columns would get the same name."""
    exclude = replacing.exclude
    include = replacing.include
    renames = replacing.renames
    kept = [
        (name, java_type) for name, java_type in columns if name not in exclude and (not include or name in include)
    ]
    renamed = tuple((renames.get(name, name), java_type) for name, java_type in kept)
    return renamed if len(dict(renamed)) == len(renamed) else ()
