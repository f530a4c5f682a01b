"""Bodies of requests in the forms that people send, and what is refused of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.connect_rest import bodies
from ignite_kafka.connect_rest.messages import MOST_BODY_BYTES, Request, RestError

CONFIG = {"connector.class": "IgniteSourceConnector", "tasks.max": "1"}
NAMED = {**CONFIG, "name": "c"}


def request(body: Any, content_type: str = "application/json; charset=utf-8") -> Request:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request("POST", "/connectors", content_type=content_type, body=data)


def refusal(parse: Any, body: Any, *arguments: Any) -> tuple[int, str]:
    with pytest.raises(RestError) as caught:
        parse(request(body), *arguments)
    return caught.value.status, caught.value.message


@pytest.mark.parametrize(
    "body",
    [
        {"name": "c", "config": CONFIG},
        NAMED,
        {"name": "c", "config": NAMED, "tasks": [{"connector": "c", "task": 0}], "type": "source"},
        {"config": NAMED},
        {"c": {"info": {"name": "c", "config": NAMED, "tasks": [], "type": "source"}}},
    ],
)
def test_a_connector_in_every_form(body: Any) -> None:
    new = bodies.parse_connector(request(body))
    assert (new.name, {**new.config, "name": "c"}, new.state) == ("c", NAMED, "RUNNING")


@pytest.mark.parametrize("state", ["STOPPED", "paused", "Running", None])
def test_the_initial_state(state: str | None) -> None:
    new = bodies.parse_connector(request({"name": "c", "config": CONFIG, "initial_state": state}))
    assert new.state == (state or "RUNNING").upper()


@pytest.mark.parametrize("body", [CONFIG, NAMED, {"name": "c", "config": CONFIG}, {"config": NAMED}])
def test_a_configuration_in_every_form(body: Any) -> None:
    assert bodies.parse_config(request(body), "c") == NAMED


def test_numbers_booleans_and_lists_become_texts_as_in_kafka_connect() -> None:
    sent = {**NAMED, "slots": 5, "flag": True, "share": 0.5, "list": ["a", "b"]}
    assert bodies.parse_validated(request(sent)) == {**NAMED, "slots": "5", "flag": "true", "share": "0.5", "list": "a,b"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        ([], "the body is no JSON object"),
        ({"name": "c", "config": CONFIG, "surplus": 1}, "there is no such key beside config"),
        ({"name": "c", "config": {**CONFIG, "name": "d"}}, "Connector name configuration (d) doesn't match connector name in the URL (c)"),
        ({"name": "c", "config": {**CONFIG, "x": {}}}, "the value of x is no text"),
        ({"name": "c", "config": {**CONFIG, "x": [1]}}, "the value of x is no text"),
        ({"name": "c", "config": {**CONFIG, "x": None}}, "Null value can not be supplied"),
        ({"name": "c", "config": {**CONFIG, "x": "y" * 70_000}}, "longer than 65,536"),
        ({"name": "c", "config": dict.fromkeys(map(str, range(3_000)), "")}, "at most 2,000 keys"),
        ({"name": "c", "config": CONFIG, "initial_state": "WRONG"}, "initial_state is 'WRONG'"),
        ({"status": {}}, "without a connector's config"),
    ],
)
def test_another_form_is_the_sender_s_error(body: Any, told: str) -> None:
    status, message = refusal(bodies.parse_connector, body)
    assert status == 400
    assert told in message


def test_the_content_type_and_the_size_are_limited() -> None:
    for content_type in ("", "text/plain", "application/x-www-form-urlencoded"):
        with pytest.raises(RestError) as caught:
            request(NAMED, content_type).json()
        assert caught.value.status == 415
    assert refusal(bodies.parse_connector, b" " * (MOST_BODY_BYTES + 1))[0] == 413


def test_a_patch_changes_and_removes_keys() -> None:
    assert bodies.parse_patch(request({"a": 1, "b": None}), "c") == {"a": "1", "b": None}
    assert bodies.parse_patch(request({}), "c") == {}
    for name in ("d", None):
        assert "doesn't match" in refusal(bodies.parse_patch, {"name": name}, "c")[1]


@pytest.mark.parametrize("body", [{}, {"offsets": []}, {"offsets": {}}])
def test_no_offsets_are_an_error(body: Any) -> None:
    assert refusal(bodies.parse_offset_changes, body) == (400, "Partitions / offsets need to be provided for an alter offsets request")


def test_the_number_of_offsets_is_limited() -> None:
    assert "at most 2,000 offsets" in refusal(bodies.parse_offset_changes, {"offsets": [{}] * 2_001})[1]
    assert bodies.parse_offset_changes(request({"offsets": [{}]})) == [{}]
