"""Client of a schema registry, with cached replies and retries while the registry is unavailable."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..common.deadline import Clock
from ..common.private_files import private_file
from ..common.retry import GROWING, retry
from ..errors import RegistryError, SettingsError
from .config import CA_TEXT, CERTIFICATE_TEXT, RegistryConfig
from .errors import translated
from .schema import AVRO, KnownId, Reference, Registered, RegistrySchema, with_dialect

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import RegisteredSchema, Schema, SchemaRegistryClient

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
_FOR_EVER = float("inf")
_NOT_SO = (42201, 422, 40403)  # no valid schema, or not one of the subject: another form may be


class Registry:
    """Cached access to a schema registry for the keys or values of a connector. Threads may share it.

    :param make_client: makes the client; tests pass their own.
    """

    def __init__(
        self,
        config: RegistryConfig,
        make_client: Callable[[RegistryConfig], SchemaRegistryClient] | None = None,
        *,
        sleep: Callable[[float], object] = time.sleep,
        clock: Clock = time.monotonic,
    ) -> None:
        self.config = config
        self._sleep = sleep
        self._clock = clock
        self._make_client = make_client or _make_client
        kept = config.properties["max.schemas.per.subject"]
        self._ids: _Kept[tuple[str, RegistrySchema], tuple[Registered, float]] = _Kept(kept)
        self._schemas: _Kept[int, RegistrySchema] = _Kept(kept)

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        client = self.__dict__.pop("_client", None)
        if client is not None:
            client.close()

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def subject(self, topic: str, record_name: str | None) -> str:
        """Return the subject that a schema is registered under, see :meth:`.SubjectNames.subject`."""
        return self.config.subjects.subject(topic, record_name)

    def registered(self, subject: str, schema: RegistrySchema) -> Registered:
        """Register a schema or look it up, as the settings say; return its id and the schema to write with.

        With ``auto.register.schemas`` the schema is registered, unless it is already. Without, it must be registered,
        or the properties name another one. The result is cached for the life of the process, but the latest schema of
        a subject only for ``latest.cache.ttl.sec``.

        :raises RegistryError: the registry refuses the schema or the credentials, or does not have the schema.
        :raises RegistryUnavailable: it did not answer for ``retry_timeout_ms``.
        """
        kept = self._ids.get((subject, schema))
        if kept is not None and self._clock() < kept[1]:
            return kept[0]
        registered, lives_s = self._find(subject, schema)
        self._keep(subject, schema, registered, self._clock() + lives_s)
        return registered

    def check(self) -> None:
        """Check that the registry answers and accepts the login.

        :raises RegistryError: the registry refuses the login, or the URL is not that of a registry.
        :raises RegistryUnavailable: the registry did not answer.
        """
        self._call("reading the registry's configuration", lambda client: client.get_compatibility())

    def permanent_ids(self) -> tuple[KnownId, ...]:
        """Return the schema ids cached for ever, to spare other processes the requests."""
        return tuple(KnownId(*key, registered) for key, (registered, until) in self._ids.items() if until == _FOR_EVER)

    def learn(self, ids: Iterable[KnownId]) -> None:
        """Cache schema ids that another process received from the same registry, to save requests."""
        for known_id in ids:
            self._keep(known_id.subject, known_id.schema, known_id.registered, _FOR_EVER)

    def _keep(self, subject: str, schema: RegistrySchema, registered: Registered, until: float) -> None:
        self._ids.put((subject, schema), (registered, until))
        self._schemas.put(registered.id, registered.schema)

    def schema(self, id: int, subject: str | None = None) -> RegistrySchema:
        """Return the schema with an id; it is requested once per process.

        :param subject: for the message.
        :raises RegistryError: the registry has no such id, or refuses the credentials.
        :raises RegistryUnavailable: it did not answer for ``retry_timeout_ms``.
        """
        kept = self._schemas.get(id)
        if kept is None:
            kept = self._call(
                "reading a schema", lambda client: _from_client_schema(client.get_schema(id)), id=id, subject=subject
            )
            self._schemas.put(id, kept)
        return kept

    def latest(self, subject: str) -> RegistrySchema:
        """Request the latest schema of a subject; raise the errors of :meth:`schema`."""
        return self._latest(
            "reading the latest schema", subject, lambda client: client.get_latest_version(subject), False
        ).schema

    def referenced(self, reference: Reference) -> RegistrySchema:
        """Request a schema that another schema refers to; raise the errors of :meth:`schema`."""
        subject = reference.subject
        version = reference.version
        doing = "reading a referenced schema"
        referenced: RegistrySchema = self._call(
            doing, lambda client: _from_client_schema(client.get_version(subject, version).schema), subject=subject
        )
        return referenced

    def _find(self, subject: str, schema: RegistrySchema) -> tuple[Registered, float]:
        """Register a schema or look it up; return it with the seconds for which it may be cached."""
        properties = self.config.properties
        normalize = properties["normalize.schemas"]
        if properties["auto.register.schemas"]:
            doing = "registering a schema"
            id = self._call(
                doing,
                _in_either_form(lambda client, form: client.register_schema(subject, form, normalize), schema),
                subject=subject,
            )
            return Registered(self._check_id(id, subject), schema), _FOR_EVER
        ttl = properties["latest.cache.ttl.sec"]
        lives_s = _FOR_EVER if ttl < 0 else float(ttl)
        if (schema_id := properties["use.schema.id"]) >= 0:
            return Registered(
                schema_id, self.schema(schema_id, subject), properties["id.compatibility.strict"]
            ), _FOR_EVER
        strict = properties["latest.compatibility.strict"]
        if metadata := dict(properties["use.latest.with.metadata"]):
            doing = "reading the latest schema with the metadata"
            return self._latest(
                doing, subject, lambda client: client.get_latest_with_metadata(subject, metadata), strict
            ), lives_s
        if properties["use.latest.version"]:
            return self._latest(
                "reading the latest schema", subject, lambda client: client.get_latest_version(subject), strict
            ), lives_s
        doing = "looking a schema up"
        id = self._call(
            doing,
            _in_either_form(lambda client, form: client.lookup_schema(subject, form, normalize).schema_id, schema),
            subject=subject,
        )
        return Registered(self._check_id(id, subject), schema), _FOR_EVER

    def _latest(
        self, doing: str, subject: str, ask: Callable[[SchemaRegistryClient], RegisteredSchema], strict: bool
    ) -> Registered:
        def read(client: SchemaRegistryClient) -> tuple[Any, RegistrySchema]:
            latest = ask(client)
            return latest.schema_id, _from_client_schema(latest.schema)

        id, schema = self._call(doing, read, subject=subject)
        return Registered(self._check_id(id, subject), schema, strict)

    def _check_id(self, id: Any, subject: str) -> int:
        """Return the schema id in a reply; raise RegistryError for an invalid one."""
        if isinstance(id, int) and not isinstance(id, bool) and 0 <= id < 1 << 31:
            return id
        raise RegistryError(
            "the registry's answer has no id",
            "Check that the URL is that of a schema registry",
            **self._where(subject=subject),
        )

    def _call(self, doing: str, request: Callable[[SchemaRegistryClient], Any], **where: Any) -> Any:
        def once() -> Any:
            client = self._client
            with translated(doing, self._where(**where)):
                try:
                    return request(client)
                finally:
                    client.clear_caches()  # this class keeps what it learnt, within bounds

        return retry(
            once,
            self.config.retry_s,
            lambda error: not error.final,
            backoff=GROWING,
            sleep=self._sleep,
            clock=self._clock,
        )

    def _where(self, **where: Any) -> dict[str, Any]:
        return {**where, "registry": ",".join(self.config.urls)}

    @functools.cached_property
    def _client(self) -> SchemaRegistryClient:
        return self._make_client(self.config)


def registry(config: RegistryConfig) -> Registry:
    """Return the client for a registry configuration, one per process."""
    return _shared_registry(config, os.getpid())


@functools.lru_cache(maxsize=16)
def _shared_registry(config: RegistryConfig, _process: int) -> Registry:
    return Registry(config)


def _make_client(config: RegistryConfig) -> SchemaRegistryClient:
    try:
        from confluent_kafka.schema_registry import SchemaRegistryClient
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"the packages of a schema registry's client are not installed: {error.name} is missing",
            "Install the extra registry here and where the tasks run: pip install "
            "'airflow-provider-ignite-kafka[registry]'",
        ) from error
    client = dict(config.client)
    try:
        with ExitStack() as stack:
            for text, location in ((CA_TEXT, "ssl.ca.location"), (CERTIFICATE_TEXT, "ssl.certificate.location")):
                if text in client:
                    client[location] = stack.enter_context(private_file(client.pop(text)))
            return SchemaRegistryClient(client)  # reads the files at once
    except (OSError, ValueError) as error:  # of TLS files: missing, no PEM, wrong password
        text = f"the client of the schema registry cannot be made: {error}"
        files = {name: config.client.get(name) for name in ("ssl.ca.location", "ssl.certificate.location")}
        raise SettingsError(
            text, "Check schema.registry.ssl.truststore.location and keystore.location", **files
        ) from error


def _in_either_form(
    request: Callable[[SchemaRegistryClient, Schema], T], schema: RegistrySchema
) -> Callable[[SchemaRegistryClient], T]:
    """Return a request that is repeated with ``$schema`` in the schema if the registry refuses it without.

    Apicurio Registry does not recognise the JSON Schema of a single value or an array unless it has ``$schema``.
    Confluent's registry does, and there one with ``$schema`` has another id than that which Confluent's converter
    writes. So that form is the second.
    """

    def ask(client: SchemaRegistryClient) -> T:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return request(client, _to_client_schema(schema))
        except SchemaRegistryError as refused:
            other = with_dialect(schema) if refused.error_code in _NOT_SO else None
            if other is None:
                raise
            try:
                return request(client, _to_client_schema(other))
            except SchemaRegistryError as again:
                raise (refused if again.error_code in _NOT_SO else again) from again

    return ask


def _to_client_schema(schema: RegistrySchema) -> Schema:
    from confluent_kafka.schema_registry import Schema, SchemaReference

    references = [
        SchemaReference(reference.name, reference.subject, reference.version) for reference in schema.references
    ]
    return Schema(schema.text, schema.type, references)


def _from_client_schema(schema: Schema | None) -> RegistrySchema:
    """Convert a schema of Confluent's client to ours; raise ValueError if the reply has none."""
    if schema is None or schema.schema_str is None:
        raise ValueError("no schema")
    references = []
    for reference in schema.references or ():
        if reference.name is None or reference.subject is None or reference.version is None:
            raise ValueError("a reference without name, subject or version")
        references.append(Reference(reference.name, reference.subject, reference.version))
    return RegistrySchema(schema.schema_str, schema.schema_type or AVRO, tuple(references))


class _Kept(Generic[K, V]):
    """Cache with a maximum size for several threads; it drops the least recently used entry."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)

    def items(self) -> list[tuple[K, V]]:
        """Return all cached entries."""
        with self._lock:
            return list(self._values.items())
