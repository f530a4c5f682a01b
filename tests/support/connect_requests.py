"""Requests to Kafka Connect's REST interface, sent to a worker of Kafka and to this project's server, and the form of replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.connect_distributed import STATE_S, Reply, RestServer
from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Side:
    """What differs between the two servers: the configuration of a connector, and words of its plugin.

    :param wrong: changes that make a configuration invalid.
    :param patch: a valid change, with a key that a further request removes.
    """

    server: RestServer
    plugin: str
    other_plugin: str
    config: Mapping[str, str]
    patch: Mapping[str, str]
    partition: Mapping[str, Any]
    offset: Mapping[str, Any]
    wrong: Mapping[str, str]

    @property
    def offsets(self) -> dict[str, Any]:
        return {"offsets": [{"partition": self.partition, "offset": self.offset}]}


Body = Callable[[Side], Any]


@dataclass(frozen=True)
class Case:
    """A request; afterwards both servers must show a state.

    :param ours: status code of this project's server where Kafka Connect has 500 for what is the sender's error.
    :param state: what to wait for before the next request: name and state.
    :param same_text: whether the message must be equal, too.
    :param filled: whether to repeat the request until the connector has a topic, which appears with the first record.
    """

    method: str
    path: str | Callable[[Side], str]
    body: Body | None = None
    ours: int | None = None
    state: tuple[str, str] | None = None
    same_text: bool = False
    filled: bool = False

    def send(self, side: Side) -> Reply:
        if self.filled:
            return wait_until(lambda: self._filled(self._send(side)), f"topics of {side.server.url}", deadline_s=STATE_S)
        return self._send(side)

    def _filled(self, reply: Reply) -> Reply | None:
        return reply if reply.body["x"]["topics"] else None

    def _send(self, side: Side) -> Reply:
        return side.server.call(self.method, self.at(side), self.body(side) if self.body else None)

    def at(self, side: Side) -> str:
        return self.path(side) if callable(self.path) else self.path


def _wrapped(side: Side, **more: Any) -> dict[str, Any]:
    return {"name": "x", "config": side.config, **more}


def _validate(plugin: Callable[[Side], str]) -> Callable[[Side], str]:
    return lambda side: f"/connector-plugins/{plugin(side)}/config/validate"


_ABSENT = "/connectors/absent"
_UNKNOWN = [
    Case(method, f"{_ABSENT}{path}", body, same_text=True)
    for method, path, body in (
        ("GET", "", None), ("GET", "/config", None), ("GET", "/status", None), ("GET", "/tasks", None), ("GET", "/topics", None),
        ("GET", "/offsets", None), ("GET", "/tasks/0/status", None), ("PUT", "/pause", None), ("PUT", "/resume", None),
        ("PUT", "/stop", None), ("POST", "/restart", None), ("POST", "/restart?includeTasks=true", None), ("POST", "/tasks/0/restart", None),
        ("DELETE", "", None), ("DELETE", "/offsets", None), ("PATCH", "/offsets", lambda side: side.offsets),
        ("PATCH", "/config", lambda side: side.patch), ("PUT", "/topics/reset", None),
    )
]  # fmt: skip
_FORMS = [
    Case("GET", "/"), Case("GET", "/health"), Case("GET", "/connectors"), Case("GET", "/connectors/"), Case("HEAD", "/connectors"),
    Case("GET", "/nowhere", same_text=True), Case("DELETE", "/connectors", same_text=True),
    Case("PUT", "/connectors", lambda side: {}, same_text=True),
    Case("POST", "/connectors", lambda side: b'{"name":', 400), Case("POST", "/connectors", lambda side: b"[]", 400),
    Case("POST", "/connectors", lambda side: {"name": "x"}, 400), Case("POST", "/connectors", lambda side: {"config": side.config}),
    Case("POST", "/connectors", lambda side: {"name": "x", "config": {}}),
    Case("POST", "/connectors", lambda side: {"name": "x", "config": {"connector.class": "NoSuch"}}),
    Case("POST", "/connectors", lambda side: {"name": "x", "config": {**side.config, **side.wrong}}),
    Case("POST", "/connectors", lambda side: {"name": "x", "config": {**side.config, "name": "y"}}, same_text=True),
    Case("POST", "/connectors", lambda side: _wrapped(side, surplus=1), 400),
    Case("POST", "/connectors", lambda side: {"name": "x", "config": {**side.config, "z": None}}, same_text=True),
    Case("POST", "/connectors", lambda side: _wrapped(side, initial_state="WRONG"), 400),
    Case("POST", "/connectors", lambda side: {"name": " ", "config": side.config}, same_text=True),
    Case("PUT", "/connectors/x/config", lambda side: {}),
    Case("PUT", "/connectors/x/config", lambda side: {**side.config, "name": "y"}, same_text=True),
]  # fmt: skip
_RUNNING = [
    Case("POST", "/connectors", lambda side: _wrapped(side), state=("x", "RUNNING")),
    Case("POST", "/connectors", lambda side: _wrapped(side), same_text=True),
    Case("GET", "/connectors"), Case("GET", "/connectors?expand=status"), Case("GET", "/connectors?expand=info&expand=status"),
    Case("GET", "/connectors?expand=wrong"),
    *(Case("GET", f"/connectors/x{path}") for path in ("", "/config", "/status", "/tasks", "/tasks/0/status")),
    Case("GET", "/connectors/x/topics", filled=True),
    Case("GET", "/connectors/x/tasks/99/status", same_text=True), Case("POST", "/connectors/x/tasks/99/restart", same_text=True),
    Case("DELETE", "/connectors/x/offsets", same_text=True), Case("PATCH", "/connectors/x/offsets", lambda side: side.offsets, same_text=True),
    Case("POST", "/connectors/x/restart?includeTasks=true&onlyFailed=true"), Case("POST", "/connectors/x/restart?onlyFailed=true"),
    Case("PUT", "/connectors/x/pause", state=("x", "PAUSED")), Case("PUT", "/connectors/x/pause"), Case("GET", "/connectors/x/status"),
    Case("PUT", "/connectors/x/resume", state=("x", "RUNNING")), Case("GET", "/connectors/x/status"),
    Case("PUT", "/connectors/x/stop", state=("x", "STOPPED")),
]  # fmt: skip
_STOPPED = [
    Case("GET", "/connectors/x"), Case("GET", "/connectors/x/tasks"),
    Case("PATCH", "/connectors/x/offsets", lambda side: {}, same_text=True),
    Case("PATCH", "/connectors/x/offsets", lambda side: {"offsets": []}, same_text=True),
    Case("PATCH", "/connectors/x/offsets", lambda side: {"offsets": [{"partition": {"wrong": 1}, "offset": side.offset}]}, 400),
    Case("PATCH", "/connectors/x/offsets", lambda side: side.offsets, same_text=True), Case("GET", "/connectors/x/offsets"),
    Case("DELETE", "/connectors/x/offsets", same_text=True), Case("GET", "/connectors/x/offsets"),
    Case("POST", "/connectors/x/restart"), Case("POST", "/connectors/x/restart?includeTasks=true"),
    Case("PATCH", "/connectors/x/config", lambda side: side.patch), Case("PATCH", "/connectors/x/config", lambda side: side.wrong),
    Case("PATCH", "/connectors/x/config", lambda side: dict.fromkeys(side.patch)), Case("PUT", "/connectors/x/config", lambda side: side.config),
    Case("PUT", "/connectors/x/config", lambda side: {**side.config, **side.wrong}),
    Case("POST", "/connectors", lambda side: {**_wrapped(side, initial_state="STOPPED"), "name": "stopped"}, state=("stopped", "STOPPED")),
    Case("GET", "/connectors/stopped/status"), Case("DELETE", "/connectors/stopped"),
]  # fmt: skip
_PLUGINS = [
    Case("GET", "/connector-plugins"), Case("GET", lambda side: f"/connector-plugins/{side.plugin}/config"),
    Case("GET", "/connector-plugins/NoSuch/config", same_text=True),
    Case("PUT", _validate(lambda side: side.plugin), lambda side: {**side.config, "name": "v"}),
    Case("PUT", _validate(lambda side: side.plugin), lambda side: {**side.config, **side.wrong, "name": "v"}),
    Case("PUT", _validate(lambda side: side.other_plugin), lambda side: side.config),
    Case("PUT", _validate(lambda side: "NoSuch"), lambda side: side.config),
]  # fmt: skip
_DELETED = [
    Case("DELETE", "/connectors/x"), Case("GET", "/connectors/x", same_text=True), Case("DELETE", "/connectors/x", same_text=True),
    Case("GET", "/connectors"),
]  # fmt: skip
CASES = [*_FORMS, *_UNKNOWN, *_RUNNING, *_STOPPED, *_PLUGINS, *_DELETED]


def form_of(body: Any, key: str = "") -> Any:
    """Form of a body: keys and types; of a list that of its first item, of settings only that they are texts."""
    if isinstance(body, Mapping):
        if key in ("offset", "partition"):
            return "object"
        if key == "config" or "connector.class" in body:
            return "texts" if all(isinstance(value, str) for value in body.values()) else body
        return {name: form_of(value, name) for name, value in sorted(body.items())}
    if isinstance(body, list):
        return [form_of(body[0], key)] if body else []
    if key in ("default_value", "value", "group"):
        return "text or null"
    return type(body).__name__
