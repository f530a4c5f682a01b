"""Plugin that adds the page Connectors to Airflow's web UI.

Every Airflow process imports this module, so it loads no part of the page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from airflow_provider_ignite_kafka.plugins.urls import URL_PREFIX, page_path

_Message = MutableMapping[str, Any]
_App = Callable[[_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]]


class LazyApp:
    """ASGI application of the page, created at the first request, because its imports take seconds."""

    def __init__(self) -> None:
        self._app: _App | None = None

    async def __call__(
        self, scope: _Message, receive: Callable[[], Awaitable[_Message]], send: Callable[[_Message], Awaitable[None]]
    ) -> None:
        """Serve a request of the page, creating the page's application before the first one."""
        if self._app is None:
            self._app = await asyncio.to_thread(_page)
        await self._app(scope, receive, send)


def _page() -> _App:
    from airflow_provider_ignite_kafka.plugins.page import create_page

    return create_page()


class ConnectorsPlugin(AirflowPlugin):
    """Plugin that mounts the page, and adds *Browse > Ignite and Kafka connectors* to the web UI."""

    name = "ignite_kafka"
    fastapi_apps = [{"app": LazyApp(), "url_prefix": URL_PREFIX, "name": "Ignite and Kafka connectors"}]
    external_views = [
        {
            "name": "Ignite and Kafka connectors",
            "href": page_path(),
            "url_route": "ignite-kafka-connectors",
            "destination": "nav",
            "category": "browse",
        }
    ]
