"""What settings warn of: defaults that can lose data, settings without effect."""

from __future__ import annotations

from ignite_kafka.settings.source import SourceSettings
from tests.support import emitted_events
from tests.support.source_settings import build


def noticed(settings: SourceSettings) -> set[tuple[int, str]]:
    return {(event.id, str(fields["setting"])) for event, fields in settings.warnings()}


def test_defaults_that_can_lose_data_name_the_setting_that_prevents_it() -> None:
    assert noticed(build()) == {(15130, "failover_policy"), (15131, "process_removals")}
    assert noticed(build(failover_policy="FULL_SNAPSHOT")) == {(15131, "process_removals")}
    assert (15135, "error_handling_policy") in noticed(build(error_handling_policy="LOG_ONLY"))
    assert (15135, "conversion_error_policy") in noticed(build(conversion_error_policy="LOG_ONLY"))
    assert (15132, "load_initial_data") in noticed(build(load_initial_data=False))
    assert (15133, "ignite_tls_verify") in noticed(build(ignite_tls_enabled=True, ignite_tls_verify=False))


def test_settings_without_effect_are_noticed() -> None:
    no_effect = {
        "ignite_cfg": "x.xml",
        "batch_size": 5,
        "poll_interval_ms": 7,
        "backlog_cache_name": "b",
        "enable_schema_cache": True,
        "max_records_per_second": 9,
    }
    assert {name for id_, name in noticed(build(ignite_addresses="n:1", **no_effect)) if id_ == 15001} == set(no_effect)


def test_properties_of_converters_without_effect_are_noticed() -> None:
    config = {"schema.registry.url": "http://127.0.0.1:8081", "specific.avro.reader": "true"}
    noticed_ = noticed(build(value_converter="avro", value_converter_config=config))
    assert (15001, "value_converter_config.specific.avro.reader") in noticed_
    assert (15001, "value_converter_config.schema.registry.url") not in noticed_


def test_warnings_are_logged_and_counted() -> None:
    emitted_events.reset()
    build(batch_size=5).emit_warnings()
    assert emitted_events.counts() == {15001: 1, 15130: 1, 15131: 1}
