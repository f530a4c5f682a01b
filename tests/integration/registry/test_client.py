"""The client on a real registry: registering, compatibility, a registry that is away, slow, refusing, and an authenticating proxy."""

from __future__ import annotations

import base64
import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ignite_kafka.errors import RegistryError, RegistryUnavailable
from ignite_kafka.registry.client import Registry
from ignite_kafka.registry.schema import JSON, Registered, RegistrySchema
from tests.support import QUICK_JVM
from tests.support.registry import config, gate, record
from tests.support.tcp_proxy import TcpProxy
from tools.servers import Jars, SchemaRegistry

Unique = Callable[[str], str]
Connect = Callable[..., Registry]


@pytest.fixture
def connect() -> Iterator[Callable[..., Registry]]:
    """``connect(url, properties, secrets)``: a client with caches of its own."""
    with ExitStack() as stack:

        def of(*arguments: Any, sleep: Callable[[float], object] = time.sleep, **options: Any) -> Registry:
            return stack.enter_context(Registry(config(*arguments, **options), sleep=sleep))

        yield of


def ask(url: str, method: str, path: str, body: object = None) -> object:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    connection.request(method, parts.path + path, json.dumps(body), {"Content-Type": "application/vnd.schemaregistry.v1+json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status == 200, text
    return json.loads(text)


def test_a_registered_schema_is_found_by_id_and_by_its_subject(connect: Connect, schema_registry: SchemaRegistry, unique: Unique) -> None:
    subject, schema = unique("people") + "-value", record("id", "name")
    made = connect(schema_registry.url).registered(subject, schema)
    other = connect(schema_registry.url, {"auto.register.schemas": "false"})
    assert other.registered(subject, schema) == made
    assert json.loads(other.schema(made.id, subject).text) == json.loads(schema.text)
    assert ask(schema_registry.url, "GET", f"/subjects/{subject}/versions") == [1]
    assert connect(schema_registry.url).registered(subject, schema).id == made.id  # again: no second version
    assert ask(schema_registry.url, "GET", f"/subjects/{subject}/versions") == [1]


def test_a_json_schema_keeps_its_type(connect: Connect, schema_registry: SchemaRegistry, unique: Unique) -> None:
    schema = RegistrySchema('{"type": "object", "properties": {"id": {"type": "integer"}}}', JSON)
    id = connect(schema_registry.url).registered(unique("t") + "-value", schema).id
    found = connect(schema_registry.url).schema(id)
    assert (found.type, json.loads(found.text)) == (JSON, json.loads(schema.text))


SINGLE = {
    "integer": '{"type":"integer","connect.type":"int64"}',
    "text": '{"type":"string"}',
    "flag": '{"type":"boolean"}',
    "decimal": '{"title":"org.apache.kafka.connect.data.Decimal","type":"number","connect.type":"bytes"}',
    "optional": '{"oneOf":[{"type":"null"},{"type":"number","connect.type":"float64"}]}',
    "list": '{"type":"array","items":{"type":"integer","connect.type":"int32"}}',
    "anything": "{}",
}


def test_json_schemas_of_single_values_are_registered_and_found(connect: Connect, schema_registry: SchemaRegistry, unique: Unique) -> None:
    """Apicurio takes each of them for no schema, unless it has ``$schema``."""
    registers, looks_up = connect(schema_registry.url), connect(schema_registry.url, {"auto.register.schemas": "false"})
    for name, text in SINGLE.items():
        subject, schema = unique(name) + "-key", RegistrySchema(text, JSON)
        with pytest.raises(RegistryError, match="looking a schema up failed"):
            looks_up.registered(subject, schema)
        made = registers.registered(subject, schema)
        assert looks_up.registered(subject, schema) == made == Registered(made.id, schema)
        found = json.loads(connect(schema_registry.url).schema(made.id).text)
        assert found.pop("$schema") == "http://json-schema.org/draft-07/schema#"
        assert found == json.loads(text)


def test_without_registration_a_schema_that_is_missing_is_refused(
    connect: Connect, schema_registry: SchemaRegistry, unique: Unique
) -> None:
    with pytest.raises(RegistryError, match=r"set auto\.register\.schemas to true"):
        connect(schema_registry.url, {"auto.register.schemas": "false"}).registered(unique("t"), record("id"))


def test_the_latest_version_is_what_the_registry_calls_it(connect: Connect, schema_registry: SchemaRegistry, unique: Unique) -> None:
    subject = unique("t")
    registering = connect(schema_registry.url)
    registering.registered(subject, record("id"))
    latest = registering.registered(subject, record("id", "name"))
    properties = {"auto.register.schemas": "false", "use.latest.version": "true"}
    found = connect(schema_registry.url, properties).registered(subject, record("id"))
    assert (found.id, found.strict, json.loads(found.schema.text)) == (latest.id, True, json.loads(latest.schema.text))


@pytest.mark.parametrize(
    ("level", "new", "accepted"),
    [
        ("BACKWARD", record("id", "name", defaults=True), True),
        ("BACKWARD", record("id", "name"), False),  # a reader with the new one needs the name
        ("FORWARD", record("id", "name"), True),
        ("FORWARD", record(), False),  # a reader with the old one needs the id
        ("FULL", record("id", "name", defaults=True), True),
        ("FULL", record("id", "name"), False),
        ("NONE", record(), True),
    ],
)
def test_the_compatibility_of_the_subject_decides(
    connect: Connect, schema_registry: SchemaRegistry, unique: Unique, level: str, new: RegistrySchema, accepted: bool
) -> None:
    subject, made = unique("t"), connect(schema_registry.url)
    first = made.registered(subject, record("id"))
    ask(schema_registry.url, "PUT", f"/config/{subject}", {"compatibility": level})
    if accepted:
        assert made.registered(subject, new).id != first.id
        return
    with pytest.raises(RegistryError, match="registering a schema failed") as raised:
        made.registered(subject, new)
    assert raised.value.where["status"] == 409
    assert raised.value.where["subject"] == subject
    assert ask(schema_registry.url, "GET", f"/subjects/{subject}/versions") == [1]


@pytest.mark.parametrize(
    ("level", "versions", "new"),
    [
        ("BACKWARD", [record(), record("id", "name")], record("name")),  # data of the first schema has no name
        ("FORWARD", [record("id"), record()], record("name")),  # a reader with the first schema needs the id
        ("FULL", [record("name"), record("id")], record("id", "mail", defaults=True)),  # data of the first schema has no id
    ],
)
def test_a_transitive_level_compares_with_every_version(
    connect: Connect, schema_registry: SchemaRegistry, unique: Unique, level: str, versions: list[RegistrySchema], new: RegistrySchema
) -> None:
    for compatibility in (level, f"{level}_TRANSITIVE"):
        subject, made = unique("t"), connect(schema_registry.url)
        ids = {made.registered(subject, versions[0]).id}
        ask(schema_registry.url, "PUT", f"/config/{subject}", {"compatibility": "NONE"})
        ids.add(made.registered(subject, versions[1]).id)
        ask(schema_registry.url, "PUT", f"/config/{subject}", {"compatibility": compatibility})
        if compatibility == level:
            assert made.registered(subject, new).id not in ids
            continue
        with pytest.raises(RegistryError, match="registering a schema failed") as raised:
            made.registered(subject, new)
        assert raised.value.where["status"] == 409
        assert ask(schema_registry.url, "GET", f"/subjects/{subject}/versions") == [1, 2]


def test_a_schema_that_is_none_is_refused(connect: Connect, schema_registry: SchemaRegistry, unique: Unique) -> None:
    with pytest.raises(RegistryError, match="Change what the registry refuses") as raised:
        connect(schema_registry.url).registered(unique("t"), RegistrySchema('{"type": "nothing"}', "AVRO"))
    assert raised.value.where["status"] == 422


def test_an_id_that_is_unknown_is_named(connect: Connect, schema_registry: SchemaRegistry) -> None:
    with pytest.raises(RegistryError, match="reading a schema failed") as raised:
        connect(schema_registry.url).schema(999_999)
    assert raised.value.where == {"id": 999_999, "registry": schema_registry.url, "status": 404, "code": 40403}


def test_a_url_that_is_no_registry_says_so(connect: Connect, schema_registry: SchemaRegistry) -> None:
    wrong = schema_registry.url.replace("/apis/ccompat/v7", "/elsewhere")
    with pytest.raises(RegistryUnavailable, match="the path of its API"):
        connect(wrong, retry_s=0.5).schema(1)


def test_user_and_password_are_sent_and_a_wrong_one_is_refused(connect: Connect, schema_registry: SchemaRegistry, unique: Unique) -> None:
    right = "Basic " + base64.b64encode(b"ann:s3cret:x").decode()
    with gate(schema_registry.url, right) as url:
        subject = unique("t")
        for secrets in (
            {"basic.auth.user.info": "ann:s3cret:x"},
            {"schema.registry.url": url.replace("//", "//ann:s3cret%3Ax@")},
        ):
            assert connect(url, secrets=secrets).registered(subject, record("id")).id > 0
        with pytest.raises(RegistryError, match="Check user and password") as raised:
            connect(url, secrets={"basic.auth.user.info": "ann:wr0ng"}).registered(subject, record("id"))
        assert raised.value.final
        assert "wr0ng" not in str(raised.value)


def test_a_token_is_sent(connect: Connect, schema_registry: SchemaRegistry, unique: Unique) -> None:
    with gate(schema_registry.url, "Bearer t0ken") as url:
        given = {"bearer.auth.credentials.source": "STATIC_TOKEN"}
        assert connect(url, secrets={**given, "bearer.auth.token": "t0ken"}).registered(unique("t"), record("id")).id > 0
        with pytest.raises(RegistryError, match="or the token"):
            connect(url, secrets={**given, "bearer.auth.token": "other"}).registered(unique("t"), record("id"))


def test_the_next_url_is_used_when_one_does_not_answer(connect: Connect, schema_registry: SchemaRegistry, unique: Unique) -> None:
    made = connect(f"http://127.0.0.1:1,{schema_registry.url}")
    assert made.registered(unique("t"), record("id")).id > 0


def test_a_registry_that_was_away_goes_on(connect: Connect, jars: Jars, tmp_path: Path) -> None:
    with SchemaRegistry(tmp_path, jars=jars, java_options=QUICK_JVM) as server:
        made = connect(server.url)
        first = made.registered("t", record("id"))
        server.kill()
        assert made.registered("t", record("id")) == first  # kept
        waits: list[float] = []

        def back(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                server.start()

        waiting = connect(server.url, sleep=back)
        assert waiting.registered("t", record("id")).id > 0
        assert waits == [0.2, 0.4]


def test_a_registry_that_stays_away_is_an_error_that_a_retry_may_mend(connect: Connect) -> None:
    with pytest.raises(RegistryUnavailable, match="ConnectError") as raised:
        connect("http://127.0.0.1:1", retry_s=0.1).registered("t", record("id"))
    assert raised.value.where["registry"] == "http://127.0.0.1:1"


def test_a_registry_that_is_slower_than_its_timeout_is_asked_again(
    connect: Connect, schema_registry: SchemaRegistry, unique: Unique
) -> None:
    with TcpProxy(schema_registry.port) as proxy:
        url = schema_registry.url.replace(str(schema_registry.port), proxy.address.partition(":")[2])
        proxy.delay_s = 2.0
        waits: list[float] = []

        def faster(seconds: float) -> None:
            waits.append(seconds)
            proxy.delay_s = 0.0

        made = connect(url, {"http.read.timeout.ms": "500"}, sleep=faster)
        assert made.registered(unique("t"), record("id")).id > 0
        assert waits
