"""What of two caches' configurations decides about entries or SQL, and differs."""

from __future__ import annotations

from collections.abc import Iterator

from ..ignite.cache_configuration import CacheConfiguration
from ..ignite.types.model import QueryEntity

_PROPERTIES = ("mode", "atomicity", "expiry_policy")


def differences(wanted: CacheConfiguration, held: CacheConfiguration) -> list[str]:
    """Differences of a cache from the source's, as texts.

    Backups, memory, rebalancing and names of SQL schemas are the cluster's own.
    """
    return [*_properties(wanted, held), *_entities(wanted, held)]


def _properties(wanted: CacheConfiguration, held: CacheConfiguration) -> Iterator[str]:
    for name in _PROPERTIES:
        theirs = getattr(wanted, name)
        ours = getattr(held, name)
        if theirs != ours:
            yield f"{name.replace('_', ' ')} {ours or 'none'}, at the source {theirs or 'none'}"
    if set(wanted.key_configuration) != set(held.key_configuration):
        yield f"affinity keys {_keys(held)}, at the source {_keys(wanted)}"


def _keys(configuration: CacheConfiguration) -> str:
    return ", ".join(f"{field} of {name}" for name, field in sorted(configuration.key_configuration)) or "none"


def _entities(wanted: CacheConfiguration, held: CacheConfiguration) -> Iterator[str]:
    ours = {(one.key_type, one.value_type): one for one in held.query_entities}
    for entity in wanted.query_entities:
        found = ours.get((entity.key_type, entity.value_type))
        if found is None:
            yield f"no query entity of {entity.key_type} and {entity.value_type}"
        else:
            yield from _of_entity(entity, found)


def _of_entity(wanted: QueryEntity, held: QueryEntity) -> Iterator[str]:
    if (wanted.table or "").upper() != (held.table or "").upper():
        yield f"table {held.table}, at the source {wanted.table}"
    columns = {one.name.upper(): one for one in held.fields}
    for one in wanted.fields:
        found = columns.get(one.name.upper())
        if found is None:
            yield f"no column {one.name}"
        elif found.java_type != one.java_type or found.scale != one.scale:
            yield f"column {one.name} is a {found.java_type}{_scale(found.scale)}, at the source a {one.java_type}{_scale(one.scale)}"
    indexes = {one.fields for one in held.indexes}
    missing = [str(one.name) for one in wanted.indexes if one.fields not in indexes]
    if missing:
        yield f"no index {', '.join(sorted(missing))}"


def _scale(scale: int) -> str:
    return "" if scale < 0 else f" of scale {scale}"
