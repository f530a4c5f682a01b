"""The plugin as Airflow finds it, its link in the navigation, and the page that is made on the first request."""

from __future__ import annotations

import asyncio
from importlib.metadata import entry_points
from typing import Any

import pytest
from airflow import plugins_manager

from airflow_provider_ignite_kafka.plugins import connectors_plugin
from airflow_provider_ignite_kafka.plugins.connectors_plugin import ConnectorsPlugin, LazyApp
from tests.support.airflow_versions import PAGE_IN_NAVIGATION


def test_airflow_finds_the_plugin_and_accepts_its_page() -> None:
    [point] = [point for point in entry_points(group="airflow.plugins") if point.name == "ignite_kafka"]
    assert point.load() is ConnectorsPlugin
    [plugin] = [plugin for plugin in plugins_manager.get_plugin_info() if plugin["name"] == "ignite_kafka"]
    assert [app["url_prefix"] for app in plugin["fastapi_apps"] if app["name"] == "Ignite and Kafka connectors"] == ["/ignite-kafka"]


@PAGE_IN_NAVIGATION
def test_the_page_is_in_the_navigation() -> None:
    [plugin] = [plugin for plugin in plugins_manager.get_plugin_info() if plugin["name"] == "ignite_kafka"]
    [view] = plugin["external_views"]
    assert (view["destination"], view["category"], view["href"]) == ("nav", "browse", "/ignite-kafka/")


def test_page_is_made_once_and_on_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    served: list[Any] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        served.append(scope["path"])

    monkeypatch.setattr(connectors_plugin, "_page", lambda: made.append(1) or app)  # type: ignore[func-returns-value]
    lazy, unused = LazyApp(), None
    assert made == []
    for path in ("/", "/connections"):
        asyncio.run(lazy({"path": path}, unused, unused))  # type: ignore[arg-type]
    assert (made, served) == ([1], ["/", "/connections"])
