"""Table of the REST interface's requests, and their dispatch.

Source: ``ConnectorsResource`` of Kafka 4.3; signals are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import quote

from ..errors import Fenced, IgniteKafkaError, NotAvailableYet, NotStopped, SettingsError
from ..state.target_state import PAUSED, RUNNING, STOPPED
from . import answers, bodies, plugins
from .messages import Answer, Request, RestError
from .service import ConnectService

Handler = Callable[[ConnectService, Request, tuple[str, ...]], Answer]
_HEALTHY = {"status": "healthy", "message": "Worker has completed startup and is ready to handle requests."}
_TASK_DIGITS = 9


def dispatch(service: ConnectService, request: Request) -> Answer:
    """Answer a request; every error of this package becomes an answer."""
    try:
        return _dispatch(service, request)
    except RestError as error:
        return Answer.of_error(error.status, error.message)
    except IgniteKafkaError as error:
        return Answer.of_error(_status(error), str(error))


def _status(error: IgniteKafkaError) -> int:
    """Return the status code of an error: 400 for the sender's, 409 or 503 where a later request may succeed."""
    if isinstance(error, (SettingsError, NotAvailableYet, NotStopped)):
        return 400
    if isinstance(error, Fenced):
        return 409
    return 500 if error.final else 503


def _dispatch(service: ConnectService, request: Request) -> Answer:
    parts = tuple(request.path.strip("/").split("/")) if request.path.strip("/") else ()
    methods: set[str] = set()
    for (method, pattern), handler in ROUTES.items():
        arguments = _match(pattern, parts)
        if arguments is None:
            continue
        methods.add(method)
        if method == request.method or (method, request.method) == ("GET", "HEAD"):
            return handler(service, request, arguments)
    if not methods:
        raise RestError(404, "HTTP 404 Not Found")
    allowed = {"Allow": ", ".join(sorted(methods | {"OPTIONS"}))}
    if request.method == "OPTIONS":
        return Answer(200, None, allowed)
    refused = Answer.of_error(405, "HTTP 405 Method Not Allowed")
    return Answer(405, refused.body, allowed)


def is_change(method: str) -> bool:
    """Return whether a request of this method may change a connector."""
    return method not in ("GET", "HEAD", "OPTIONS")


def _match(pattern: str, parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the values of a pattern's variables; None if the path has another form."""
    words = tuple(pattern.split())
    if len(words) != len(parts):
        return None
    if any(word != part for word, part in zip(words, parts, strict=True) if not word.startswith("{")):
        return None
    return tuple(part for word, part in zip(words, parts, strict=True) if word.startswith("{"))


def _connectors(service: ConnectService, request: Request, _: tuple[str, ...]) -> Answer:
    expanded = set(request.query.get("expand", ()))
    connectors = service.connectors()
    if not expanded:
        return Answer(200, list(connectors))
    return Answer(200, {name: service.describe(connector, expanded) for name, connector in connectors.items()})


def _create(service: ConnectService, request: Request, _: tuple[str, ...]) -> Answer:
    body = bodies.parse_connector(request)
    return _created(request, service.create(body))


def _created(request: Request, info: Mapping[str, object]) -> Answer:
    location = f"{request.base_url}/connectors/{quote(str(info['name']), safe='')}"
    return Answer(201, info, {"Location": location})


def _connector(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    connector = service.connector(path[0])
    return Answer(200, answers.info_of(connector, service.state(connector)))


def _config(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    return Answer(200, answers.config_of(service.connector(path[0])))


def _put_config(service: ConnectService, request: Request, path: tuple[str, ...]) -> Answer:
    new, info = service.put_config(path[0], bodies.parse_config(request, path[0]))
    return _created(request, info) if new else Answer(200, info)


def _patch_config(service: ConnectService, request: Request, path: tuple[str, ...]) -> Answer:
    return Answer(200, service.patch_config(path[0], bodies.parse_patch(request, path[0])))


def _status_of(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    connector = service.connector(path[0], "No status found for connector {}")
    return Answer(200, answers.status_of(connector, service.state(connector)))


def _tasks(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    connector = service.connector(path[0])
    return Answer(200, answers.tasks_of(connector, service.state(connector)))


def _task_status(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    name, task = path
    unknown = f"No status found for task {name}-{task}"
    state = service.state(service.connector(name, unknown))
    if _task_number(task) >= state.tasks:
        raise RestError(404, unknown)
    return Answer(200, answers.task_status(state, _task_number(task)))


def _restart_task(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    service.restart_task(path[0], _task_number(path[1]))
    return Answer(204)


def _task_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _TASK_DIGITS):
        raise RestError(404, "HTTP 404 Not Found")
    return int(text)


def _topics(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    return Answer(200, answers.topics_of(path[0], service.connectors().get(path[0])))


def _reset_topics(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    return Answer(202)


def _offsets(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    return Answer(200, service.offsets(path[0]))


def _alter_offsets(service: ConnectService, request: Request, path: tuple[str, ...]) -> Answer:
    service.connector(path[0])
    return Answer(200, service.alter_offsets(path[0], bodies.parse_offset_changes(request)))


def _reset_offsets(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    return Answer(200, service.reset_offsets(path[0]))


def _signals(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    return Answer(200, service.signals(path[0]))


def _request_signal(service: ConnectService, request: Request, path: tuple[str, ...]) -> Answer:
    request.json()  # refuses other content types and what is no JSON
    return Answer(202, service.request_signal(path[0], request.body))


def _target(state: str, status: int) -> Handler:
    def handle(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
        service.request_target(path[0], state)
        return Answer(status)

    return handle


def _restart(service: ConnectService, request: Request, path: tuple[str, ...]) -> Answer:
    only_failed = request.flag("onlyFailed")
    status = service.restart(path[0], only_failed=only_failed)
    return Answer(202, status) if only_failed or request.flag("includeTasks") else Answer(204)


def _delete(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    service.delete(path[0])
    return Answer(204)


def _plugins(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    return Answer(200, plugins.list_plugins())


def _plugin_config(service: ConnectService, _: Request, path: tuple[str, ...]) -> Answer:
    return Answer(200, plugins.plugin_settings(path[0]))


def _validate(service: ConnectService, request: Request, path: tuple[str, ...]) -> Answer:
    return Answer(200, plugins.validate(path[0], bodies.parse_validated(request), service.operator))


ROUTES: Mapping[tuple[str, str], Handler] = {
    ("GET", ""): lambda service, _, path: Answer(200, service.cluster()),
    ("GET", "health"): lambda service, _, path: Answer(200, _HEALTHY),
    ("GET", "connectors"): _connectors,
    ("POST", "connectors"): _create,
    ("GET", "connectors {name}"): _connector,
    ("DELETE", "connectors {name}"): _delete,
    ("GET", "connectors {name} config"): _config,
    ("PUT", "connectors {name} config"): _put_config,
    ("PATCH", "connectors {name} config"): _patch_config,
    ("GET", "connectors {name} status"): _status_of,
    ("POST", "connectors {name} restart"): _restart,
    ("PUT", "connectors {name} pause"): _target(PAUSED, 202),
    ("PUT", "connectors {name} resume"): _target(RUNNING, 202),
    ("PUT", "connectors {name} stop"): _target(STOPPED, 204),
    ("GET", "connectors {name} tasks"): _tasks,
    ("GET", "connectors {name} tasks {task} status"): _task_status,
    ("POST", "connectors {name} tasks {task} restart"): _restart_task,
    ("GET", "connectors {name} topics"): _topics,
    ("PUT", "connectors {name} topics reset"): _reset_topics,
    ("GET", "connectors {name} offsets"): _offsets,
    ("PATCH", "connectors {name} offsets"): _alter_offsets,
    ("DELETE", "connectors {name} offsets"): _reset_offsets,
    ("GET", "connectors {name} signals"): _signals,
    ("POST", "connectors {name} signals"): _request_signal,
    ("GET", "connector-plugins"): _plugins,
    ("GET", "connector-plugins {plugin} config"): _plugin_config,
    ("PUT", "connector-plugins {plugin} config validate"): _validate,
}
"""Handler of each request, by method and path; blanks separate the words of a path, and braces name a variable."""
