"""Kafka Connect's REST interface of the monitored clusters, mounted below the page.

Reads need the right to see the page, changes the right to edit the Kafka connection, and an API token in the header
Authorization: a browser sends cookies for pages of other sites too, and no such header.
"""

from __future__ import annotations

import logging
import time
from functools import partial

from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.providers.common.compat.sdk import AirflowException
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import Response

from airflow_provider_ignite_kafka.options import config_providers
from airflow_provider_ignite_kafka.plugins.access import READS_PAGE, MayAct
from airflow_provider_ignite_kafka.plugins.connections import connector_access
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster, monitored_clusters
from ignite_kafka.connect_rest.application import METHODS, respond, to_response
from ignite_kafka.connect_rest.background import Background
from ignite_kafka.connect_rest.configuration import Operator
from ignite_kafka.connect_rest.late_deletions import LateDeletions
from ignite_kafka.connect_rest.messages import Answer
from ignite_kafka.connect_rest.routes import is_change
from ignite_kafka.connect_rest.service import ConnectService, SharedState
from ignite_kafka.errors import IgniteKafkaError, SettingsError

PATH = "/connect"
"""Path of the interface below the page's; a cluster's follows: ``/connect/CONNECTION/PREFIX/connectors``."""
log = logging.getLogger(__name__)
_OPEN_LIMIT_S = 12.0
_KEPT_S = 60.0
_ROUTE = "/{connection_id}/{prefix}"
_TEMPORARY_NAME = "all-connectors"


class Services:
    """A service for each cluster, made anew every minute because its connection may have been edited.

    The state of a cluster outlives its services: their changes take turns, and its deletions are finished.
    """

    def __init__(self) -> None:
        self._services: dict[tuple[str, str], tuple[float, ConnectService]] = {}
        self._shared: dict[tuple[str, str], SharedState] = {}

    def open(self, cluster: MonitoredCluster) -> ConnectService:
        """Return the service of a cluster. The call blocks.

        :raises SettingsError: a connection of the cluster does not exist, or cannot be used.
        """
        made_s, service = self._services.get(cluster.key, (0.0, None))
        if service is None or time.monotonic() - made_s > _KEPT_S:
            # setdefault is atomic: several threads may open the first service of a cluster
            shared = self._shared.setdefault(cluster.key, SharedState(deletions=LateDeletions()))
            service = _make_service(cluster, shared)
            self._services[cluster.key] = time.monotonic(), service
        return service


def _make_service(cluster: MonitoredCluster, shared: SharedState) -> ConnectService:
    try:
        access = connector_access(cluster, _TEMPORARY_NAME, ignite=cluster.ignite_conn_id is not None)
    except AirflowException as error:  # for example, the connection does not exist
        raise SettingsError(str(error), "Correct the connection: Admin > Connections.") from error
    operator = Operator(access.settings, access.secrets, config_providers())
    return ConnectService(operator, shared)


def create_rest(background: Background, services: Services | None = None) -> FastAPI:
    """Create the application of the REST interface.

    :param background: threads for blocking calls, shared with the page.
    """
    app = FastAPI(title="Kafka Connect's REST interface", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.background = background
    app.state.services = services or Services()
    for path in (_ROUTE, f"{_ROUTE}/{{path:path}}"):
        app.api_route(path, methods=METHODS, dependencies=READS_PAGE)(answer)
    app.exception_handler(HTTPException)(_refused)
    app.exception_handler(IgniteKafkaError)(_failed)
    return app


async def answer(
    request: Request, connection_id: str, prefix: str, user: GetUserDep, allowed: MayAct, path: str = ""
) -> Response:
    """Answer a request of Kafka Connect's REST interface about the connectors of a monitored cluster."""
    if is_change(request.method):
        _check_change(request, allowed)
    cluster = next((cluster for cluster in monitored_clusters() if cluster.key == (connection_id, prefix)), None)
    if cluster is None:
        return to_response(Answer.of_error(404, "This cluster is not in option monitored_clusters."))
    background: Background = request.app.state.background
    services: Services = request.app.state.services
    try:
        service = await background.call(partial(services.open, cluster), _OPEN_LIMIT_S)
    except IgniteKafkaError as error:
        return await _failed(request, error)
    root = f"{str(request.base_url).rstrip('/')}/{connection_id}/{prefix}"
    answered = await respond(request, service, background, path=path, root=root)
    if is_change(request.method):
        log.info("%s %s by %s: %d", request.method, request.url.path, user.get_name(), answered.status)
    return to_response(answered)


def _check_change(request: Request, allowed: bool) -> None:
    """Refuse a change without the right to it, or with the browser's login alone.

    :raises HTTPException: 403.
    """
    if not allowed:
        raise HTTPException(403, "Changes need the right to edit the Kafka connection of the connectors.")
    if not request.headers.get("authorization", "").lower().startswith("bearer "):
        raise HTTPException(403, "Changes need an API token of Airflow in the header Authorization: Bearer TOKEN.")


async def _refused(request: Request, error: Exception) -> Response:
    """Return a refusal in the form of Kafka Connect."""
    assert isinstance(error, HTTPException)
    return to_response(Answer.of_error(error.status_code, str(error.detail)))


async def _failed(request: Request, error: Exception) -> Response:
    """Return the error of a wrong option of the configuration, or of a cluster that cannot be used."""
    assert isinstance(error, IgniteKafkaError)
    return to_response(Answer.of_error(500 if error.final else 503, str(error)))
