"""Asset events of a task, in Airflow's own accessors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from airflow.sdk import Asset, AssetAlias
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_provider_ignite_kafka.assets.copied import Copied, CopiedCache
from airflow_provider_ignite_kafka.assets.events import emit_asset_events, emit_verified_events, report_hook_lineage
from tests.support.airflow_versions import HookLineageCollector

EXTRA = {"connector": "c", "cache": "flights", "topic": "t-flights", "records": 10, "bytes": 1000, "skipped": 1}
ALIAS = AssetAlias("copies")


def emitted(copied: Copied, *outlets: Any) -> OutletEventAccessors:
    accessors = OutletEventAccessors()
    context: Any = {"outlet_events": accessors}
    emit_asset_events(context, outlets, copied)
    return accessors


def test_alias_gets_an_event_of_each_topic_that_was_filled(copied: Copied) -> None:
    both = replace(copied, caches=(*copied.caches, CopiedCache("empty", "t-empty"), CopiedCache("air", "t-air", 1)))
    events = emitted(both, ALIAS)[ALIAS].asset_alias_events
    assert [(event.dest_asset_key.uri, event.extra) for event in events] == [
        ("kafka://broker:9092/t-flights", EXTRA),
        ("kafka://broker:9092/t-air", {**EXTRA, "cache": "air", "topic": "t-air", "records": 1, "bytes": 0, "skipped": 0}),
    ]
    assert all(event.dest_asset_key.name == event.dest_asset_key.uri for event in events), "the asset that Asset(uri) names"


def test_alias_and_named_asset_of_one_topic_are_one_asset(copied: Copied) -> None:
    """Airflow deactivates one of two assets with the same URI."""
    asset = Asset("flights", "kafka://broker:9092/t-flights")
    [event] = emitted(copied, ALIAS, asset)[ALIAS].asset_alias_events
    assert event.dest_asset_key.name == "flights"


def test_alias_of_a_sink_gets_events_of_caches(copied: Copied) -> None:
    [event] = emitted(replace(copied, to_kafka=False), ALIAS)[ALIAS].asset_alias_events
    assert event.dest_asset_key.uri == "ignite://node:10800/flights"


def test_a_topic_of_several_caches_has_the_counts_of_the_largest_and_is_verified_as_a_whole(copied: Copied) -> None:
    asset = Asset("flights", "kafka://broker:9092/t-flights")
    both = replace(copied, caches=(CopiedCache("air", "t-flights"), *copied.caches))
    assert emitted(both, asset)[asset].extra == EXTRA
    accessors = OutletEventAccessors()
    context: Any = {"outlet_events": accessors}
    emit_verified_events(context, [asset], both, [{"entries": 0}, {"entries": 9}, {"entries": 9, "caches": 2}])
    assert accessors[asset].extra == {"entries": 9, "caches": 2}


@pytest.mark.parametrize(
    ("to_kafka", "asset"),
    [
        (True, Asset("flights", "kafka://broker:9092/t-flights")),
        (True, Asset(uri="kafka://Broker-2/t-flights")),
        (False, Asset("flights", "ignite://node/flights")),
    ],
)
def test_named_asset_gets_the_counts(copied: Copied, to_kafka: bool, asset: Asset) -> None:
    run = replace(copied, to_kafka=to_kafka, kafka=("broker:9092", "broker-2:9092"))
    accessors = OutletEventAccessors()
    accessors[asset].extra["ticket"] = 7  # of the author's pre_execute
    context: Any = {"outlet_events": accessors}
    emit_asset_events(context, [asset], run)
    assert accessors[asset].extra == {"ticket": 7, **EXTRA}


def test_named_asset_that_got_nothing_says_so(copied: Copied) -> None:
    asset = Asset(uri="kafka://broker:9092/t-flights")
    nothing = replace(copied, caches=(CopiedCache("flights", "t-flights"),))
    assert emitted(nothing, asset)[asset].extra["records"] == 0
    assert len(emitted(nothing, ALIAS)) == 0


@pytest.mark.parametrize(
    "other",
    [
        Asset(uri="kafka://broker:9092/other"),
        Asset(uri="kafka://another:9092/t-flights"),
        Asset(uri="ignite://node:10800/flights"),
        Asset("just a name"),
        Asset(uri="s3://bucket/t-flights"),
    ],
)
def test_other_outlets_are_left_alone(copied: Copied, other: Asset) -> None:
    assert len(emitted(copied, other)) == 0


def test_lineage_of_hooks_gets_inputs_and_outputs(copied: Copied, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers.common.compat import sdk

    collector, reporter = HookLineageCollector(), object()
    monkeypatch.setitem(vars(sdk), "get_hook_lineage_collector", lambda: collector)
    report_hook_lineage(reporter, replace(copied, caches=(*copied.caches, CopiedCache("empty", "t-empty"))))
    found = collector.collected_assets
    assert [one.asset.uri for one in found.inputs] == ["ignite://node:10800/flights"]
    assert [(one.asset.uri, one.asset.extra) for one in found.outputs] == [("kafka://broker:9092/t-flights", EXTRA)]
