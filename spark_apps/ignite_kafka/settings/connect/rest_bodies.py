"""Bodies of Kafka Connect's REST interface, saved in files: `curl` responses and request bodies.

Known are the bodies of ``GET /connectors/NAME``, ``GET /connectors?expand=info``, ``POST /connectors`` with KIP-980's
initial state, and ``PUT /connectors/NAME/config``. Source: ``ConnectorsResource`` of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import IgniteKafkaError, SettingsError

FORM = 'Its form is {"name": …, "config": {…}}, or the settings themselves: {"name": …, "cache_whitelist": […], …}'
_NAME = "name"
_CONFIG = "config"
_INFO = "info"
_REPORTED = {
    "tasks": "Kafka Connect reports it; a run divides its work itself",
    "type": "Kafka Connect reports it; connector.class decides about the direction",
    "initial_state": "a connector here runs when it is started; `state` of a connector file keeps one stopped",
}
_OF_OTHER_BODIES = ("configs", "connector", "connectors", "status", "version")
"""Keys of REST bodies that hold no connector's settings, so that the error can say so."""


@dataclass(frozen=True)
class Body:
    """A connector's settings in a REST body.

    :param config: settings of the connector, with its name.
    :param origin: place of the connector: the file, and the connector's name if the file has several.
    :param ignored: keys beside the settings, with the reason.
    :param errors: SettingsError of each key in a wrong form.
    """

    config: Mapping[str, Any]
    origin: str
    ignored: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[IgniteKafkaError, ...] = ()


def bodies(data: Mapping[str, Any], file: str) -> tuple[Body, ...]:
    """Return the connectors in the JSON object of a settings file, whatever REST body it is.

    :raises SettingsError: the object is another body of the REST interface, or holds no connector.
    """
    if data and all(_is_expanded(body) for body in data.values()):
        return tuple(_read_body(body[_INFO], f"{file}, connector {name}") for name, body in data.items())
    if isinstance(data.get(_CONFIG), Mapping):
        return (_read_body(data, file),)
    other = [name for name in (_CONFIG, _INFO, *_REPORTED, *_OF_OTHER_BODIES) if name in data]
    if other or (data and all(isinstance(body, Mapping) and "status" in body for body in data.values())):
        raise SettingsError(
            "the file is a body of Kafka Connect's REST interface without a connector's config", FORM, file=file
        )
    return (Body(data, file),)


def only_body(data: Mapping[str, Any], file: str) -> Body:
    """Return the only connector in the JSON object of a settings file.

    :raises SettingsError: as :func:`bodies`; or the object holds several connectors.
    """
    connectors = bodies(data, file)
    if len(connectors) > 1:
        what = f"the file holds {len(connectors)} connectors: {', '.join(data)}"
        remedy = (
            "Make a file of each: `ignite-kafka migrate` and `ignite-kafka validate` with the worker's file "
            "before it read all of them"
        )
        raise SettingsError(what, remedy, file=file)
    return connectors[0]


def _is_expanded(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get(_INFO), Mapping)
        and isinstance(value[_INFO].get(_CONFIG), Mapping)
    )


def _read_body(data: Mapping[str, Any], place: str) -> Body:
    name = {_NAME: data[_NAME]} if _NAME in data else {}
    ignored = {key: reason for key, reason in _REPORTED.items() if key in data}
    return Body({**name, **data[_CONFIG]}, place, ignored, tuple(_find_errors(data, place)))


def _find_errors(data: Mapping[str, Any], place: str) -> Iterator[SettingsError]:
    config = data[_CONFIG]
    if _NAME in data and _NAME in config and data[_NAME] != config[_NAME]:
        what = f"the connector has two names: name is {data[_NAME]!r}, config.name is {config[_NAME]!r}"
        yield SettingsError(what, "Keep one; Kafka Connect refuses such a body", setting=_NAME, set_in=place)
    for key in data:
        if key not in (_NAME, _CONFIG, *_REPORTED):
            yield SettingsError("there is no such key beside config", FORM, setting=key, set_in=place)
