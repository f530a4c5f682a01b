"""Records of the types topic about a data topic: its cache's configuration and its entries' types.

Its configuration, and the types of its keys and values.

========================================  ===========================================================================
key                                       value
========================================  ===========================================================================
``["cache",<topic>]``                     the configuration of the cache that is sent to the topic, at the last run's
                                          start
``["use",<topic>,<side>,<path>,<name>]``  ``{"type_id":…}``: a class or binary type seen in the topic's records
========================================  ===========================================================================

They are by topic, not by cache: connectors of several clusters may share the types topic, and a sink knows topics. If a
header names the cache of each record in the topic, `<topic>` is ``topic/cache`` (:func:`.described_name`).
"""

from __future__ import annotations

from dataclasses import asdict

from ..common.typed_json import dumps, integer, json_object, loads, read_as
from ..ignite.cache_configuration import CacheConfiguration
from ..ignite.types.model import TypeUse


def cache_key(topic: str) -> bytes:
    """Make the key of the record that holds the configuration of a data topic's cache."""
    return dumps(["cache", topic])


def use_key(topic: str, use: TypeUse) -> bytes:
    """Make the key of the record that notes a class or binary type used in a data topic."""
    return dumps(["use", topic, use.side, use.path, use.name])


def use_to_json(use: TypeUse) -> bytes:
    """Make the value of the record that notes a class or binary type."""
    return dumps({"type_id": use.type_id})


def use_from_record(side: str, path: str, name: str, data: bytes) -> TypeUse:
    """Parse a record that notes a class or binary type used in a data topic.

    :raises ValueError: the record describes no class or type.
    """
    return TypeUse(side, path, name, integer(json_object(loads(data)).get("type_id")))


def cache_to_json(configuration: CacheConfiguration) -> bytes:
    """Serialize a cache configuration as the value of its record."""
    return dumps(asdict(configuration))


def cache_from_json(data: bytes) -> CacheConfiguration:
    """Parse a cache configuration from the value of its record; fields of newer versions are ignored.

    :raises ValueError: the record describes no cache.
    """
    return read_as(CacheConfiguration, loads(data))
