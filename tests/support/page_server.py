"""The page of connectors by itself, for a browser: no Airflow beside it, and readings that a test makes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.core_api.security import get_user

from airflow_provider_ignite_kafka.plugins.connector_details import ConnectorDetails
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.plugins.page import create_page
from airflow_provider_ignite_kafka.plugins.page_data import ClusterReading
from ignite_kafka.admin.comparison_history import ConnectorComparisons
from tests.support.waiting import wait_until
from tools.servers import free_ports


@contextmanager
def page_server(read: Callable[[MonitoredCluster], ClusterReading], details: ConnectorDetails | None = None) -> Iterator[str]:
    """Serve the page to a user who may act; yield its address.

    :param details: sections of each connector's page.
    """
    shown = details or ConnectorDetails(ConnectorComparisons("", ()))
    app = create_page(lambda cluster, _name: read(cluster), details=lambda _cluster, _connector: shown)
    app.dependency_overrides[get_user] = lambda: SimpleAuthManagerUser(username="alice", role="ADMIN")
    [port] = free_ports(1)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, name="page", daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the page's server")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
