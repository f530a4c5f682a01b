"""Copies through a chain of five common transforms in both directions, compared with copies without transforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from ignite_kafka.ignite.types.type_table import object_field, type_name_of

from .. import tables
from ..contender import Contender
from ..report import Section, ratio_text, series_table
from ..rounds import Case, Log, Series, in_turn
from ..stack import Stack
from ..tables import TRADES, WIDE, BenchTable
from .copy import copy_request
from .sink import Sink, written

_GOAL = 1 / 1.35
"""Goal, relative to the speed without transforms: a chain may add 0.35 of the time of the copy."""

_NONE, _FIVE = "no transforms", "five transforms"
_SCHEMAS = {f"{side}_converter_config": {"schemas.enable": "true"} for side in ("key", "value")}
_FORMS: Mapping[str, Mapping[str, object]] = {
    "": {},
    ", without schemas": {"is_schemaless": True},
    ", JSON with schemas": _SCHEMAS,
}
_FIELDS: Mapping[str, Mapping[str, str]] = {
    TRADES.cache: {"left_out": "note", "renamed": "qty", "cast": "price", "masked": "symbol", "time": "ts"},
    WIDE.cache: {"left_out": "s0", "renamed": "i0", "cast": "d0", "masked": "s2", "time": "t0"},
}


def _chain(table: str) -> dict[str, object]:
    """Settings of the transforms."""
    field = _FIELDS[table]
    config = {
        "insert": {
            "type": "InsertField$Value",
            "static.field": "source",
            "static.value": "ignite",
            "timestamp.field": "at",
        },
        "replace": {
            "type": "ReplaceField$Value",
            "exclude": field["left_out"],
            "renames": f"{field['renamed']}:renamed",
        },
        "cast": {"type": "Cast$Value", "spec": f"renamed:int64,{field['cast']}:string"},
        "mask": {"type": "MaskField$Value", "fields": field["masked"]},
        "time": {
            "type": "TimestampConverter$Value",
            "field": field["time"],
            "target.type": "string",
            "format": "yyyy-MM-dd HH:mm:ss.SSS",
        },
    }
    return {"transforms": tuple(config), "transform_config": config}


def both_directions(stack: Stack, log: Log) -> Section:
    """Copy each table with and without the chain in turn, to a topic and into a cache."""
    found_tables, findings = [], []
    with stack.python("spark", "transforms") as ours:
        for table, rows in ((TRADES, stack.sizes.trades), (WIDE, stack.sizes.wide)):
            for direction, series in (
                ("to Kafka", _to_kafka(stack, ours, table, log)),
                ("to Ignite", _to_ignite(stack, ours, table, rows, log)),
            ):
                found_tables.append(series_table(series))
                for plain, chained in zip(series[::2], series[1::2], strict=True):
                    findings.append(ratio_text(f"{chained.label}, {direction}, against none", chained, plain, _GOAL))
    about = (
        "As *Whole copy* and *From a topic into a cache*, with the transforms InsertField, ReplaceField, Cast, MaskField and "
        "TimestampConverter of the value. At the source, values have schemas; *without schemas* sets `is_schemaless`. Records of the other "
        "direction have no schemas, and the cache's query entity declares the changed fields. The goal, at most 1.35 of the time without "
        f"transforms, is {_GOAL:.2f} times as fast."
    )
    return Section("Transforms", about, tuple(found_tables), tuple(findings))


def _to_kafka(stack: Stack, ours: Contender, table: BenchTable, log: Log) -> list[Series]:
    request = {**stack.places, "cache": table.cache}
    cases = [
        Case(
            f"{table.cache}{form}: {label}",
            ours,
            copy_request(
                request,
                f"{label.split()[0]}-{number}-of-{table.cache}",
                field_nullability_policy="EAGER",
                **settings,
                **chain,
            ),
        )
        for number, (form, settings) in enumerate(_FORMS.items())
        for label, chain in ((_NONE, {}), (_FIVE, _chain(table.cache)))
        if table is TRADES or not form
    ]
    return list(in_turn(cases, stack.sizes.sink_rounds, log).values())


def _to_ignite(stack: Stack, ours: Contender, table: BenchTable, rows: int, log: Log) -> list[Series]:
    plain = written(stack, table, rows)
    chained = Sink(stack, plain.topic, replace(plain.target, value=_changed(table)))
    cases = [
        plain.case(_NONE, ours, what="sink", overwrite=True),
        chained.case(_FIVE, ours, what="sink", overwrite=True, settings=_chain(table.cache)),
    ]
    series = list(in_turn(cases, stack.sizes.sink_rounds, log).values())
    tables.destroy(stack.ignite.address, plain.target.cache)
    return series


def _changed(table: BenchTable) -> pa.Field:
    """The type of the table's objects after the chain."""
    field = _FIELDS[table.cache]
    changed = {field["renamed"]: pa.field("renamed", pa.int64())}
    changed |= {name: pa.field(name, pa.string()) for name in (field["cast"], field["time"])}
    kept = [changed.get(one.name, one) for one in table.value.type if one.name != field["left_out"]]
    added = [pa.field("at", pa.int64()), pa.field("source", pa.string())]
    return object_field("", f"{type_name_of(table.value)}Changed", [*kept, *added])
