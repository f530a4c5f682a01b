"""Options of the data sources: strict, with the nearest name, and all in docs/options.md."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.datasources.ignite import IgniteDataSource, ReadOptions
from ignite_kafka.datasources.ignite_backlog import BacklogOptions, IgniteBacklogDataSource
from ignite_kafka.datasources.ignite_write import WriteOptions
from ignite_kafka.datasources.kafka_tx import KafkaTxDataSource
from ignite_kafka.datasources.kafka_tx import WriteOptions as KafkaWriteOptions
from ignite_kafka.datasources.kafka_tx_read import ReadOptions as KafkaReadOptions
from ignite_kafka.datasources.option_tables import TABLES
from ignite_kafka.errors import SettingsError

KAFKA = {"bootstrap.servers": "broker:9092", "topic": "t"}
USES: dict[str, tuple[Any, dict[str, str]]] = {
    "ignite, reading": (ReadOptions, {"cache": "c"}),
    "ignite, writing": (WriteOptions, {"cache": "c"}),
    "kafka-tx, reading": (KafkaReadOptions, KAFKA),
    "kafka-tx, writing": (KafkaWriteOptions, {**KAFKA, "name": "w"}),
    "ignite-backlog, reading": (BacklogOptions, {"cache": "c", "connector": "mine"}),
}


def test_each_option_table_is_read_by_its_options_class() -> None:
    assert {table.title for table in TABLES} == set(USES)
    for table in TABLES:
        options, least = USES[table.title]
        options.of(least)
        assert {name for name, option in table.options.items() if option.required} <= set(least)
        for name in table.options:
            with pytest.raises(SettingsError, match=f"Did you mean {name}|the option {name}"):
                options.of({**least, f"{name}_": "1"})


@pytest.mark.parametrize("use", USES)
def test_defaults_equal_the_values_of_omitted_options(use: str) -> None:
    options, least = USES[use]
    table = next(table for table in TABLES if table.title == use)
    shown = {name: option.default for name, option in table.options.items() if option.default is not None}
    texts = {name: ",".join(value) if isinstance(value, tuple) else str(value).lower() for name, value in shown.items() if value != ""}
    named = {"write_id": "w1"} if "write_id" in table.options else {}
    assert options.of({**least, **named}) == options.of({**texts, **least, **named})


@pytest.mark.parametrize("source", [IgniteDataSource, KafkaTxDataSource, IgniteBacklogDataSource])
def test_options_are_checked_before_a_cluster_is_asked(source: Any) -> None:
    nowhere = {"addresses": "192.0.2.1:10800", "bootstrap.servers": "192.0.2.1:9092", "cache": "c", "topic": "t", "connector": "x"}
    with pytest.raises(SettingsError, match=r"has no option|is an option of"):
        source({**nowhere, "no_such": "1"}).reader(None)


@pytest.mark.parametrize(
    ("use", "given", "message"),
    [
        ("ignite, reading", {"addreses": "other:10800"}, "ignite has no option 'addreses' for reading.*Did you mean addresses"),
        ("ignite, reading", {"zzz": "1"}, "ignite has no option 'zzz' for reading.*Its options: cache, partitions"),
        ("ignite, reading", {"overwrite": "true"}, "'overwrite' is an option of ignite, writing, not of reading"),
        ("ignite, writing", {"num_partitions": "8"}, "'num_partitions' is an option of ignite, reading, not of writing"),
        ("ignite, reading", {"page_bytes": "10"}, "option 'page_bytes' of ignite is '10': it is out of range.*from 1024 to 268435456"),
        ("ignite, writing", {"create": "yes"}, "option 'create' of ignite is 'yes'.*true or false"),
        ("ignite, reading", {"cache": ""}, "option 'cache' of ignite is missing"),
        ("kafka-tx, reading", {"ssl.ca.location": "/ca.pem"}, "Did you mean kafka.ssl.ca.location"),
        ("kafka-tx, writing", {"kafka.linger": "1"}, "linger is not a setting of librdkafka.*Did you mean linger.ms"),
        ("kafka-tx, reading", {"kafka.plugin.library.paths": "/tmp/evil.so"}, "loads native code: no setting may do that"),
        ("kafka-tx, reading", {"kafka.isolation.level": "read_uncommitted"}, "must be read_committed"),
        ("ignite-backlog, reading", {"partitions": "1"}, "ignite-backlog has no option 'partitions' for reading"),
        ("ignite-backlog, reading", {"on_loss": "ignore"}, "option 'on_loss' of ignite-backlog is 'ignore'.*fail or reload"),
    ],
)
def test_the_error_of_a_wrong_option_says_why(use: str, given: dict[str, str], message: str) -> None:
    options, least = USES[use]
    with pytest.raises(SettingsError, match=message):
        options.of({**least, **given})
