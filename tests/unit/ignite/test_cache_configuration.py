"""Configurations of caches: what a request says is what a reply says, with every property."""

from __future__ import annotations

import struct
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.ignite import protocol
from ignite_kafka.ignite.cache_configuration import (
    ATOMICITIES,
    MODES,
    WRITE_SYNCHRONIZATIONS,
    AdvancedSettings,
    CacheConfiguration,
    configuration_bytes,
)
from ignite_kafka.ignite.types.model import QueryEntity, QueryField, QueryIndex
from ignite_kafka.state.cache_records import cache_from_json, cache_to_json

ENTITY = QueryEntity(
    "PersonKey",
    "Person",
    None,
    "whole",
    "PEOPLE",
    (QueryField("id", "java.lang.Integer", True), QueryField("pay", "java.math.BigDecimal", False, True, 10, 2, "03" + "07000000")),
    (("id", "ID"), ("pay", "PAY")),
    (QueryIndex("by_pay", (("pay", True), ("id", False)), inline_size=20), QueryIndex(None, (("id", False),), "FULLTEXT")),
)
WHOLE = CacheConfiguration(
    "people", "REPLICATED", "TRANSACTIONAL", 2, "PRIMARY_SYNC", "big", "g", (ENTITY,), '"PUBLIC"', (("PersonKey", "id"),), (1, -1, -2),
)  # fmt: skip
TEXT = st.text(max_size=5)
KINDS: dict[str, st.SearchStrategy[Any]] = {"bool": st.booleans(), "int": st.integers(-(2**31), 2**31 - 1), "str": TEXT}


def of_fields(kind: type, **given_: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    by_type = {one.name: KINDS[str(one.type).partition(" ")[0]] for one in fields(kind) if one.name not in given_}
    return st.builds(kind, **{**by_type, **given_})


FIELDS = of_fields(QueryField, default=st.binary(max_size=9).map(bytes.hex))
INDEXES = st.builds(QueryIndex, st.none() | TEXT, st.lists(st.tuples(TEXT, st.booleans())).map(tuple), st.just("SORTED"))
ENTITIES = st.builds(
    QueryEntity, TEXT, TEXT, st.none() | TEXT, st.none() | TEXT, st.none() | TEXT, st.lists(FIELDS).map(tuple),
    st.lists(st.tuples(TEXT, TEXT)).map(tuple), st.lists(INDEXES).map(tuple),
)  # fmt: skip
CONFIGURATIONS = st.builds(
    CacheConfiguration, TEXT, *(st.sampled_from(list(names.values())) for names in (MODES, ATOMICITIES)), st.none() | st.integers(0, 9),
    st.sampled_from(list(WRITE_SYNCHRONIZATIONS.values())), st.none() | TEXT, st.none() | TEXT, st.lists(ENTITIES, max_size=2).map(tuple),
    st.none() | TEXT, st.lists(st.tuples(TEXT, TEXT)).map(tuple), st.none() | st.tuples(*[st.integers(-2, 2**62)] * 3),
    of_fields(AdvancedSettings),
)  # fmt: skip


@given(CONFIGURATIONS)
def test_a_configuration_travels_whole(configuration: CacheConfiguration) -> None:
    assert cache_from_json(cache_to_json(configuration)) == configuration


def test_properties_of_newer_versions_are_ignored_and_other_records_refused() -> None:
    newer = (
        cache_to_json(WHOLE).replace(b'{"name":"people"', b'{"newer":1,"name":"people"').replace(b'"copy_on_read"', b'"x":1,"copy_on_read"')
    )
    assert cache_from_json(newer) == WHOLE
    for data in (b"[]", b"{}", b"1", b"x"):
        with pytest.raises(ValueError, match=r"no object|missing|Expecting"):
            cache_from_json(data)


def test_only_properties_that_are_given_are_sent() -> None:
    assert configuration_bytes(CacheConfiguration("a", write_synchronization=None)) == struct.pack("<ihh", 10, 1, 0) + protocol.string("a")
    sent = configuration_bytes(CacheConfiguration("a", atomicity="TRANSACTIONAL", backups=1))
    assert sent[4:] == struct.pack("<hh", 4, 0) + protocol.string("a") + struct.pack("<hihihi", 2, 0, 3, 1, 4, 0)
    many = configuration_bytes(replace(WHOLE, advanced=AdvancedSettings(copy_on_read=False, rebalance_mode="NONE")))
    assert struct.unpack_from("<h", many, 4) == (13,)
