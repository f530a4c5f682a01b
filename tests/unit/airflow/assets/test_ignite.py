"""Assets of Ignite caches, as Airflow's own classes normalise and convert them."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from airflow.sdk import Asset

from airflow_provider_ignite_kafka import get_provider_info
from airflow_provider_ignite_kafka.assets.ignite import convert_asset_to_openlineage, create_asset
from tests.support.airflow_versions import KAFKA_ASSETS, UNICODE_ASSETS, ProvidersManagerTaskRuntime

[URIS] = get_provider_info()["asset-uris"]


@pytest.mark.parametrize(
    ("given", "uri"),
    [
        ("ignite://node-1/flights", "ignite://node-1:10800/flights"),
        ("ignite://Node-1:10801/flights", "ignite://node-1:10801/flights"),
        ("IGNITE://node/flights/", "ignite://node:10800/flights"),
        ("ignite://[::1]/flights", "ignite://[::1]:10800/flights"),
        ("ignite://node/my cache", "ignite://node:10800/my%20cache"),
        ("ignite://node/my%20cache", "ignite://node:10800/my%20cache"),
        ("ignite://node/a%2Fb", "ignite://node:10800/a%2Fb"),
        pytest.param("ignite://node/größe", "ignite://node:10800/gr%C3%B6%C3%9Fe", marks=UNICODE_ASSETS),
    ],
)
def test_uri_is_normalised_by_airflow(given: str, uri: str) -> None:
    assert Asset(uri=given).uri == uri
    assert Asset(uri=uri).uri == uri


@pytest.mark.parametrize("wrong", ["ignite://node", "ignite://node/", "ignite:///flights", "ignite://node/a/b", "ignite://node:x/flights"])
def test_wrong_uri_is_refused_when_the_dag_is_parsed(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"Its form is ignite://host:port/cache|is no number"):
        Asset(uri=wrong)


@pytest.mark.parametrize("cache", ["flights", "a/b", "my cache", "größe", "100%", "a?b#c", "%41"])
def test_asset_of_the_factory_is_in_normal_form_and_keeps_the_name_of_the_cache(cache: str) -> None:
    asset = create_asset(host="Node", cache=cache, extra={"owner": "ops"})
    assert (asset.name, asset.extra) == (asset.uri, {"owner": "ops"})
    assert asset.uri.startswith("ignite://node:10800/")
    assert Asset(uri=asset.uri) == create_asset(host="node", port=10800, cache=cache)
    dataset = convert_asset_to_openlineage(asset, None)
    assert (dataset.namespace, dataset.name) == ("ignite://node:10800", cache)


def test_airflow_knows_handler_factory_and_converter() -> None:
    manager = ProvidersManagerTaskRuntime()
    assert "ignite" in manager.asset_uri_handlers
    for kind, registered in (("factory", manager.asset_factories), ("to_openlineage_converter", manager.asset_to_openlineage_converters)):
        module, name = URIS[kind].rsplit(".", 1)
        assert registered["ignite"] is getattr(importlib.import_module(module), name)


@KAFKA_ASSETS
def test_topics_have_the_uri_of_the_kafka_provider(copied: Any) -> None:
    from airflow.providers.apache.kafka.assets.kafka import create_asset as kafka_asset

    [one] = copied.caches
    assert copied.topic_uri(one) == kafka_asset(server="broker:9092", topic="t-flights").uri
