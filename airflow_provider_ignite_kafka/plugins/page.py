"""The page Connectors, a FastAPI application mounted by Airflow's API server.

The page is HTML; Kafka and Ignite are asked in threads.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.api_fastapi.logging.decorators import action_logging
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from markupsafe import Markup

from airflow_provider_ignite_kafka.plugins import rest, views
from airflow_provider_ignite_kafka.plugins.access import (
    READS_PAGE,
    ActionToken,
    MayAct,
    check_sender,
    read_message,
    requires_action,
    sign_message,
)
from airflow_provider_ignite_kafka.plugins.actions import ACTIONS, perform
from airflow_provider_ignite_kafka.plugins.connector_details import ConnectorDetails, failed_details, read_details
from airflow_provider_ignite_kafka.plugins.html import connector_path, render
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster, monitored_clusters
from airflow_provider_ignite_kafka.plugins.page_data import (
    ClusterReader,
    ClusterReading,
    has_backlog,
    unexpected,
)
from airflow_provider_ignite_kafka.plugins.search import Search, states
from ignite_kafka.admin.overview import ConnectorOverview
from ignite_kafka.connect_rest.background import Background
from ignite_kafka.errors import IgniteKafkaError

log = logging.getLogger(__name__)
_READ_LIMIT_S = 12.0
_ACTION_LIMIT_S = 60.0
_MOST_BODY = 16_384
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
Read = Callable[[MonitoredCluster, str | None], ClusterReading]
ReadDetails = Callable[[MonitoredCluster, ConnectorOverview], ConnectorDetails]


def create_page(read: Read | None = None, details: ReadDetails = read_details) -> FastAPI:
    """Create the page's FastAPI application with its routes, permission checks and error pages.

    :param read: reads the connectors of a cluster, and the lag of one of them in any case.
    :param details: reads the sections of a connector's page.
    """
    app = FastAPI(title="Ignite and Kafka connectors", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.background = Background()
    app.state.read = read or ClusterReader().read
    app.state.details = details
    app.mount("/static", StaticFiles(directory=Path(__file__).with_name("static")), name="static")
    app.mount(rest.PATH, rest.create_rest(app.state.background))
    app.get("/", response_class=HTMLResponse, dependencies=READS_PAGE)(show_list)
    path = "/connections/{connection_id}/connectors/{name}"
    app.get(path, response_class=HTMLResponse, dependencies=READS_PAGE)(show_connector)
    acting = [
        *READS_PAGE,
        Depends(requires_action),
        Depends(_requires_form),
        Depends(action_logging(event="ignite_kafka_connector_action")),
    ]
    app.post(f"{path}/{{action}}", dependencies=acting)(act)
    app.exception_handler(HTTPException)(_refused)
    app.exception_handler(IgniteKafkaError)(_failed)
    return app


async def show_list(request: Request, q: str = "", state: str = "") -> Response:
    """Show the start page: a list of the connectors of all monitored clusters.

    :param q: words that each connector shown has in its row.
    :param state: state of the connectors shown; empty: all.
    """
    readings = await asyncio.gather(*(_reading(request, cluster) for cluster in monitored_clusters()))
    search = Search.of(q, state)
    rows = [views.rows(reading) for reading in readings]
    clusters = [
        (reading, _rendered_rows(request, reading, its_rows, search), reading.error and views.Problem.of(reading.error))
        for reading, its_rows in zip(readings, rows, strict=True)
    ]
    every = [row for its_rows in rows for row in its_rows]
    shown = sum(search.matches(row) for row in every)
    return _html(
        request, "list.html", clusters=clusters, search=search, states=states(every), shown=shown, total=len(every)
    )


def _rendered_rows(
    request: Request, reading: ClusterReading, rows: Iterable[views.ConnectorRow], search: Search
) -> list[Markup]:
    """Render a table row for each connector of a cluster; after an error, a row with the error."""
    root = request.scope.get("root_path", "")

    def rendered(row: views.ConnectorRow) -> Markup:
        return Markup(render("row.html", root, row=row, search=search))  # the template has escaped it

    rendered_rows = []
    for row in rows:
        try:
            rendered_rows.append(rendered(row))
        except Exception as error:
            log.exception("The row of connector %r cannot be shown.", row.name)
            rendered_rows.append(rendered(views.unreadable_row(reading, row.name, unexpected(error))))
    return rendered_rows


async def show_connector(
    request: Request,
    connection_id: str,
    name: str,
    prefix: str,
    allowed: MayAct,
    user: GetUserDep,
    token: ActionToken,
    message: str | None = None,
) -> Response:
    """Show the page of a connector: its state, caches, runs, events and buttons for actions."""
    key = (connection_id, prefix, name)
    return await _connector(request, key, allowed, token, done=read_message(message, str(user.get_id()), key))


async def act(
    request: Request, connection_id: str, name: str, action: str, prefix: str, user: GetUserDep, token: ActionToken
) -> Response:
    """Perform the action of a submitted form, and show the connector's page with the result or error."""
    body = await _body(request)
    form = {field: values[-1] for field, values in parse_qs(body.decode(errors="replace")).items()}
    check_sender(request, form.get("token", ""), str(user.get_id()))
    if action not in ACTIONS:
        raise HTTPException(404, f"There is no action {action!r}.")
    cluster = _cluster(connection_id, prefix)
    background: Background = request.app.state.background
    try:
        done = await background.call(partial(perform, ACTIONS[action], cluster, name, form), _ACTION_LIMIT_S)
    except IgniteKafkaError as error:
        log.warning("%s of connector %s failed: %s", action, name, error)
        problem = views.Problem.of(error)
        return await _connector(request, (connection_id, prefix, name), True, token, problem=problem, status=409)
    finally:
        background.forget()
    log.info("%s by %s: %s", action, user.get_name(), json.dumps(done))
    key = (connection_id, prefix, name)
    query = urlencode({"prefix": prefix, "message": sign_message(done, str(user.get_id()), key)})
    return RedirectResponse(
        f"{request.scope.get('root_path', '')}{connector_path(cluster, name)}?{query}", 303, _HEADERS
    )


def _requires_form(request: Request) -> None:
    """Refuse a request with a JSON body, because Airflow's audit log would read the body without limit.

    :raises HTTPException: 415.
    """
    if "json" in request.headers.get("content-type", "").lower():
        raise HTTPException(415, "Actions take forms, as the page sends them.")


async def _body(request: Request) -> bytes:
    """Read the body of a form up to a size limit, against requests that would fill the memory.

    :raises HTTPException: 413.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BODY:
            raise HTTPException(413, "The form is too long.")
    return body


async def _connector(
    request: Request, key: tuple[str, str, str], allowed: bool, token: str, *, status: int = 200, **more: Any
) -> Response:
    connection_id, prefix, name = key
    cluster = _cluster(connection_id, prefix)
    reading = await _reading(request, cluster, name)
    if reading.error is not None:
        return _html(
            request, "unavailable.html", cluster=cluster, name=name, problem=views.Problem.of(reading.error), **more
        )
    connector = reading.connectors.get(name)
    if connector is None:
        raise HTTPException(404, f"There is no connector {name!r} in this cluster.")
    details = await _details(request, cluster, connector)
    try:
        page = views.page(reading, connector, details)
        content = {
            "page": page,
            "cluster": cluster,
            "may_act": allowed,
            "token": token,
            "backlog": has_backlog(connector),
            **more,
        }
        return _html(request, "connector.html", status=status, **content)
    except Exception as error:
        log.exception("The page of connector %r cannot be shown.", name)
        return _html(
            request, "unavailable.html", cluster=cluster, name=name, problem=views.Problem.of(unexpected(error))
        )


async def _details(request: Request, cluster: MonitoredCluster, connector: ConnectorOverview) -> ConnectorDetails:
    background: Background = request.app.state.background
    key = (*cluster.key, connector.name)
    try:
        details: ConnectorDetails = await background.shared(
            key, partial(request.app.state.details, cluster, connector), _READ_LIMIT_S
        )
    except IgniteKafkaError as error:
        return failed_details(cluster, connector, error)
    except Exception as error:
        log.exception("The sections of the page of connector %r cannot be read.", connector.name)
        return failed_details(cluster, connector, unexpected(error))
    return details


async def _reading(request: Request, cluster: MonitoredCluster, name: str | None = None) -> ClusterReading:
    background: Background = request.app.state.background
    try:
        reading: ClusterReading = await background.shared(
            (cluster.key, name), partial(request.app.state.read, cluster, name), _READ_LIMIT_S
        )
    except IgniteKafkaError as error:
        return ClusterReading(cluster, error=error)
    except Exception as error:
        log.exception("The connectors of connection %r cannot be read.", cluster.kafka_conn_id)
        return ClusterReading(cluster, error=unexpected(error))
    return reading


def _cluster(connection_id: str, prefix: str) -> MonitoredCluster:
    """Find the monitored cluster of a URL; the page refuses to reach any other cluster.

    :raises HTTPException: 404.
    """
    matching = [cluster for cluster in monitored_clusters() if cluster.key == (connection_id, prefix)]
    if not matching:
        raise HTTPException(
            404, f"Connection {connection_id!r} with prefix {prefix!r} is not in option monitored_clusters."
        )
    return matching[0]


def _html(request: Request, template: str, *, status: int = 200, **content: Any) -> HTMLResponse:
    text = render(template, request.scope.get("root_path", ""), **content)
    return HTMLResponse(text, status, _HEADERS)


async def _refused(request: Request, error: Exception) -> Response:
    """Render the error page of a refused request, with a link to the login if the user has none."""
    assert isinstance(error, HTTPException)
    login = get_auth_manager().get_url_login(next_url=str(request.url)) if error.status_code == 401 else None
    return _html(
        request, "refused.html", status=error.status_code, code=error.status_code, detail=error.detail, login=login
    )


async def _failed(request: Request, error: Exception) -> Response:
    """Render the error page for a wrong option of the configuration."""
    assert isinstance(error, IgniteKafkaError)
    return _html(request, "unavailable.html", status=500, cluster=None, name=None, problem=views.Problem.of(error))
