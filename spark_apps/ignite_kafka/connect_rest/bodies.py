"""Parsing of request bodies: connectors, configurations and offsets, in the forms that people send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import IgniteKafkaError
from ..settings.connect.rest_bodies import only_body
from ..state.target_state import PAUSED, RUNNING, STOPPED
from .messages import Request, RestError

MOST_KEYS = 2_000
MOST_TEXT = 65_536
"""Maximum number of keys of a configuration, and maximum length of a value."""
MOST_OFFSETS = 2_000
_STATES = (RUNNING, PAUSED, STOPPED)
_PLACE = "the request"
_NULL = "Null value can not be supplied as the configuration value."


@dataclass(frozen=True)
class NewConnector:
    """Body of a request that creates a connector.

    :param state: initial target state (KIP-980).
    """

    name: str
    config: Mapping[str, str]
    state: str = RUNNING


def parse_connector(request: Request) -> NewConnector:
    """Parse a connector: ``{"name", "config", "initial_state"}``, a bare configuration, or an answer of GET.

    :raises RestError: 400 for a body of another form.
    """
    data = _object(request)
    config, name = _parse_body(data)
    state = str(data.get("initial_state") or RUNNING).upper()
    if state not in _STATES:
        raise RestError(400, f"initial_state is {data['initial_state']!r}; allowed: {', '.join(_STATES)}")
    return NewConnector(name if isinstance(name, str) else "", config, state)


def parse_config(request: Request, name: str) -> dict[str, str]:
    """Parse the configuration of a named connector: bare, or as ``config`` of a connector's body.

    :raises RestError: 400 for another form, or for the name of another connector.
    """
    config, own_name = _parse_body(_object(request))
    return with_name(config, name, own_name)


def parse_validated(request: Request) -> dict[str, str]:
    """Parse a configuration to be validated, in the forms of :func:`parse_config`; it may lack a name.

    :raises RestError: as :func:`parse_config`.
    """
    return _parse_body(_object(request))[0]


def parse_patch(request: Request, name: str) -> dict[str, str | None]:
    """Parse changes of a configuration (KIP-477): texts by key; None removes a key.

    :raises RestError: as :func:`parse_config`.
    """
    data = _object(request)
    removed = {key: None for key, value in data.items() if value is None}
    kept = _texts({key: value for key, value in data.items() if value is not None})
    if "name" in {**removed, **kept} and kept.get("name") != name:
        raise _other_name(kept.get("name"), name)
    return {**kept, **removed}


def with_name(config: Mapping[str, str], name: str, own_name: object = None) -> dict[str, str]:
    """Return a configuration with the connector's name.

    :param own_name: name in the body beside the configuration.
    :raises RestError: 400 for the name of another connector.
    """
    for given_name in (config.get("name", name), name if own_name is None else own_name):
        if given_name != name:
            raise _other_name(given_name, name)
    return {**config, "name": name}


def parse_offset_changes(request: Request) -> list[Any]:
    """Return the items of ``{"offsets": […]}``.

    :raises RestError: 400 for another form, no offsets, or too many.
    """
    offsets = _object(request).get("offsets")
    if not isinstance(offsets, list) or not offsets:
        raise RestError(400, "Partitions / offsets need to be provided for an alter offsets request")
    if len(offsets) > MOST_OFFSETS:
        raise RestError(400, f"a request alters at most {MOST_OFFSETS:,} offsets; send several requests")
    return offsets


def _object(request: Request) -> dict[str, Any]:
    data = request.json()
    if not isinstance(data, dict):
        raise RestError(400, "the body is no JSON object")
    return data


def _parse_body(data: Mapping[str, Any]) -> tuple[dict[str, str], object]:
    """Return the configuration as texts, and the name beside or in the configuration."""
    try:
        body = only_body(data, _PLACE)
    except IgniteKafkaError as error:
        raise RestError(400, str(error)) from None
    if body.errors:
        own = body.errors[0].where.get("setting")
        if own == "name":
            raise _other_name(data["config"].get("name"), data.get("name"))
        raise RestError(400, str(body.errors[0]))
    return _texts(body.config), body.config.get("name")


def _texts(config: Mapping[str, Any]) -> dict[str, str]:
    """Return values as texts, as Kafka Connect converts numbers and booleans; a list of texts is joined by commas."""
    if len(config) > MOST_KEYS:
        raise RestError(400, f"a configuration has at most {MOST_KEYS:,} keys")
    return {key: _text(key, value) for key, value in config.items()}


def _text(key: str, value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) and "," not in item for item in value):
        value = ",".join(value)
    if value is None:
        raise RestError(400, _invalid([_NULL]))
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int, float)):
        raise RestError(400, f"the value of {key} is no text; write lists with commas, and objects as JSON texts")
    if len(str(value)) > MOST_TEXT:
        raise RestError(400, f"the value of {key} is longer than {MOST_TEXT:,} characters")
    return str(value)


def invalid_configuration(errors: list[str]) -> RestError:
    """Return the error of an invalid configuration, with Kafka Connect's message."""
    return RestError(400, _invalid(errors))


def _invalid(errors: list[str]) -> str:
    return "\n".join(
        [
            f"Connector configuration is invalid and contains the following {len(errors)} error(s):",
            *errors,
            "You can also find the above list of errors at the endpoint "
            "`/connector-plugins/{connectorType}/config/validate`",
        ]
    )


def _other_name(own: object, name: object) -> RestError:
    return RestError(400, f"Connector name configuration ({own}) doesn't match connector name in the URL ({name})")
