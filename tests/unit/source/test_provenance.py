"""Headers that say where a record comes from."""

from __future__ import annotations

import json
from typing import Any, cast

import numpy as np

from ignite_kafka.ignite.types.model import CacheInfo
from ignite_kafka.kafka.headers import pairs
from ignite_kafka.kafka.records import Records
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.entry_sender import EntryBatch, EntrySender
from ignite_kafka.source.provenance import Origin, Provenance
from tests.support.bad_entries import NULL_KEY, long
from tests.support.ignite_bytes import NULL, Types, page, string

CACHE = CachePlan("flights", 1, "to-flights", 1024, 3)
AT = 1_767_225_600_123


def made(*names: str, **settings: Any) -> Provenance:
    chosen = SourceSettings(name="nightly", provenance_headers=names, **settings)
    return Provenance(TransferPlan("nightly", "s1", 7, 4, chosen, (CACHE,)))


def test_headers_of_each_record_in_one_order_whatever_the_settings_have() -> None:
    origin = Origin(CACHE, np.array([5, 9]), np.array([40, 41]), np.array([AT, AT + 1]))
    names = ("time", "update_counter", "partition", "cache", "cluster", "run", "connector")
    headers = made(*names, cluster_name="berlin").headers(origin, "t")
    assert pairs(headers) == [
        [
            ("ignite_kafka.connector", b"nightly"),
            ("ignite_kafka.run", b"7"),
            ("ignite_kafka.cluster", b"berlin"),
            ("ignite_kafka.cache", b"flights"),
            ("ignite_kafka.partition", str(partition).encode()),
            ("ignite_kafka.update_counter", str(counter).encode()),
            ("ignite_kafka.time", f"2026-01-01T00:00:00.{ms}Z".encode()),
        ]
        for partition, counter, ms in [(5, 40, 123), (9, 41, 124)]
    ]


def test_scanned_entries_have_no_update_counter_and_bad_ones_no_headers() -> None:
    origin = Origin(CACHE, np.array([5, 6, 7])).of_rows(np.array([0, 2]))
    assert pairs(made("update_counter", "partition").headers(origin, "t")) == [
        [("ignite_kafka.partition", b"5")], [("ignite_kafka.partition", b"7")]
    ]  # fmt: skip
    assert pairs(made("update_counter").headers(origin, "t")) == [[], []]
    assert not made()


def test_the_header_converter_writes_them() -> None:
    origin = Origin(CACHE, np.array([5]), np.array([40]), np.array([AT]))
    plain = {"header_converter": "json"}
    assert [json.loads(value or b"") for _, value in pairs(made("cache", "partition", "time", **plain).headers(origin, "t"))[0]] == [
        "flights", 5, AT
    ]  # fmt: skip
    schemas = made("partition", **plain, header_converter_config={"schemas.enable": "true"}).headers(origin, "t")
    assert pairs(schemas)[0][0][1] == b'{"schema":{"type":"int32","optional":false},"payload":5}'
    assert pairs(made("time", header_converter="string").headers(origin, "t"))[0][0][1] == b"Thu Jan 01 00:00:00 UTC 2026"


class Writer:
    """Keeps the records of a slot's transaction."""

    def __init__(self) -> None:
        self.types_sent: dict[int, Any] = {}
        self.uses_sent: dict[str, Any] = {}
        self.records: list[Records] = []

    def send(self, topic: str, partitions: int | None, records: Records, topic_id: str = "") -> None:
        self.records.append(records)

    def send_type_record(self, topic: str, key: bytes, value: bytes) -> None: ...

    def too_large(self, topic: str, topic_bytes: int, records: Records) -> dict[int, Any]:
        return {}


def test_headers_stay_with_their_records_when_entries_are_bad_or_of_several_types() -> None:
    settings = SourceSettings(name="c", error_handling_policy="LOG_ONLY", provenance_headers=("partition", "update_counter"))
    sender = EntrySender(TransferPlan("c", "s", 1, 16, settings, (CACHE,)), cast(Any, Types()))
    writer = Writer()
    entries = page([(long(1), string("a")), (string("k"), string("b")), (long(2), NULL_KEY), (long(3), NULL)], 3)
    removed, counters = np.array([False, False, False, True]), np.array([10, 11, 12, 13])
    sent = sender.send(
        cast(Any, writer), 1, CACHE, CacheInfo("flights", 1), EntryBatch([entries], np.array([5, 6, 7, 8]), removed, (counters, counters))
    )
    (records,) = writer.records
    assert sent.bad.tolist() == [2]
    assert records.headers is not None
    found = [tuple(int(value or 0) for _, value in headers) for headers in pairs(records.headers)]
    assert dict(zip(records.keys.to_pylist(), found, strict=True)) == {b"1": (5, 10), b'"k"': (6, 11), b"3": (8, 13)}
    assert records.values.to_pylist() == [b'"a"', b'"b"', None]
