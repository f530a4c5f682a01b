"""Records of the types topic that describe the cache of a data topic.

Its configuration, and the types of its keys and values.

========================================  ===========================================================================
key                                       value
========================================  ===========================================================================
``["cache",<topic>]``                     the configuration of the cache that is sent to the topic, at the last run's
                                          start
``["use",<topic>,<side>,<path>,<name>]``  ``{"type_id":…}``: a class or binary type seen in the topic's records
========================================  ===========================================================================

They are by topic, not by cache: connectors of several clusters may share the types topic, and a sink knows topics.
"""

from __future__ import annotations

from dataclasses import asdict

from ..common.typed_json import dumps, integer, json_object, loads, read_as
from ..ignite.cache_configuration import CacheConfiguration
from ..ignite.types.model import TypeUse


def cache_key(topic: str) -> bytes:
    """Return the key of the record of a topic's cache."""
    return dumps(["cache", topic])


def use_key(topic: str, use: TypeUse) -> bytes:
    """Return the key of the record of a class or type that a topic's records have."""
    return dumps(["use", topic, use.side, use.path, use.name])


def use_to_json(use: TypeUse) -> bytes:
    """Return the value of the record of a class or type."""
    return dumps({"type_id": use.type_id})


def use_from_record(side: str, path: str, name: str, data: bytes) -> TypeUse:
    """Return the class or type of a record.

    :raises ValueError: the record describes none.
    """
    return TypeUse(side, path, name, integer(json_object(loads(data)).get("type_id")))


def cache_to_json(configuration: CacheConfiguration) -> bytes:
    """Return the value of the record of a cache."""
    return dumps(asdict(configuration))


def cache_from_json(data: bytes) -> CacheConfiguration:
    """Return the configuration in a record; properties of newer versions are ignored.

    :raises ValueError: the record describes no cache.
    """
    return read_as(CacheConfiguration, loads(data))
