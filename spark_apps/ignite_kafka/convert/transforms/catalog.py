"""Catalog of the supported Kafka Connect transforms and predicates, by class name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ...errors import SettingsError
from ...settings.suggestions import did_you_mean
from . import (
    cast,
    extract_field,
    flatten,
    headers,
    hoist_field,
    insert_field,
    mask_field,
    predicates,
    regex_router,
    replace_field,
    set_schema_metadata,
    timestamp_converter,
    timestamp_router,
    value_to_key,
)
from .batch import Predicate, Transform
from .filter import Filter
from .properties import ComponentProperties, Properties, read_properties
from .sides import Side
from .unknown_transforms import advice_for

_T = TypeVar("_T")
_PACKAGE = "org.apache.kafka.connect.transforms."
_PREDICATES = f"{_PACKAGE}predicates."


@dataclass(frozen=True)
class _Entry:
    properties: Properties
    make: Callable[[ComponentProperties, bool], Transform]


def _entries_by_side(
    name: str, properties: Properties, make: Callable[[ComponentProperties, Side, bool], Transform]
) -> dict[str, _Entry]:
    """Return the two catalog entries of a transform with a class for keys and one for values."""

    def entry(side: Side) -> _Entry:
        return _Entry(properties, lambda config, sink: make(config, side, sink))

    return {f"{name}${side.value}": entry(side) for side in Side}


_TRANSFORMS: Mapping[str, _Entry] = {
    **_entries_by_side("Cast", cast.PROPERTIES, lambda config, side, _: cast.cast(config, side)),
    **_entries_by_side(
        "ExtractField", extract_field.PROPERTIES, lambda config, side, _: extract_field.extract_field(config, side)
    ),
    **_entries_by_side(
        "InsertField",
        insert_field.PROPERTIES,
        lambda config, side, sink: insert_field.insert_field(config, side, sink=sink),
    ),
    **_entries_by_side(
        "ReplaceField", replace_field.PROPERTIES, lambda config, side, _: replace_field.replace_field(config, side)
    ),
    **_entries_by_side("Flatten", flatten.PROPERTIES, lambda config, side, _: flatten.flatten(config, side)),
    **_entries_by_side("HeaderFrom", headers.HEADER_FROM, lambda config, side, _: headers.header_from(config, side)),
    **_entries_by_side(
        "HoistField", hoist_field.PROPERTIES, lambda config, side, _: hoist_field.hoist_field(config, side)
    ),
    **_entries_by_side("MaskField", mask_field.PROPERTIES, lambda config, side, _: mask_field.mask_field(config, side)),
    **_entries_by_side(
        "SetSchemaMetadata",
        set_schema_metadata.PROPERTIES,
        lambda config, side, _: set_schema_metadata.set_schema_metadata(config, side),
    ),
    **_entries_by_side(
        "TimestampConverter",
        timestamp_converter.PROPERTIES,
        lambda config, side, _: timestamp_converter.timestamp_converter(config, side),
    ),
    "DropHeaders": _Entry(headers.DROP_HEADERS, lambda config, _: headers.drop_headers(config)),
    "InsertHeader": _Entry(headers.INSERT_HEADER, lambda config, _: headers.insert_header(config)),
    "TimestampRouter": _Entry(timestamp_router.PROPERTIES, lambda config, _: timestamp_router.timestamp_router(config)),
    "ValueToKey": _Entry(value_to_key.PROPERTIES, lambda config, _: value_to_key.value_to_key(config)),
    "RegexRouter": _Entry(regex_router.PROPERTIES, lambda config, _: regex_router.regex_router(config)),
    "Filter": _Entry({}, lambda config, _: Filter()),
}
_TESTS: Mapping[str, tuple[Properties, Callable[[ComponentProperties], Predicate]]] = {
    "TopicNameMatches": (predicates.TOPIC_NAME_MATCHES, predicates.topic_name_matches),
    "HasHeaderKey": (predicates.HAS_HEADER_KEY, predicates.has_header_key),
    "RecordIsTombstone": ({}, predicates.record_is_tombstone),
}
TRANSFORMS = tuple(f"{_PACKAGE}{name}" for name in _TRANSFORMS)
"""Full class names of all supported transforms."""
PREDICATES = tuple(f"{_PREDICATES}{name}" for name in _TESTS)
"""Full class names of all supported predicates."""


def make_transform(class_name: str, properties: Mapping[str, str], *, sink: bool) -> Transform:
    """Return the transform of a class, configured by its properties.

    :param class_name: name of Kafka's class, with or without its package, such as ``Cast$Value``.
    :param properties: properties without the prefix ``transforms.<alias>.``, and without `type`, `predicate`, `negate`.
    :raises SettingsError: there is no such class, or a property is unknown, missing or not allowed.
    """
    entry = _find("transform", class_name, _PACKAGE, _TRANSFORMS)
    return entry.make(read_properties(class_name, entry.properties, properties), sink)


def make_predicate(class_name: str, properties: Mapping[str, str]) -> Predicate:
    """Return the predicate of a class, configured by its properties.

    :param properties: properties without the prefix ``predicates.<alias>.``, and without `type`.
    :raises SettingsError: there is no such class, or a property is unknown, missing or not allowed.
    """
    definitions, make = _find("predicate", class_name, _PREDICATES, _TESTS)
    return make(read_properties(class_name, definitions, properties))


def _find(kind: str, class_name: str, package: str, entries: Mapping[str, _T]) -> _T:
    entry = entries.get(class_name.removeprefix(package))
    if entry is None:
        foreign = "" if class_name.startswith(_PACKAGE) else advice_for(class_name)
        remedy = (
            foreign
            or f"{did_you_mean(class_name.rpartition('.')[2], entries)} There are: {', '.join(sorted(entries))}."
        )
        raise SettingsError(f"There is no {kind} {class_name}", remedy.strip(), setting="type")
    return entry
