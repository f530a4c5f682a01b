"""Differences between two caches' configurations that affect entries or SQL."""

from __future__ import annotations

from collections.abc import Iterator

from ..ignite.cache_configuration import CacheConfiguration
from ..ignite.types.model import QueryEntity

_PROPERTIES = ("mode", "atomicity", "expiry_policy")


def differences(source: CacheConfiguration, held: CacheConfiguration) -> list[str]:
    """Describe, as texts, how a cache's configuration differs from that of the source's cache.

    Backups, memory, rebalancing and names of SQL schemas may differ: each cluster has its own.
    """
    return [*_properties(source, held), *_entities(source, held)]


def _properties(source: CacheConfiguration, held: CacheConfiguration) -> Iterator[str]:
    for name in _PROPERTIES:
        theirs = getattr(source, name)
        ours = getattr(held, name)
        if theirs != ours:
            yield f"{name.replace('_', ' ')} {ours or 'none'}, at the source {theirs or 'none'}"
    if set(source.key_configuration) != set(held.key_configuration):
        yield f"affinity keys {_keys(held)}, at the source {_keys(source)}"


def _keys(configuration: CacheConfiguration) -> str:
    return ", ".join(f"{field} of {name}" for name, field in sorted(configuration.key_configuration)) or "none"


def _entities(source: CacheConfiguration, held: CacheConfiguration) -> Iterator[str]:
    ours = {(held_entity.key_type, held_entity.value_type): held_entity for held_entity in held.query_entities}
    for entity in source.query_entities:
        own = ours.get((entity.key_type, entity.value_type))
        if own is None:
            yield f"no query entity of {entity.key_type} and {entity.value_type}"
        else:
            yield from _of_entity(entity, own)


def _of_entity(source: QueryEntity, held: QueryEntity) -> Iterator[str]:
    if (source.table or "").upper() != (held.table or "").upper():
        yield f"table {held.table}, at the source {source.table}"
    columns = {field.name.upper(): field for field in held.fields}
    for field in source.fields:
        column = columns.get(field.name.upper())
        if column is None:
            yield f"no column {field.name}"
        elif column.java_type != field.java_type or column.scale != field.scale:
            at_source = f"{field.java_type}{_scale(field.scale)}"
            yield f"column {field.name} is a {column.java_type}{_scale(column.scale)}, at the source a {at_source}"
    indexes = {field.fields for field in held.indexes}
    missing = [str(field.name) for field in source.indexes if field.fields not in indexes]
    if missing:
        yield f"no index {', '.join(sorted(missing))}"


def _scale(scale: int) -> str:
    return "" if scale < 0 else f" of scale {scale}"
