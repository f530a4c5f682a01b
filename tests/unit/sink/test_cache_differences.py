"""Differences of an existing cache from the source's, as they are reported."""

from __future__ import annotations

from dataclasses import replace

from ignite_kafka.ignite.cache_configuration import AdvancedSettings, CacheConfiguration
from ignite_kafka.ignite.types.model import QueryEntity, QueryField, QueryIndex
from ignite_kafka.sink.cache_differences import differences

ID, PAY = QueryField("ID", "java.lang.Integer", True), QueryField("PAY", "java.math.BigDecimal", precision=10, scale=2)
ENTITY = QueryEntity("Key", "Person", table="PEOPLE", fields=(ID, PAY), indexes=(QueryIndex("BY_PAY", (("PAY", True),)),))
WANTED = CacheConfiguration("people", "PARTITIONED", "ATOMIC", 1, query_entities=(ENTITY,), key_configuration=(("Key", "ID"),))


def test_what_the_cluster_decides_is_no_difference() -> None:
    own = replace(
        WANTED, name="other", backups=3, write_synchronization="PRIMARY_SYNC", data_region="big", group="g", sql_schema="S",
        advanced=AdvancedSettings(copy_on_read=False),
    )  # fmt: skip
    named = replace(ENTITY, table="people", indexes=(replace(ENTITY.indexes[0], name="other", inline_size=9),))
    assert differences(WANTED, replace(own, query_entities=(named, QueryEntity("more", "more")))) == []


def test_what_decides_about_entries_and_sql_is_named() -> None:
    held = CacheConfiguration("people", "REPLICATED", "TRANSACTIONAL", expiry_policy=(1, 2, 3))
    assert differences(WANTED, held) == [
        "mode REPLICATED, at the source PARTITIONED", "atomicity TRANSACTIONAL, at the source ATOMIC",
        "expiry policy (1, 2, 3), at the source none", "affinity keys none, at the source ID of Key",
        "no query entity of Key and Person",
    ]  # fmt: skip
    other = QueryEntity("Key", "Person", table="P", fields=(replace(ID, name="id"), replace(PAY, scale=3)))
    assert differences(WANTED, replace(WANTED, query_entities=(other,))) == [
        "table P, at the source PEOPLE",
        "column PAY is a java.math.BigDecimal of scale 3, at the source a java.math.BigDecimal of scale 2",
        "no index BY_PAY",
    ]
    assert differences(WANTED, replace(WANTED, query_entities=(replace(ENTITY, fields=(ID,)),))) == ["no column PAY"]
