"""Records of the types topic that describe the cache of a data topic: its configuration, and the types of its keys and values.

========================================  ==============================================================================
key                                       value
========================================  ==============================================================================
``["cache",<topic>]``                     the configuration of the cache that is sent to the topic, at the last run's start
``["use",<topic>,<side>,<path>,<name>]``  ``{"type_id":…}``: a class or binary type seen in the topic's records
========================================  ==============================================================================

They are by topic, not by cache: connectors of several clusters may share the types topic, and a sink knows topics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any, TypeVar

from ..ignite.cache_configuration import AdvancedSettings, CacheConfiguration
from ..ignite.types.model import QueryEntity, QueryField, QueryIndex, TypeUse

T = TypeVar("T")


def cache_key(topic: str) -> bytes:
    """Key of the record of a topic's cache."""
    return _json(["cache", topic])


def use_key(topic: str, use: TypeUse) -> bytes:
    """Key of the record of a class or type that a topic's records have."""
    return _json(["use", topic, use.side, use.path, use.name])


def use_to_json(use: TypeUse) -> bytes:
    """Value of such a record."""
    return _json({"type_id": use.type_id})


def use_from_record(side: str, path: str, name: str, data: bytes) -> TypeUse:
    """The class or type of a record.

    :raises ValueError: the record describes none.
    """
    try:
        return TypeUse(side, path, name, int(json.loads(data)["type_id"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def cache_to_json(configuration: CacheConfiguration) -> bytes:
    """Value of the record of a cache."""
    return _json(asdict(configuration))


def cache_from_json(data: bytes) -> CacheConfiguration:
    """The configuration in a record; properties of newer versions are ignored.

    :raises ValueError: the record describes no cache.
    """
    try:
        value: dict[str, Any] = _known(CacheConfiguration, json.loads(data))
        value["query_entities"] = tuple(_entity(one) for one in value["query_entities"])
        value["key_configuration"] = _pairs(value["key_configuration"])
        value["expiry_policy"] = tuple(value["expiry_policy"]) if value.get("expiry_policy") else None
        value["advanced"] = AdvancedSettings(**_known(AdvancedSettings, value["advanced"]))
        return CacheConfiguration(**value)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _entity(value: dict[str, Any]) -> QueryEntity:
    columns = [_known(QueryField, one) for one in value["fields"]]
    indexes = [{**_known(QueryIndex, one), "fields": _pairs(one["fields"])} for one in value["indexes"]]
    found = {**_known(QueryEntity, value), "aliases": _pairs(value["aliases"])}
    found["fields"], found["indexes"] = tuple(QueryField(**one) for one in columns), tuple(QueryIndex(**one) for one in indexes)
    return QueryEntity(**found)


def _known(kind: type[T], value: dict[str, Any]) -> dict[str, Any]:
    names = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    return {name: item for name, item in value.items() if name in names}


def _pairs(value: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    return tuple(tuple(one) for one in value)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
