"""Requests, retries and what is kept, on a client that answers as it is told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

from ignite_kafka.errors import IgniteKafkaError, RegistryError, RegistryUnavailable, SettingsError
from ignite_kafka.registry.client import Registry, registry
from ignite_kafka.registry.schema import KnownId, Reference, Registered
from tests.support.fake_time import FakeTime
from tests.support.registry import config, record

URL = "http://127.0.0.1:8081"
DOWN = httpx2.ConnectError("refused")


class Client:
    """Answers each request with the next answer, an id or a schema, or raises it; keeps the requests."""

    def __init__(self, *answers: Any) -> None:
        self._answers, self.requests = list(answers), list[tuple[Any, ...]]()
        self.cleared = 0

    def _next(self, *request: Any) -> Any:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def register_schema(self, subject: str, schema: Schema, normalize: bool) -> Any:
        return self._next("register", subject, schema.schema_str, schema.schema_type, normalize)

    def get_schema(self, id: int) -> Any:
        return self._next("schema", id)

    def lookup_schema(self, subject: str, schema: Schema, normalize: bool) -> Any:
        return SimpleNamespace(schema_id=self._next("lookup", subject, schema.schema_str, normalize))

    def get_latest_version(self, subject: str) -> Any:
        return SimpleNamespace(schema_id=9, schema=self._next("latest", subject))

    def get_latest_with_metadata(self, subject: str, metadata: dict[str, str]) -> Any:
        return SimpleNamespace(schema_id=8, schema=self._next("metadata", subject, metadata))

    def get_version(self, subject: str, version: int) -> Any:
        return SimpleNamespace(schema=self._next("version", subject, version))

    def clear_caches(self) -> None:
        self.cleared += 1


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def make(time: FakeTime) -> Callable[..., tuple[Registry, Client]]:
    def of(*answers: Any, retry_s: float = 300.0, **properties: str) -> tuple[Registry, Client]:
        client = Client(*answers)
        named = {name.replace("_", "."): value for name, value in properties.items()}
        made = Registry(config(URL, named, retry_s=retry_s), lambda _config: client, sleep=time.sleep, clock=time)  # type: ignore[arg-type,return-value]
        return made, client

    return of


def test_a_schema_is_registered_once(make: Any) -> None:
    made, client = make(7)
    schema = record("id")
    assert [made.registered("t-value", schema) for _ in range(3)] == [Registered(7, schema)] * 3
    assert client.requests == [("register", "t-value", schema.text, "AVRO", False)]
    assert made.schema(7) == schema  # the id's schema is known without another request
    assert len(client.requests) == 1
    assert client.cleared == 1  # the client's own caches have no bound


def test_the_same_schema_under_another_subject_is_another_registration(make: Any) -> None:
    made, client = make(7)
    for subject in ("a-value", "b-value"):
        made.registered(subject, record("id"))
    assert [subject for _, subject, *_ in client.requests] == ["a-value", "b-value"]


def test_the_oldest_unused_is_asked_for_again(make: Any) -> None:
    made, client = make(1, 2, 3, 1, max_schemas_per_subject="2")
    first, second, third = (record(name) for name in "abc")
    made.registered("t", first)
    made.registered("t", second)
    made.registered("t", first)
    made.registered("t", third)  # drops the second
    made.registered("t", first)
    assert len(client.requests) == 3
    made.registered("t", second)
    assert len(client.requests) == 4


def test_normalize_is_passed_on(make: Any) -> None:
    made, client = make(7, normalize_schemas="true")
    made.registered("t", record("id"))
    assert client.requests[0][-1] is True


def test_without_registration_the_schema_is_looked_up(make: Any) -> None:
    made, client = make(5, auto_register_schemas="false")
    assert made.registered("t", record("id")) == Registered(5, record("id"))
    assert client.requests == [("lookup", "t", record("id").text, False)]


@pytest.mark.parametrize(
    ("properties", "request_made", "id"),
    [
        ({"use_latest_version": "true"}, ("latest", "t"), 9),
        ({"use_latest_with_metadata": "app=a"}, ("metadata", "t", {"app": "a"}), 8),
        ({"use_schema_id": "4"}, ("schema", 4), 4),
    ],
)
@pytest.mark.parametrize("strict", ["true", "false"])
def test_values_are_written_with_the_schema_that_the_properties_name(
    make: Any, properties: dict[str, str], request_made: tuple[Any, ...], id: int, strict: str
) -> None:
    other = record("id", "more")
    flags = {"latest_compatibility_strict": strict, "id_compatibility_strict": strict}
    made, client = make(Schema(other.text, "AVRO", []), auto_register_schemas="false", **properties, **flags)
    assert made.registered("t", record("id")) == Registered(id, other, strict == "true")
    assert client.requests == [request_made]


def test_registering_wins_over_the_latest_as_in_confluents_serializers(make: Any) -> None:
    made, client = make(7, use_latest_version="true", use_schema_id="4")
    assert made.registered("t", record("id")).id == 7
    assert client.requests[0][0] == "register"


def test_the_latest_is_kept_for_its_time(make: Any, time: FakeTime) -> None:
    properties = {"auto_register_schemas": "false", "use_latest_version": "true", "latest_cache_ttl_sec": "60"}
    made, client = make(Schema(record("id").text, "AVRO", []), **properties)
    made.registered("t", record("id"))
    time.now_s += 59
    made.registered("t", record("id"))
    assert len(client.requests) == 1
    time.now_s += 2
    made.registered("t", record("id"))
    assert len(client.requests) == 2


def test_a_referenced_schema_is_read_by_its_version(make: Any) -> None:
    made, client = make(Schema("{}", "JSON", []))
    assert made.referenced(Reference("a.json", "a", 3)).type == "JSON"
    assert client.requests == [("version", "a", 3)]


@pytest.mark.parametrize(
    "failure",
    [
        DOWN,
        httpx2.ReadTimeout("slow"),
        SchemaRegistryError(500, 50001, "store"),
        SchemaRegistryError(503, -1, "b'away'"),
        SchemaRegistryError(429, -1, "too many"),
    ],
)
def test_a_registry_that_is_away_is_asked_again(make: Any, time: FakeTime, failure: Exception) -> None:
    made, client = make(failure, failure, failure, 7)
    assert made.registered("t", record("id")).id == 7
    assert len(client.requests) == 4
    assert time.slept == [0.2, 0.4, 0.8]


def test_one_that_stays_away_is_an_error_that_a_retry_may_mend(make: Any, time: FakeTime) -> None:
    made, client = make(DOWN, retry_s=10.0)
    with pytest.raises(RegistryUnavailable, match="registering a schema failed: ConnectError: refused") as raised:
        made.registered("t-value", record("id"))
    assert not raised.value.final
    assert raised.value.where == {"subject": "t-value", "registry": URL, "waited": "11 s"}
    assert time.slept == pytest.approx([0.2, 0.4, 0.8, 1.6, 2, 2, 2, 2])
    assert len(client.requests) == 9
    asked = len(client.requests)
    with pytest.raises(RegistryUnavailable):  # nothing wrong was kept
        made.registered("t-value", record("id"))
    assert len(client.requests) > asked


@pytest.mark.parametrize(
    ("status", "code", "message", "remedy"),
    [
        (409, 409, "incompatible", "compatibility of its subject"),
        (422, 42201, "invalid", "Change what the registry refuses"),
        (401, 401, "who", "Check user and password"),
        (403, 403, "no", "Grant the user"),
        (404, 40403, "gone", "that of the registry where it was registered"),
        (302, -1, "elsewhere", "Check that the URL"),
    ],
)
def test_a_refusal_is_final_and_asked_once(make: Any, status: int, code: int, message: str, remedy: str) -> None:
    made, client = make(SchemaRegistryError(status, code, message))
    with pytest.raises(RegistryError, match=message) as raised:
        made.registered("t-value", record("id"))
    assert raised.value.final
    assert remedy in raised.value.remedy
    assert raised.value.where["subject"] == "t-value"
    assert raised.value.where["registry"] == URL
    assert len(client.requests) == 1


@pytest.mark.parametrize("code", [None, -1, 404])
def test_a_404_that_is_not_the_registrys_own_is_waited_for(make: Any, code: Any) -> None:
    """A gateway answers so while the registry restarts: as a refusal it would make every record of an Avro topic a bad one."""
    made, client = make(SchemaRegistryError(404, code, "default backend - 404"))
    with pytest.raises(RegistryUnavailable, match="default backend") as raised:
        made.schema(7)
    assert "with the path of its API" in raised.value.remedy
    assert len(client.requests) > 1


def test_a_schema_that_is_not_registered_has_its_own_remedy(make: Any) -> None:
    made, _client = make(SchemaRegistryError(404, 40403, "Schema not found"), auto_register_schemas="false")
    with pytest.raises(RegistryError, match=r"set auto\.register\.schemas to true"):
        made.registered("t", record("id"))


@pytest.mark.parametrize("answer", [None, "7", True, -1, 1 << 31])
def test_an_answer_without_an_id_is_no_id(make: Any, answer: Any) -> None:
    made, _client = make(answer)
    with pytest.raises(RegistryError, match="has no id"):
        made.registered("t", record("id"))


def test_an_answer_that_is_no_json_names_the_url(make: Any) -> None:
    made, _client = make(ValueError("Expecting value"))
    with pytest.raises(RegistryError, match="not that of a schema registry") as raised:
        made.schema(3)
    assert raised.value.where == {"id": 3, "registry": URL}


@pytest.mark.parametrize(("cause", "kind"), [(DOWN, RegistryUnavailable), (ValueError("invalid_client"), RegistryError)])
def test_an_issuer_that_is_away_is_asked_again_and_one_that_refuses_is_not(
    make: Any, cause: Exception, kind: type[IgniteKafkaError]
) -> None:
    failure = OAuthTokenError("no token")
    failure.__context__ = cause
    made, client = make(failure, retry_s=1.0)
    with pytest.raises(kind, match="the OAuth issuer gave no token"):
        made.registered("t", record("id"))
    assert (len(client.requests) > 1) == (kind is RegistryUnavailable)


def test_one_registry_serves_a_process() -> None:
    assert registry(config(URL)) is registry(config(URL))
    assert registry(config(URL)) is not registry(config(URL, {"use.latest.version": "true"}))
    assert registry(config(URL)) is not registry(config(URL, secrets={"basic.auth.user.info": "u:p"}))


def test_missing_packages_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka.schema_registry", None)
    with pytest.raises(SettingsError, match=r"Install the extra registry"):
        Registry(config(URL)).registered("t", record("id"))


def test_a_file_of_tls_that_is_missing_is_an_error_of_settings() -> None:
    made = Registry(config("https://127.0.0.1:1", {"schema.registry.ssl.truststore.location": "/none.pem"}))
    with pytest.raises(SettingsError, match=r"ssl.ca.location /none.pem"):
        made.schema(1)


def test_only_what_is_kept_for_ever_is_handed_over() -> None:
    """The latest schema of a subject may change."""
    newest = {"auto.register.schemas": "false", "use.latest.version": "true", "latest.cache.ttl.sec": "60"}
    latest = Registry(config(URL, newest), lambda _: Client(Schema(record("id").text, "AVRO")))  # type: ignore[arg-type,return-value]
    assert latest.registered("t-value", record("id")).id == 9
    assert latest.known() == ()
    asked = Client(7)
    first = Registry(config(URL), lambda _: asked)  # type: ignore[arg-type,return-value]
    first.registered("t-value", record("id"))
    (known,) = first.known()
    assert known == KnownId("t-value", record("id"), Registered(7, record("id")))
    second = Registry(config(URL), lambda _: pytest.fail("asked"))
    second.learn([known])
    assert second.registered("t-value", record("id")) == known.registered
    assert second.schema(7) == record("id")
